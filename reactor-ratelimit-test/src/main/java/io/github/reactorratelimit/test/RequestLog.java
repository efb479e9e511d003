package io.github.reactorratelimit.test;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Every request that a service has seen, in the order in which it decided them. Safe for use from any thread; what it
 * returns are copies.
 */
public final class RequestLog {

    /**
     * One request and what was decided.
     *
     * @param at when it reached the service, on the service's clock, in whole milliseconds
     * @param endpoint the path of the rule that applied, or the request's own path if there is none
     * @param token whose request it was
     * @param status the status of the answer, or 0 if none was given (reset, closed or hanging)
     * @param request the request itself
     * @param reply what was answered
     */
    public record Entry(Instant at, String endpoint, String token, int status, SimulatedRequest request, Reply reply) {

        /**
         * The size of the request's body.
         *
         * @return the size in bytes
         */
        public int bodySize() {
            return request.bytes().length;
        }

        /**
         * A header of the request.
         *
         * @param name the name in any case
         * @return its first value, or null if there is none
         */
        public @Nullable String header(String name) {
            return request.header(name);
        }
    }

    private final List<Entry> entries = new ArrayList<>();

    RequestLog() {}

    synchronized void add(long atMillis, String endpoint, SimulatedRequest request, Reply reply) {
        entries.add(
                new Entry(Instant.ofEpochMilli(atMillis), endpoint, request.token(), reply.status(), request, reply));
    }

    /**
     * Everything so far.
     *
     * @return the entries, oldest first
     */
    public synchronized List<Entry> entries() {
        return List.copyOf(entries);
    }

    /**
     * Everything so far about one endpoint.
     *
     * @param endpoint the path of its rule
     * @return its entries, oldest first
     */
    public List<Entry> entries(String endpoint) {
        return entries().stream()
                .filter(entry -> entry.endpoint().equals(endpoint))
                .toList();
    }

    /**
     * How many requests came.
     *
     * @return the number of entries
     */
    public synchronized int count() {
        return entries.size();
    }

    /**
     * How many requests were answered with this status.
     *
     * @param status the status, or 0 for those that got no answer
     * @return the number of entries
     */
    public int count(int status) {
        return countsByStatus().getOrDefault(status, 0);
    }

    /**
     * How many requests came to an endpoint.
     *
     * @param endpoint the path of its rule
     * @return the number of entries
     */
    public int count(String endpoint) {
        return entries(endpoint).size();
    }

    /**
     * How many requests came to an endpoint with a token.
     *
     * @param endpoint the path of its rule
     * @param token the token
     * @return the number of entries
     */
    public int count(String endpoint, String token) {
        return (int) entries(endpoint).stream()
                .filter(entry -> entry.token().equals(token))
                .count();
    }

    /**
     * How often each status was answered.
     *
     * @return the counts by status; 0 stands for no answer
     */
    public SortedMap<Integer, Integer> countsByStatus() {
        SortedMap<Integer, Integer> counts = new TreeMap<>();
        entries().forEach(entry -> counts.merge(entry.status(), 1, Integer::sum));
        return counts;
    }

    /**
     * The most requests to one endpoint with one token that fell into any span of this length, half open: two requests
     * exactly one period apart don't share a span.
     *
     * @param endpoint the path of its rule
     * @param token the token
     * @param period the length of the span
     * @return the count of the busiest span
     */
    public int busiest(String endpoint, String token, Duration period) {
        List<Instant> times = entries(endpoint).stream()
                .filter(entry -> entry.token().equals(token))
                .map(Entry::at)
                .sorted()
                .toList();
        int most = 0;
        int from = 0;
        for (int to = 0; to < times.size(); to++) {
            while (!times.get(from).plus(period).isAfter(times.get(to))) {
                from++;
            }
            most = Math.max(most, to - from + 1);
        }
        return most;
    }

    /** Forgets everything so far; the service's counts stay. */
    public synchronized void clear() {
        entries.clear();
    }

    @Override
    public String toString() {
        return "RequestLog" + countsByStatus();
    }
}
