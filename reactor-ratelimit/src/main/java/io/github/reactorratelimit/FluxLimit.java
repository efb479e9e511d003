package io.github.reactorratelimit;

import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;

/** A Flux each of whose subscriptions takes a permit first and holds it to the end. */
final class FluxLimit<T> extends Flux<T> {

    private final Limited<T> limited;

    FluxLimit(Limited<T> limited) {
        this.limited = limited;
    }

    static <T> Flux<T> assemble(Limited<T> limited) {
        return onAssembly(new FluxLimit<>(limited));
    }

    @Override
    public void subscribe(CoreSubscriber<? super T> actual) {
        limited.subscribe(actual);
    }
}
