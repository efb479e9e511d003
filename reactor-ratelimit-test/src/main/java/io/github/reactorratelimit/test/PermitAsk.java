package io.github.reactorratelimit.test;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Permit;
import io.github.reactorratelimit.RateLimitedException;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.time.Instant;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.publisher.Operators;
import reactor.core.scheduler.Scheduler;

/**
 * One demand that a {@link TestPermitSource} was asked for, and what became of its permit. Safe for use from any thread;
 * what it returns are copies.
 */
public final class PermitAsk {

    /** Where a demand stands. */
    public enum State {
        /** It waits for an answer. */
        WAITING,
        /** It got its permit. */
        GRANTED,
        /** It failed. */
        REFUSED,
        /** Its subscriber went away while it waited. */
        CANCELLED
    }

    private final Demand demand;
    private final CoreSubscriber<? super Permit> actual;
    /** Null until it is requested. */
    private final AtomicReference<@Nullable State> state = new AtomicReference<>();

    private final Disposable.Swap timer = Disposables.swap();
    private final Granted permit = new Granted();

    PermitAsk(Demand demand, CoreSubscriber<? super Permit> actual) {
        this.demand = demand;
        this.actual = actual;
    }

    /** Asks once it is requested, and hands itself over to be answered. */
    void subscribe(Consumer<PermitAsk> asked) {
        actual.onSubscribe(new Subscription() {
            @Override
            public void request(long n) {
                if (Operators.validate(n) && state.compareAndSet(null, State.WAITING)) {
                    asked.accept(PermitAsk.this);
                }
            }

            @Override
            public void cancel() {
                // Before it was requested it never asked, and will not any more.
                if (!state.compareAndSet(null, State.CANCELLED) && end(State.CANCELLED)) {
                    timer.dispose();
                }
            }
        });
    }

    /** Of grant, refusal and cancel the first wins. */
    private boolean end(State last) {
        return state.compareAndSet(State.WAITING, last);
    }

    /**
     * Grants the permit.
     *
     * @return false if it was answered already, or its subscriber went away
     */
    public boolean grant() {
        if (!end(State.GRANTED)) {
            return false;
        }
        timer.dispose();
        actual.onNext(permit);
        actual.onComplete();
        return true;
    }

    void grantAfter(Duration delay, Scheduler scheduler) {
        timer.update(scheduler.schedule(this::grant, delay.toNanos(), TimeUnit.NANOSECONDS));
    }

    /**
     * Refuses the demand.
     *
     * @param error what it fails with
     * @return false if it was answered already, or its subscriber went away
     */
    public boolean refuse(Throwable error) {
        Objects.requireNonNull(error, "error");
        if (!end(State.REFUSED)) {
            return false;
        }
        timer.dispose();
        actual.onError(error);
        return true;
    }

    /**
     * Refuses the demand with the {@link RateLimitedException} of a limiter that is closed.
     *
     * @param retryAfter the time that it tells, positive
     * @return false if it was answered already, or its subscriber went away
     * @throws IllegalArgumentException if the time is not positive
     */
    public boolean refuse(Duration retryAfter) {
        return refuse(closedFor(retryAfter));
    }

    static void requirePositive(Duration retryAfter) {
        if (retryAfter.isNegative() || retryAfter.isZero()) {
            throw new IllegalArgumentException("the time to retry after must be positive, was " + retryAfter);
        }
    }

    /** The exception of a real limiter, since nobody else can make one. */
    private static Throwable closedFor(Duration time) {
        requirePositive(time);
        VirtualTime still = VirtualTime.startingAt(Instant.EPOCH);
        RateLimiter closed = still.limiter(RateLimiter.named("test"));
        closed.pause(Demand.one(), time);
        AtomicReference<@Nullable Throwable> refusal = new AtomicReference<>();
        closed.acquire(Demand.one().maxWait(Duration.ZERO)).subscribe(granted -> {}, refusal::set);
        return Objects.requireNonNull(refusal.get(), "a closed limiter refuses at once");
    }

    /**
     * What was asked for.
     *
     * @return the demand
     */
    public Demand demand() {
        return demand;
    }

    /**
     * Where it stands.
     *
     * @return the state
     */
    public State state() {
        return Objects.requireNonNull(state.get(), "only what was asked is shown");
    }

    /**
     * Whether the caller told that the request was written.
     *
     * @return true after the permit's {@code sent}
     */
    public boolean isSent() {
        return permit.sent;
    }

    /**
     * The costs that were corrected; the first correction of a unit counts.
     *
     * @return the actual costs by unit
     */
    public Map<String, Long> settled() {
        return permit.settled();
    }

    /**
     * What the caller told of its response, by {@code hear} or {@code complete}.
     *
     * @return the signals in order
     */
    public List<RateLimitSignal> heard() {
        return List.copyOf(permit.heard);
    }

    /**
     * Whether the attempt ended with what its response said.
     *
     * @return true if {@code complete} ended it, false if it is open or was merely released
     */
    public boolean isCompleted() {
        return permit.completed;
    }

    /**
     * Whether the attempt ended, either way.
     *
     * @return true after {@code complete} or {@code release}
     */
    public boolean isReleased() {
        return permit.ended.get();
    }

    @Override
    public String toString() {
        return demand + " " + state.get()
                + (permit.sent ? ", sent" : "")
                + (permit.completed ? ", completed" : isReleased() ? ", released" : "");
    }

    /** Notes what the caller does with it; a call that would do nothing is not noted. */
    private static final class Granted implements Permit {

        private final Map<String, Long> settled = new LinkedHashMap<>();
        private final List<RateLimitSignal> heard = new CopyOnWriteArrayList<>();
        private final AtomicBoolean ended = new AtomicBoolean();
        private volatile boolean sent;
        private volatile boolean completed;

        @Override
        public void sent() {
            sent = true;
        }

        @Override
        public void settle(String unit, long actual) {
            Objects.requireNonNull(unit, "unit");
            if (actual < 0) {
                throw new IllegalArgumentException(
                        "an actual cost in " + unit + " must not be negative, was " + actual);
            }
            synchronized (settled) {
                settled.putIfAbsent(unit, actual);
            }
        }

        Map<String, Long> settled() {
            synchronized (settled) {
                return Collections.unmodifiableMap(new LinkedHashMap<>(settled));
            }
        }

        @Override
        public void hear(RateLimitSignal signal) {
            heard.add(signal);
        }

        @Override
        public void complete(RateLimitSignal signal) {
            if (ended.compareAndSet(false, true)) {
                completed = true;
                heard.add(signal);
            }
        }

        @Override
        public void release() {
            ended.set(true);
        }
    }
}
