package io.github.reactorratelimit;

import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.CoreSubscriber;
import reactor.core.Exceptions;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Hooks;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
import reactor.util.context.ContextView;

/** A limited publisher as it was assembled: what every subscription and every attempt has in common. */
interface Limited<T> {

    /** How it is limited and tried again. */
    RateLimitOperator operator();

    /** What a subscription asks for. */
    Demand demand(ContextView context);

    /** What an attempt subscribes. */
    Publisher<? extends T> open(Exchange exchange);

    /** As {@link #open}. The thread that grants may carry the thread-locals of whoever set the timer: not its caller's. */
    default Publisher<? extends T> opened(Exchange exchange) {
        if (!Hooks.isAutomaticContextPropagationEnabled()) {
            return open(exchange);
        }
        // Writing to the Context restores them, for all that happens in the subscription.
        return isSingle()
                ? Mono.defer(() -> Mono.<T>from(open(exchange))).contextWrite(Function.identity())
                : Flux.defer(() -> Flux.<T>from(open(exchange))).contextWrite(Function.identity());
    }

    /** What is told about an attempt. */
    Ticket.Tells tells();

    /** Whether there is at most one element. */
    boolean isSingle();

    /** One subscription: one call, which is one attempt or more. */
    static <T> void subscribe(Limited<T> limited, CoreSubscriber<? super T> actual) {
        ContextView context = actual.currentContext();
        Demand asked;
        try {
            asked = limited.demand(context);
        } catch (Throwable e) {
            Exceptions.throwIfFatal(e);
            Operators.error(actual, e);
            return;
        }
        Layers.claim(context, !limited.operator().policy().isNone());
        actual.onSubscribe(attempt(limited, asked, actual, null));
    }

    /** The next attempt of a call that has failed before. */
    static <T> void subscribeAgain(Limited<T> limited, CoreSubscriber<? super T> actual, Retries retries) {
        Attempt<T> attempt = attempt(limited, retries.demand(), actual, retries);
        retries.begins(attempt);
        actual.onSubscribe(attempt);
    }

    private static <T> Attempt<T> attempt(
            Limited<T> limited, Demand demand, CoreSubscriber<? super T> actual, @Nullable Retries retries) {
        if (limited.operator().admission().herald() != null) {
            return new WatchedAttempt<>(limited, demand, actual, retries);
        }
        return limited.isSingle()
                ? new Attempt<>(limited, demand, actual, retries)
                : new FluxAttempt<>(limited, demand, actual, retries);
    }
}
