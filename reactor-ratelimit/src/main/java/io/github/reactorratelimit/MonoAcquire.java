package io.github.reactorratelimit;

import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;

/** A bare permit as a Mono. */
final class MonoAcquire extends Mono<Permit> {

    private final Admission admission;
    private final Demand demand;
    private final @Nullable Patience patience;

    MonoAcquire(Admission admission, Demand demand, @Nullable Patience patience) {
        this.admission = admission;
        this.demand = demand;
        this.patience = patience;
    }

    @Override
    public void subscribe(CoreSubscriber<? super Permit> actual) {
        actual.onSubscribe(
                patience == null
                        ? new Acquiring(admission, demand, actual)
                        : new Impatient(admission, demand, actual, patience));
    }

    private static class Acquiring extends Subscribed<Permit> {

        Acquiring(Admission admission, Demand demand, CoreSubscriber<? super Permit> actual) {
            super(admission, demand, actual);
        }

        @Override
        long longestNanos() {
            return demand.maxWaitNanos();
        }

        @Override
        void tellGranted() {
            tell(this);
        }
    }

    /** One that may wait no longer than whoever asks has patience. */
    private static final class Impatient extends Acquiring {

        private final Patience patience;

        Impatient(Admission admission, Demand demand, CoreSubscriber<? super Permit> actual, Patience patience) {
            super(admission, demand, actual);
            this.patience = patience;
        }

        @Override
        boolean leavesBreakers() {
            return patience.leavesBreakers();
        }

        @Override
        long longestNanos() {
            return Math.min(super.longestNanos(), patience.leftNanos());
        }

        @Override
        void tellGranted() {
            patience.spend(sentAt - joinedAt);
            super.tellGranted();
        }

        @Override
        void tellRefused(RateLimitException refused) {
            patience.spend(slot == null ? 0 : admission.now() - joinedAt);
            super.tellRefused(refused);
        }
    }
}
