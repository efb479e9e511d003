package io.github.reactorratelimit.spring;

import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.publisher.MonoOperator;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/**
 * Tells of each cancel, also of one after the end, and when the source knows of it already: Reactor's own hooks come before
 * that or only until the end.
 */
final class MonoLeft<T> extends MonoOperator<T, T> {

    private final Runnable left;

    MonoLeft(Mono<T> source, Runnable left) {
        super(source);
        this.left = left;
    }

    @Override
    public void subscribe(CoreSubscriber<? super T> actual) {
        source.subscribe(new Watching<>(actual, left));
    }

    private static final class Watching<T> implements CoreSubscriber<T>, Subscription {

        private final CoreSubscriber<? super T> actual;
        private final Runnable left;
        private @Nullable Subscription upstream;

        Watching(CoreSubscriber<? super T> actual, Runnable left) {
            this.actual = actual;
            this.left = left;
        }

        @Override
        public Context currentContext() {
            return actual.currentContext();
        }

        @Override
        public void onSubscribe(Subscription subscription) {
            if (Operators.validate(upstream, subscription)) {
                upstream = subscription;
                actual.onSubscribe(this);
            }
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

        @Override
        public void request(long n) {
            Subscription running = upstream;
            if (running != null) {
                running.request(n);
            }
        }

        @Override
        public void cancel() {
            Subscription running = upstream;
            if (running != null) {
                running.cancel();
            }
            left.run();
        }
    }
}
