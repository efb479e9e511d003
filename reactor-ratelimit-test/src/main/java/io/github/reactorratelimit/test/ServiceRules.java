package io.github.reactorratelimit.test;

import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * What a service does: which endpoints it has, how they are limited, and what goes wrong. Immutable; every method that
 * adds a rule returns a copy, so one set of rules can be started or simulated many times, each with counts of its own.
 *
 * <p>A path is matched without its query; a segment in braces matches any one segment ({@code /users/{id}}), and all
 * that match one rule count together. The first rule that matches applies. A path that no rule knows is answered with
 * 404.
 */
public final class ServiceRules {

    private static final ServiceRules NONE = new ServiceRules(List.of(), null, true, Duration.ZERO);

    private final List<EndpointRules> endpoints;
    private final @Nullable ServerLimit otherwise;
    private final boolean hints;
    private final Duration ahead;

    private ServiceRules(
            List<EndpointRules> endpoints, @Nullable ServerLimit otherwise, boolean hints, Duration ahead) {
        this.endpoints = endpoints;
        this.otherwise = otherwise;
        this.hints = hints;
        this.ahead = ahead;
    }

    /**
     * A service that knows no path yet.
     *
     * @return the empty rules
     */
    public static ServiceRules create() {
        return NONE;
    }

    /**
     * Limits an endpoint per token in {@linkplain ServerLimit#fixedWindow(int, Duration) fixed windows}.
     *
     * @param path the endpoint's path
     * @param permits how many requests pass per window, at least 1
     * @param period the length of the window, at least 1 ms
     * @return a copy with that limit
     */
    public ServiceRules limit(String path, int permits, Duration period) {
        return limit(path, ServerLimit.fixedWindow(permits, period));
    }

    /**
     * Limits an endpoint per token. An endpoint may have several limits: a request passes when all have room, and then
     * counts in all; the quota fields tell of the one with the least left.
     *
     * @param path the endpoint's path
     * @param limit how it counts
     * @return a copy with that limit
     */
    public ServiceRules limit(String path, ServerLimit limit) {
        return change(path, rules -> rules.limit(limit));
    }

    /**
     * Gives a limit of its own to every path that no rule knows, in place of the 404.
     *
     * @param permits how many requests pass per window, at least 1
     * @param period the length of the window, at least 1 ms
     * @return a copy with that limit
     */
    public ServiceRules otherwise(int permits, Duration period) {
        return otherwise(ServerLimit.fixedWindow(permits, period));
    }

    /**
     * Gives a limit of its own to every path that no rule knows, in place of the 404.
     *
     * @param limit how it counts
     * @return a copy with that limit
     */
    public ServiceRules otherwise(ServerLimit limit) {
        return new ServiceRules(endpoints, limit, hints, ahead);
    }

    /**
     * Keeps what the limits count to itself: no answer has quota fields, and a refusal is a bare 429.
     *
     * @return a copy that tells nothing
     */
    public ServiceRules withoutHints() {
        return new ServiceRules(endpoints, otherwise, false, ahead);
    }

    /**
     * Sets the service's clock wrong. It goes by it, and tells it; its log keeps the right time.
     *
     * @param ahead how far it is ahead of the right time, negative if behind; none by default
     * @return a copy with that clock
     */
    public ServiceRules clockAhead(Duration ahead) {
        return new ServiceRules(endpoints, otherwise, hints, ahead);
    }

    /**
     * Lets something go wrong at an endpoint. Of several faults that strike, the one added first does; those in front
     * of the limits come before those behind.
     *
     * @param path the endpoint's path
     * @param fault what goes wrong and when
     * @return a copy with that fault
     */
    public ServiceRules fault(String path, Fault fault) {
        return change(path, rules -> rules.fault(fault));
    }

    /**
     * Scripts the first answers of an endpoint, whoever asks: one reply per request, in front of limits and faults, at
     * no cost and without quota fields other than its own. When the script is used up, the endpoint does what its other
     * rules say.
     *
     * @param path the endpoint's path
     * @param replies the answers in order; a second script goes on where the first ended
     * @return a copy with that script
     */
    public ServiceRules script(String path, Reply... replies) {
        return change(path, rules -> rules.script(List.of(replies)));
    }

    /**
     * Sets the usual answer of an endpoint; by default it is 200 with a small JSON body that tells how many requests
     * were served.
     *
     * @param path the endpoint's path
     * @param reply the usual answer
     * @return a copy with that answer
     */
    public ServiceRules reply(String path, Reply reply) {
        return change(path, rules -> rules.usual(reply));
    }

    /**
     * The decisions alone, without a clock and without sockets.
     *
     * @return a service with nothing counted
     */
    public RateLimitedService service() {
        return new RateLimitedService(new EndpointDecisions(this));
    }

    /**
     * Runs in the time of the scheduler in force, without sockets.
     *
     * @return a service with nothing counted and no latency
     */
    public SimulatedService simulate() {
        return SimulatedService.of(service());
    }

    /**
     * Starts a real server on a free port of 127.0.0.1 and the system's clock. Blocks until it listens.
     *
     * @return the running server
     */
    public RateLimitedServer start() {
        return start(InstantSource.system());
    }

    /**
     * Starts a real server whose windows and headers follow a clock of the test. Only the counting follows it; delays
     * and pauses of replies are real. Blocks until it listens.
     *
     * @param clock tells the server's time
     * @return the running server
     */
    public RateLimitedServer start(InstantSource clock) {
        return RateLimitedServer.start(service(), clock, false);
    }

    /**
     * As {@link #start()}, with https and {@link RateLimitedServer#certificate() a certificate} that only tests trust.
     *
     * @return the running server
     */
    public RateLimitedServer startTls() {
        return RateLimitedServer.start(service(), InstantSource.system(), true);
    }

    boolean tells() {
        return hints;
    }

    long aheadMillis() {
        return ahead.toMillis();
    }

    @Nullable
    EndpointRules rulesFor(String path) {
        for (EndpointRules rules : endpoints) {
            if (rules.matches(path)) {
                return rules;
            }
        }
        return otherwise == null ? null : EndpointRules.of(path).limit(otherwise);
    }

    private ServiceRules change(String path, UnaryOperator<EndpointRules> change) {
        Checks.path(path);
        List<EndpointRules> changed = new ArrayList<>(endpoints);
        for (int i = 0; i < changed.size(); i++) {
            if (changed.get(i).path().equals(path)) {
                changed.set(i, change.apply(changed.get(i)));
                return new ServiceRules(List.copyOf(changed), otherwise, hints, ahead);
            }
        }
        changed.add(change.apply(EndpointRules.of(path)));
        return new ServiceRules(List.copyOf(changed), otherwise, hints, ahead);
    }
}
