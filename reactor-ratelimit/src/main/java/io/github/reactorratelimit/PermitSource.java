package io.github.reactorratelimit;

import java.time.Duration;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * Where permits come from: the one abstraction that everything composes.
 */
@FunctionalInterface
public interface PermitSource {

    /**
     * A permit, as soon as there is one. Lazy: nothing happens until it is subscribed and requested, and each subscription
     * is one act. {@code onSubscribe} comes at once. Cancelling while it waits leaves no trace: the permit goes to the next
     * in line.
     *
     * <p>The permit arrives on the thread that asked, that made room, or on the limiter's scheduler. What drops a value
     * after it was emitted loses the permit: an operator such as {@code timeout}, or a subscriber that is disposed while it
     * is on its way. Bound the wait with {@link Demand#maxWait}, or use the limiter's {@code limit()} operator instead.
     *
     * @param demand what is asked for
     * @return the permit; or {@link RateLimitedException} if the wait would be too long or the demand can never pass,
     *     {@link QueueFullException}, {@link LimiterDisposedException}, or {@link IllegalArgumentException} for a demand
     *     that lacks an attribute or names an unknown lane
     */
    Mono<Permit> acquire(Demand demand);

    /**
     * A call under a permit of this source: the permit is taken before the call is subscribed and held until it ends. Of a
     * limiter, or of an operator of it, everything that the operator says of retries, readers and timeouts holds; any other
     * source gives one permit for one attempt.
     *
     * <p>The call sees the source in {@link Exchange#source}, corrects costs by {@link Exchange#settle}, and may hand the
     * exchange to an adapter, which then takes no permit of its own. An inner operator of this library around the call would
     * take a second permit.
     *
     * @param demand what is asked of a source; called each time that one is asked, with the source as it was handed over; must
     *     not block
     * @param call subscribed once per attempt
     * @param <T> what the call gives
     * @return the call; each subscription is one
     */
    default <T> Mono<T> use(
            Function<? super PermitSource, Demand> demand,
            Function<? super Exchange, ? extends Mono<? extends T>> call) {
        Objects.requireNonNull(demand, "demand");
        Objects.requireNonNull(call, "call");
        return Mono.from(Sources.use(this, this, new Sources.Use<T>(demand, call, true), null));
    }

    /**
     * As {@link #use}, for calls that give any number of elements. Once there was an element nothing is tried again.
     *
     * @param demand what is asked of a source; must not block
     * @param call subscribed once per attempt; the permit is held to its end
     * @param <T> what the call gives
     * @return the call; each subscription is one
     */
    default <T> Flux<T> useMany(
            Function<? super PermitSource, Demand> demand,
            Function<? super Exchange, ? extends Publisher<? extends T>> call) {
        Objects.requireNonNull(demand, "demand");
        Objects.requireNonNull(call, "call");
        return Flux.from(Sources.use(this, this, new Sources.Use<T>(demand, call, false), null));
    }

    /**
     * This source for whoever asks for something else of it than is said in the call: one of several API keys of a limiter,
     * or another price.
     *
     * <pre>{@code
     * PermitSource first = api.asking(demand -> demand.and("token", firstKey));
     * }</pre>
     *
     * @param change from the demand to what is asked of this source; must not block
     * @return a source of its own
     */
    default PermitSource asking(UnaryOperator<Demand> change) {
        return new AskingSource(this, Objects.requireNonNull(change, "change"));
    }

    /**
     * Several sources in the order they are preferred: the first whose permit comes soon enough, else the one with the
     * shortest wait, known ones before those that depend on calls in flight. {@link Duration#ZERO} takes the first that has
     * room.
     *
     * @param maxWait how long a call waits in all before the source with the shortest wait is the last resort, not negative
     * @param preferred asked first
     * @param fallbacks asked in turn
     * @return the sources as one
     * @throws IllegalArgumentException if the wait is negative or a source is named twice
     */
    static Fallback firstWithin(Duration maxWait, PermitSource preferred, PermitSource... fallbacks) {
        return Fallback.of(maxWait, preferred, fallbacks);
    }
}
