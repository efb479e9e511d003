package io.github.reactorratelimit;

import io.github.reactorratelimit.RateLimiterSnapshot.ScopeState;
import java.time.Duration;
import java.util.function.UnaryOperator;
import org.reactivestreams.Publisher;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;

/**
 * Keeps callers under the limits of somebody else's API: a source of permits with a tree of scopes, that hears what
 * responses say. Thread-safe; nothing ever blocks. Waiting calls stand in line per key, first come first served, and keys
 * take turns. Timers run on the limiter's scheduler, {@code Schedulers.parallel()} unless said, looked up at every use, so
 * that virtual time works whenever it begins.
 */
public interface RateLimiter extends PermitSource, Disposable {

    /**
     * A limiter with these limits and no scopes.
     *
     * @param limits all of them together decide
     * @return the limiter
     */
    static RateLimiter of(Limit... limits) {
        return named("limiter").limit(limits).build();
    }

    /**
     * Starts a limiter.
     *
     * @param name its name in messages and metrics
     * @return what it is built from
     */
    static RateLimiterSpec named(String name) {
        return RateLimiterSpec.named(name);
    }

    /**
     * Answers at once, without waiting and without overtaking those who wait. A limiter that shares its limits with other
     * processes can't know at once that a demand is allowed: it answers what it knows to be refused, with the time, and
     * refuses everything else for an unknown time. Use {@link #ask} there.
     *
     * @param demand what is asked for
     * @return the decision; an allowed one has taken its permit
     * @throws IllegalArgumentException if the demand lacks an attribute or names an unknown lane
     */
    Decision tryAcquire(Demand demand);

    /**
     * Answers at once for {@link Demand#one()}.
     *
     * @return the decision; an allowed one has taken its permit
     */
    default Decision tryAcquire() {
        return tryAcquire(Demand.one());
    }

    /**
     * As {@link #tryAcquire(Demand)}, as soon as the answer is known: in memory at once, and where limits are shared after
     * one call. Lazy: one subscription, one question. A refusal is an answer, not an error; a permit that comes after a
     * cancel is given back. Where the store is out of order and the limiter was told to fail then, the error is a
     * {@link LimiterUnavailableException}.
     *
     * @param demand what is asked for; its longest wait doesn't matter
     * @return the decision; an allowed one has taken its permit
     */
    Mono<Decision> ask(Demand demand);

    /**
     * Answers what {@link #tryAcquire(Demand)} would in memory, and takes nothing. Where limits are shared, it goes by what
     * this process knows, and may say that a demand is allowed which the store refuses.
     *
     * @param demand what would be asked for
     * @return the decision, without a permit
     * @throws IllegalArgumentException if the demand lacks an attribute or names an unknown lane
     */
    Decision estimate(Demand demand);

    /**
     * The operator in full, to be configured: retries, readers, idempotency.
     *
     * @return the operator with its defaults
     */
    RateLimitOperator calls();

    /**
     * Limits a Mono or Flux for {@link Demand#one()}: {@code call.transform(limiter.limit())}.
     *
     * @param <T> the type of its elements
     * @return a function for {@code transform}
     */
    default <T> UnaryOperator<Publisher<T>> limit() {
        return calls().limit();
    }

    /**
     * Limits a Mono or Flux.
     *
     * @param demand what each attempt asks for
     * @param <T> the type of its elements
     * @return a function for {@code transform}
     */
    default <T> UnaryOperator<Publisher<T>> limit(Demand demand) {
        return calls().limit(demand);
    }

    /**
     * Paces a Flux with one permit per element.
     *
     * @param <T> the type of its elements
     * @return a function for {@code transform}
     */
    default <T> UnaryOperator<Publisher<T>> limitEach() {
        return calls().limitEach(Demand.one());
    }

    /**
     * Paces a Flux with one permit per element.
     *
     * @param demand what each element asks for
     * @param <T> the type of its elements
     * @return a function for {@code transform}
     */
    default <T> UnaryOperator<Publisher<T>> limitEach(Demand demand) {
        return calls().limitEach(demand);
    }

    /**
     * What the limiter is built from, with its current limits.
     *
     * @return the spec
     */
    RateLimiterSpec spec();

    /**
     * Changes limits while calls wait: every wait is reckoned anew, what was taken stays taken, and demands that can never
     * pass any more fail.
     *
     * @param changed this limiter's {@link #spec()} with other limits; scopes, their attributes and patterns must stay
     * @throws IllegalArgumentException if something else than limits was changed; then nothing happened
     */
    void change(RateLimiterSpec changed);

    /**
     * Closes a scope key by hand; the longest of several closings wins. No credit accrues meanwhile.
     *
     * @param whom attributes; the narrowest scope that they name is closed, the root for {@link Demand#one()}
     * @param duration how long, not negative
     * @throws IllegalArgumentException if the duration is negative
     */
    void pause(Demand whom, Duration duration);

    /**
     * Opens a scope key again, whoever closed it.
     *
     * @param whom attributes; the narrowest scope that they name is opened, the root for {@link Demand#one()}
     */
    void resume(Demand whom);

    /**
     * Limiter time, in which waits and windows are reckoned and listeners are told durations: it follows the scheduler in
     * force, real or virtual, and never runs backwards.
     *
     * @return how long since the limiter began to count
     */
    Duration time();

    /**
     * How one scope key stands, for operators: where limits are shared, for all processes together, with the lines of this
     * one.
     *
     * @param whom attributes; the narrowest scope that they name is meant, the root for {@link Demand#one()}
     * @return its state, one per subscription; {@link LimiterUnavailableException} if a store does not answer
     */
    Mono<ScopeState> status(Demand whom);

    /**
     * Forgets all that is known of one scope key, for operators: its limits are full, it is open, and permits that are out
     * count no more. Where limits are shared it is forgotten for all processes; one that spent a limit by itself goes on by
     * its own books until that is over, and asks then.
     *
     * @param whom attributes; the narrowest scope that they name is meant, the root for {@link Demand#one()}
     * @return done; {@link LimiterUnavailableException} if a store does not answer, and then nothing has changed here
     */
    Mono<Void> reset(Demand whom);

    /**
     * How the limiter stands.
     *
     * @return keys, limits, cooldowns and lines
     */
    RateLimiterSnapshot snapshot();

    /** Fails all who wait with {@link LimiterDisposedException}, and whoever comes later. Permits can still be released. */
    @Override
    void dispose();
}
