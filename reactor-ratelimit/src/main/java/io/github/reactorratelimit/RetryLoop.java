package io.github.reactorratelimit;

import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.util.context.Context;

/** Hands the signals of a call's later attempts to its caller, who holds the first for the subscription of them all. */
final class RetryLoop<T> implements CoreSubscriber<T> {

    private final TriedSubscription first;
    private final CoreSubscriber<? super T> actual;

    private RetryLoop(TriedSubscription first, CoreSubscriber<? super T> actual) {
        this.first = first;
        this.actual = actual;
    }

    /** Tries again for as long as there is reason to; from here on the first attempt is no more than the subscription. */
    static <T> void start(
            Limited<T> limited, Retries behind, TriedSubscription first, CoreSubscriber<? super T> actual) {
        RetryLoop<T> loop = new RetryLoop<>(first, actual);
        if (limited.isSingle()) {
            new MonoAgain<>(limited, behind).retryWhen(Resubscribe.INSTANCE).subscribe(loop);
        } else {
            new FluxAgain<>(limited, behind).retryWhen(Resubscribe.INSTANCE).subscribe(loop);
        }
    }

    @Override
    public Context currentContext() {
        return actual.currentContext();
    }

    @Override
    public void onSubscribe(Subscription subscription) {
        first.adopt(subscription, TriedSubscription.HANDED_ON);
    }

    @Override
    public void onNext(T element) {
        actual.onNext(element);
    }

    @Override
    public void onError(Throwable error) {
        actual.onError(error);
    }

    @Override
    public void onComplete() {
        actual.onComplete();
    }
}
