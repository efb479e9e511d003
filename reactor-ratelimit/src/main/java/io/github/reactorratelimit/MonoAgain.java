package io.github.reactorratelimit;

import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;

/** The attempts of a call after its first; each subscription is the next one. */
final class MonoAgain<T> extends Mono<T> {

    private final Limited<T> limited;
    private final Retries retries;

    MonoAgain(Limited<T> limited, Retries retries) {
        this.limited = limited;
        this.retries = retries;
    }

    @Override
    public void subscribe(CoreSubscriber<? super T> actual) {
        Limited.subscribeAgain(limited, actual, retries);
    }
}
