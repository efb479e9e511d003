package io.github.reactorratelimit;

import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Operators;

/** An attempt at a call that may give many elements: what is requested outlives it, as long as none was given. */
class FluxAttempt<T> extends Attempt<T> {

    private long requested;

    FluxAttempt(Limited<T> limited, Demand demand, CoreSubscriber<? super T> actual, @Nullable Retries retries) {
        super(limited, demand, actual, retries);
    }

    @Override
    final void note(long n) {
        requested = Operators.addCap(requested, n);
    }

    @Override
    final long noted() {
        return requested;
    }
}
