package io.github.reactorratelimit;

import io.github.reactorratelimit.LimitStore.Answer;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;

/** Asks a store once, without standing in line, and tells what it answered. */
final class Inquiry extends Subscribed<Decision> {

    /** Under the monitor until it is emitted: what the store said of the limit that decides. */
    private long remaining = Long.MAX_VALUE;

    private long fullNanos;
    private @Nullable Limit limit;

    private Inquiry(Admission admission, Demand demand, CoreSubscriber<? super Decision> actual) {
        super(admission, demand, actual);
    }

    static Mono<Decision> of(Admission admission, Demand demand) {
        return new Mono<>() {
            @Override
            public void subscribe(CoreSubscriber<? super Decision> actual) {
                actual.onSubscribe(new Inquiry(admission, demand, actual));
            }
        };
    }

    @Override
    long longestNanos() {
        return 0;
    }

    void answered(Answer answer, @Nullable Limit decides) {
        limit = decides;
        remaining = answer.left() < 0 ? Long.MAX_VALUE : answer.left();
        fullNanos = answer.fullNanos() < 0 ? Exact.NEVER : answer.fullNanos();
    }

    @Override
    void tellGranted() {
        tell(decision(0));
    }

    @Override
    void tellRefused(RateLimitException refused) {
        if (refused instanceof RateLimitedException late) {
            limit = late.limit() == null ? limit : late.limit();
            Duration after = late.retryAfter();
            tell(decision(after == null || after.isZero() ? Exact.NEVER : Exact.nanos(after)));
        } else {
            super.tellRefused(refused);
        }
    }

    private Decision decision(long waitNanos) {
        if (waitNanos != Exact.NEVER) {
            fullNanos = Math.max(fullNanos, waitNanos);
        }
        long left = waitNanos == 0 || remaining != Long.MAX_VALUE ? remaining : 0;
        return new Decision(
                waitNanos,
                left,
                fullNanos,
                limit,
                admission,
                demand,
                waitNanos == 0 ? slot : null,
                at,
                generation,
                waitNanos == 0 ? this : null);
    }
}
