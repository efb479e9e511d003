package io.github.reactorratelimit;

import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.util.context.Context;
import reactor.util.context.ContextView;

/** An attempt that listeners are told of, for one element or many. */
class WatchedAttempt<T> extends FluxAttempt<T> {

    private @Nullable Watch watch;

    WatchedAttempt(Limited<T> limited, Demand demand, CoreSubscriber<? super T> actual, @Nullable Retries retries) {
        super(limited, demand, actual, retries);
    }

    @Override
    final ContextView caller() {
        return callersContext();
    }

    @Override
    final void watchedBy(Watch watching) {
        watch = watching;
    }

    @Override
    @Nullable
    final Watch watched() {
        return watch;
    }

    @Override
    final Context seen(Context marked) {
        Herald herald = admission().herald();
        return herald == null || watch == null ? marked : herald.context(watch, marked);
    }
}
