package io.github.reactorratelimit;

import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.util.context.Context;
import reactor.util.context.ContextView;

/** An attempt that listeners are told of, for one element or many. */
final class WatchedAttempt<T> extends FluxAttempt<T> {

    private @Nullable Watch watch;

    WatchedAttempt(Limited<T> limited, Demand demand, CoreSubscriber<? super T> actual, @Nullable Retries retries) {
        super(limited, demand, actual, retries);
    }

    @Override
    ContextView caller() {
        return callersContext();
    }

    @Override
    void watchedBy(Watch watching) {
        watch = watching;
    }

    @Override
    @Nullable
    Watch watched() {
        return watch;
    }

    @Override
    Context seen(Context marked) {
        Herald herald = admission().herald();
        return herald == null || watch == null ? marked : herald.context(watch, marked);
    }
}
