package io.github.reactorratelimit;

import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Operators;
import reactor.util.context.ContextView;

/**
 * A limited publisher as it was assembled: what every subscription and every attempt has in common.
 *
 * @param operator how it is limited and retried
 * @param demand what each subscription asks for
 * @param source what each attempt subscribes
 * @param tells what is told about an attempt
 * @param single at most one element
 */
record Limited<T>(
        RateLimitOperator operator,
        Function<? super ContextView, Demand> demand,
        Function<? super Exchange, ? extends Publisher<? extends T>> source,
        Ticket.Tells tells,
        boolean single) {

    /** One subscription: one call, which is one attempt or more. */
    void subscribe(CoreSubscriber<? super T> actual) {
        Demand asked;
        try {
            asked = demand.apply(actual.currentContext());
        } catch (RuntimeException e) {
            Operators.error(actual, e);
            return;
        }
        Layers.claim(actual.currentContext(), !operator.policy().isNone());
        actual.onSubscribe(new Attempt<>(this, asked, actual, null));
    }

    /** The next attempt of a call that has failed before. */
    void subscribeAgain(CoreSubscriber<? super T> actual, Retries retries) {
        Attempt<T> attempt = new Attempt<>(this, retries.demand(), actual, retries);
        retries.begins(attempt);
        actual.onSubscribe(attempt);
    }

    static Function<ContextView, Demand> always(Demand demand) {
        return context -> demand;
    }

    static <T> Function<Exchange, Publisher<? extends T>> plain(Publisher<? extends T> source) {
        return exchange -> source;
    }

    @Nullable
    String lane(ContextView context) {
        return RateLimitContext.laneOf(context);
    }
}
