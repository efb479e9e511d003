package io.github.reactorratelimit;

import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;

/** The attempts of a call after its first; each subscription is the next one. */
final class FluxAgain<T> extends Flux<T> {

    private final Limited<T> limited;
    private final Retries retries;

    FluxAgain(Limited<T> limited, Retries retries) {
        this.limited = limited;
        this.retries = retries;
    }

    @Override
    public void subscribe(CoreSubscriber<? super T> actual) {
        Limited.subscribeAgain(limited, actual, retries);
    }
}
