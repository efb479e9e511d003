package io.github.reactorratelimit;

import io.github.reactorratelimit.LimitStore.Answer;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.core.publisher.MonoSink;

/** Asks a store once, without standing in line, and tells what it answered. */
final class Inquiry extends BarePermit {

    private final MonoSink<Decision> sink;
    /** Under the monitor until it is emitted: what the store said of the limit that decides. */
    private long remaining = Long.MAX_VALUE;

    private long fullNanos;
    private @Nullable Limit limit;

    private Inquiry(Admission admission, Demand demand, MonoSink<Decision> sink) {
        super(admission, demand);
        this.sink = sink;
    }

    static Mono<Decision> of(Admission admission, Demand demand) {
        return Mono.create(sink -> {
            Inquiry inquiry = new Inquiry(admission, demand, sink);
            sink.onCancel(() -> admission.cancel(inquiry));
            admission.acquire(inquiry, RateLimitContext.laneOf(sink.contextView()), 0, 0);
        });
    }

    void answered(Answer answer, @Nullable Limit decides) {
        limit = decides;
        remaining = answer.left() < 0 ? Long.MAX_VALUE : answer.left();
        fullNanos = answer.fullNanos() < 0 ? Exact.NEVER : answer.fullNanos();
    }

    @Override
    void emit() {
        RateLimitException refused = refusal();
        if (refused == null) {
            admission.granted(this);
            sink.success(decision(0));
        } else {
            admission.refused(this, refused);
            if (refused instanceof RateLimitedException late) {
                limit = late.limit() == null ? limit : late.limit();
                Duration after = late.retryAfter();
                sink.success(decision(after == null || after.isZero() ? Exact.NEVER : Exact.nanos(after)));
            } else {
                sink.error(refused);
            }
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
