package io.github.reactorratelimit.benchmarks.races;

import io.github.reactorratelimit.Permit;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;

/** Waits for one permit and keeps it. */
final class Waiter implements CoreSubscriber<Permit> {

    private @Nullable Subscription subscription;
    volatile @Nullable Permit permit;
    volatile @Nullable Throwable error;

    @Override
    public void onSubscribe(Subscription s) {
        subscription = s;
        s.request(1);
    }

    @Override
    public void onNext(Permit granted) {
        permit = granted;
    }

    @Override
    public void onError(Throwable refused) {
        error = refused;
    }

    @Override
    public void onComplete() {}

    void cancel() {
        Subscription s = subscription;
        if (s != null) {
            s.cancel();
        }
    }

    /** How many permits it got: 0 or 1. It gives it back. */
    int giveBack() {
        Permit got = permit;
        if (got == null) {
            return 0;
        }
        got.release();
        return 1;
    }
}
