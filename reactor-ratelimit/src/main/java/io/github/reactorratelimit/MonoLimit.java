package io.github.reactorratelimit;

import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;

/** A Mono each of whose subscriptions takes a permit first. */
final class MonoLimit<T> extends Mono<T> {

    private final Limited<T> limited;

    MonoLimit(Limited<T> limited) {
        this.limited = limited;
    }

    static <T> Mono<T> assemble(Limited<T> limited) {
        return onAssembly(new MonoLimit<>(limited));
    }

    @Override
    public void subscribe(CoreSubscriber<? super T> actual) {
        limited.subscribe(actual);
    }
}
