package io.github.reactorratelimit.test;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Permit;
import io.github.reactorratelimit.PermitSource;
import io.github.reactorratelimit.RateLimitedException;
import io.github.reactorratelimit.test.PermitAsk.State;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.function.Supplier;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;

/**
 * A source of permits in the hand of a test: it grants, refuses or delays as it is told, and records who asked and what
 * became of each permit.
 *
 * <pre>{@code
 * TestPermitSource permits = TestPermitSource.holding();
 * client(permits).fetch().subscribe();            // waits for its permit
 * permits.next().grant();
 * assertThat(permits.asks().get(0).isReleased()).isTrue();
 * }</pre>
 *
 * <p>As with every {@link PermitSource}, each subscription is one act and asks when it is requested. A demand is answered
 * on the thread that asked, that told the source, or on the scheduler of the delay. What is told counts for demands that
 * come later; those that wait already are answered one by one, through their {@link PermitAsk}. It has no clock of its own:
 * how long a demand {@linkplain Demand#maxWait may wait} is recorded, not watched, and a test that is about that refuses
 * it. Safe for use from any thread.
 */
public final class TestPermitSource implements PermitSource {

    private final List<PermitAsk> asks = new CopyOnWriteArrayList<>();
    private volatile Consumer<PermitAsk> answer;

    private TestPermitSource(Consumer<PermitAsk> answer) {
        this.answer = answer;
    }

    /**
     * A source that grants every demand at once.
     *
     * @return the source
     */
    public static TestPermitSource granting() {
        return new TestPermitSource(PermitAsk::grant);
    }

    /**
     * A source that lets every demand wait until the test answers it.
     *
     * @return the source
     */
    public static TestPermitSource holding() {
        return new TestPermitSource(ask -> {});
    }

    /**
     * Grants every later demand at once.
     *
     * @return this source
     */
    public TestPermitSource grant() {
        return answer(PermitAsk::grant);
    }

    /**
     * Grants every later demand after a delay, on a scheduler. The timer of a demand that is cancelled or answered
     * otherwise is disposed.
     *
     * @param delay not negative
     * @param scheduler asked at each demand: {@code time::scheduler} of a {@link VirtualTime}, or {@code
     *     Schedulers::parallel} under {@code StepVerifier.withVirtualTime}
     * @return this source
     * @throws IllegalArgumentException if the delay is negative
     */
    public TestPermitSource grantAfter(Duration delay, Supplier<? extends Scheduler> scheduler) {
        Checks.notNegative("the delay of a grant", delay);
        return answer(ask -> ask.grantAfter(delay, scheduler.get()));
    }

    /**
     * Refuses every later demand at once.
     *
     * @param error asked at each demand, what it fails with
     * @return this source
     */
    public TestPermitSource refuse(Supplier<? extends Throwable> error) {
        Objects.requireNonNull(error, "error");
        return answer(ask -> ask.refuse(error.get()));
    }

    /**
     * Refuses every later demand at once with the {@link RateLimitedException} of a limiter that is closed.
     *
     * @param retryAfter the time that it tells, positive
     * @return this source
     * @throws IllegalArgumentException if the time is not positive
     */
    public TestPermitSource refuse(Duration retryAfter) {
        PermitAsk.requirePositive(
                retryAfter); // Here, where the test is wrong, and not as what its code is refused with.
        return answer(ask -> ask.refuse(retryAfter));
    }

    /**
     * Lets every later demand wait until the test answers it.
     *
     * @return this source
     */
    public TestPermitSource hold() {
        return answer(ask -> {});
    }

    private TestPermitSource answer(Consumer<PermitAsk> later) {
        answer = later;
        return this;
    }

    @Override
    public Mono<Permit> acquire(Demand demand) {
        return new Mono<>() {
            @Override
            public void subscribe(CoreSubscriber<? super Permit> actual) {
                new PermitAsk(demand, actual).subscribe(TestPermitSource.this::asked);
            }
        };
    }

    private void asked(PermitAsk ask) {
        asks.add(ask);
        answer.accept(ask);
    }

    /**
     * Every demand so far.
     *
     * @return the demands, in the order in which they were asked
     */
    public List<PermitAsk> asks() {
        return List.copyOf(asks);
    }

    /**
     * The demands that wait now.
     *
     * @return the demands, in the order in which they were asked
     */
    public List<PermitAsk> waiting() {
        return asks.stream().filter(ask -> ask.state() == State.WAITING).toList();
    }

    /**
     * The permits that were granted and neither released nor completed yet.
     *
     * @return their demands, in the order in which they were asked
     */
    public List<PermitAsk> open() {
        return asks.stream()
                .filter(ask -> ask.state() == State.GRANTED && !ask.isReleased())
                .toList();
    }

    /**
     * The demand that has waited longest.
     *
     * @return the first in line
     * @throws AssertionError if nobody waits
     */
    public PermitAsk next() {
        List<PermitAsk> waiting = waiting();
        if (waiting.isEmpty()) {
            throw new AssertionError("No demand waits for a permit; there were " + asks.size() + ": " + asks);
        }
        return waiting.get(0);
    }

    @Override
    public String toString() {
        return "TestPermitSource" + asks;
    }
}
