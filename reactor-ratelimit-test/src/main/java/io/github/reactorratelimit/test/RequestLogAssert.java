package io.github.reactorratelimit.test;

import io.github.reactorratelimit.test.RequestLog.Entry;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import org.assertj.core.annotation.CheckReturnValue;
import org.assertj.core.api.AbstractAssert;
import org.assertj.core.api.Assertions;
import org.assertj.core.api.ListAssert;

/**
 * Assertions on the requests that a service saw, in the order of their arrival; from {@link
 * RateLimitAssertions#assertThat(RequestLog)}. Failures show the requests that they are about, with tokens only as a short
 * hash.
 *
 * <p>{@code neverMoreThan}, {@code noRefusals} and {@code waitedAtLeast} also fail where there was no request at all, so
 * that a misspelt endpoint doesn't pass.
 */
public final class RequestLogAssert extends AbstractAssert<RequestLogAssert, List<Entry>> {

    /** The statuses that say of themselves that the service did not act because of a limit. */
    private static final Set<Integer> REFUSALS = Set.of(420, 429, 509, 529);

    private final String endpoint;
    private final String token;

    RequestLogAssert(List<Entry> entries) {
        this(entries, "the service", "");
    }

    private RequestLogAssert(List<Entry> entries, String endpoint, String token) {
        super(entries.stream().sorted(Comparator.comparing(Entry::at)).toList(), RequestLogAssert.class);
        this.endpoint = endpoint;
        this.token = token;
    }

    /**
     * Narrows to one endpoint.
     *
     * @param endpoint the path of its rule
     * @return assertions on its requests
     */
    @CheckReturnValue
    public RequestLogAssert forEndpoint(String endpoint) {
        return only(entry -> entry.endpoint().equals(endpoint), endpoint, token);
    }

    /**
     * Narrows to one token.
     *
     * @param token the token
     * @return assertions on its requests
     */
    @CheckReturnValue
    public RequestLogAssert forToken(String token) {
        return only(entry -> entry.token().equals(token), endpoint, " with " + RequestLines.tag(token));
    }

    private RequestLogAssert only(Predicate<Entry> wanted, String at, String with) {
        RequestLogAssert narrowed =
                new RequestLogAssert(actual.stream().filter(wanted).toList(), at, with);
        narrowed.info.description(info.description());
        return narrowed;
    }

    /**
     * Hands the requests to AssertJ, for everything else.
     *
     * @return assertions on the list of them
     */
    @CheckReturnValue
    public ListAssert<Entry> entries() {
        return Assertions.assertThat(actual);
    }

    /**
     * Says how many requests may fall into one span, whose length is said next.
     *
     * @param requests not negative
     * @return what takes the length; without it nothing is asserted
     * @throws IllegalArgumentException if the number is negative
     */
    @CheckReturnValue
    public AtMost neverMoreThan(int requests) {
        if (requests < 0) {
            throw new IllegalArgumentException("the most requests must not be negative, was " + requests);
        }
        return new AtMost(requests);
    }

    /** The first half of {@code neverMoreThan(5).inAny(ofSeconds(10))}. */
    public final class AtMost {

        private final int requests;

        private AtMost(int requests) {
            this.requests = requests;
        }

        /**
         * No span of this length, wherever it starts, has more requests, refused ones included. Spans are half open: two
         * requests exactly one period apart don't share one.
         *
         * @param period the length of the span, positive
         * @return the assertions that this came from
         * @throws AssertionError if one has more; it shows the fullest span with its requests
         * @throws IllegalArgumentException if the period is not positive
         */
        public RequestLogAssert inAny(Duration period) {
            if (period.isZero() || period.isNegative()) {
                throw new IllegalArgumentException("a span must be positive, was " + period);
            }
            seenAny();
            int[] span = fullest(period);
            int found = span[1] - span[0];
            if (found > requests) {
                fail(
                        "Expecting no more than " + requests + " requests to " + whose() + " in any " + period
                                + ", but "
                                + found + " came within " + gap(span[0], span[1] - 1) + ", from "
                                + actual.get(span[0]).at() + " on",
                        span[0],
                        span[1]);
            }
            return RequestLogAssert.this;
        }
    }

    /** From and to of the first of the fullest spans. */
    private int[] fullest(Duration period) {
        int[] fullest = {0, 0};
        int from = 0;
        for (int to = 0; to < actual.size(); to++) {
            Instant end = actual.get(to).at();
            while (Duration.between(actual.get(from).at(), end).compareTo(period) >= 0) {
                from++;
            }
            if (to + 1 - from > fullest[1] - fullest[0]) {
                fullest = new int[] {from, to + 1};
            }
        }
        return fullest;
    }

    /**
     * There were exactly so many requests.
     *
     * @param expected their number, 0 for none
     * @return these assertions
     * @throws AssertionError if there were more or fewer
     */
    public RequestLogAssert requests(int expected) {
        if (actual.size() != expected) {
            fail(
                    "Expecting " + expected + " requests to " + whose() + ", but there were " + actual.size(),
                    0,
                    actual.size());
        }
        return this;
    }

    /**
     * No request was refused for a limit: none was answered with 420, 429, 509 or 529.
     *
     * @return these assertions
     * @throws AssertionError if one was
     */
    public RequestLogAssert noRefusals() {
        seenAny();
        return refusals(0);
    }

    /**
     * Exactly so many requests were refused for a limit, which is answered with 420, 429, 509 or 529.
     *
     * @param expected their number
     * @return these assertions
     * @throws AssertionError if there were more or fewer
     */
    public RequestLogAssert refusals(int expected) {
        List<Integer> refused = new ArrayList<>();
        for (int i = 0; i < actual.size(); i++) {
            if (REFUSALS.contains(actual.get(i).status())) {
                refused.add(i);
            }
        }
        if (refused.size() != expected) {
            fail(
                    "Expecting " + (expected == 0 ? "no" : expected) + " refusals by " + whose() + ", but "
                            + refused.size() + " of " + actual.size() + " requests were refused",
                    refused);
        }
        return this;
    }

    /**
     * Every request but the first came at least so long after the one before it, and there were two or more.
     *
     * @param least the shortest distance that is allowed
     * @return these assertions
     * @throws AssertionError if two were closer; it shows all such pairs. If there was only one, for then nobody waited
     * @throws IllegalArgumentException if the distance is not positive, which would assert nothing
     */
    public RequestLogAssert waitedAtLeast(Duration least) {
        positive(least);
        seenAny();
        if (actual.size() == 1) {
            fail("Expecting at least " + least + " between requests to " + whose() + ", but there was only one", 0, 1);
        }
        List<Integer> close = new ArrayList<>();
        for (int i = 1; i < actual.size(); i++) {
            if (gap(i - 1, i).compareTo(least) < 0) {
                if (close.isEmpty() || close.get(close.size() - 1) != i - 1) {
                    close.add(i - 1);
                }
                close.add(i);
            }
        }
        if (!close.isEmpty()) {
            fail("Expecting at least " + least + " between requests to " + whose() + ", but these came closer", close);
        }
        return this;
    }

    /**
     * One request came at least so long after the one before it.
     *
     * @param least the shortest distance that is allowed
     * @param beforeRequest which one; the first is 1, so the second is the first that can have waited
     * @return these assertions
     * @throws AssertionError if it came sooner, or did not come
     * @throws IllegalArgumentException if the number is less than 2, or the distance not positive
     */
    public RequestLogAssert waitedAtLeast(Duration least, int beforeRequest) {
        positive(least);
        if (beforeRequest < 2) {
            throw new IllegalArgumentException(
                    "a request that waited must be the second at least, was number " + beforeRequest);
        }
        String expected = "Expecting request #" + beforeRequest + " to " + whose() + " at least " + least
                + " after the one before it, but ";
        if (actual.size() < beforeRequest) {
            fail(expected + "there were only " + actual.size(), 0, actual.size());
        }
        Duration gap = gap(beforeRequest - 2, beforeRequest - 1);
        if (gap.compareTo(least) < 0) {
            fail(expected + "it came after " + gap, beforeRequest - 2, beforeRequest);
        }
        return this;
    }

    private static void positive(Duration least) {
        if (least.isZero() || least.isNegative()) {
            throw new IllegalArgumentException("the shortest distance must be positive, was " + least);
        }
    }

    private String whose() {
        return endpoint + token;
    }

    private Duration gap(int from, int to) {
        return Duration.between(actual.get(from).at(), actual.get(to).at());
    }

    private void seenAny() {
        if (actual.isEmpty()) {
            fail("Expecting requests to " + whose() + ", but none came", List.of());
        }
    }

    private void fail(String what, int from, int to) {
        List<Integer> shown = new ArrayList<>();
        for (int i = from; i < to; i++) {
            shown.add(i);
        }
        fail(what, shown);
    }

    private void fail(String what, List<Integer> shown) {
        String lines = RequestLines.of(actual, shown);
        throw failure("%s", lines.isEmpty() ? what + "." : what + ":" + System.lineSeparator() + lines);
    }
}
