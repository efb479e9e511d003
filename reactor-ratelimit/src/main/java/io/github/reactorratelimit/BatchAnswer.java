package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.Headers;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What a batch was answered with, part by part. */
final class BatchAnswer<S> extends BatchHead {

    /** One answer as it was read. */
    record Read<S>(S answer, int status, Headers headers, RateLimitSignal signal) {

        /** Refusals before failures before the rest, and of each the longest wait, or the highest use. */
        boolean isLouderThan(Read<S> other) {
            int rank = Integer.compare(rank(), other.rank());
            int wait = Long.compare(waitNanos(), other.waitNanos());
            return rank != 0 ? rank > 0 : wait != 0 ? wait > 0 : use() > other.use();
        }

        private int rank() {
            return signal.throttled() ? 3 : status == 503 ? 2 : signal.delay() != null ? 1 : 0;
        }

        private long waitNanos() {
            Duration delay = signal.delay();
            return delay == null ? -1 : Exact.nanos(delay);
        }

        private double use() {
            return Double.isNaN(signal.usage()) ? 0 : signal.usage();
        }
    }

    private final Map<Object, Read<S>> byId = new HashMap<>();

    BatchAnswer(List<? extends S> answers, BatchReader<?, S> reader, RateLimitOperator operator) {
        Read<S> loudest = null;
        for (S answer : answers) {
            Headers lines = reader.headers(answer);
            int code = reader.status(answer);
            Read<S> read = new Read<>(answer, code, lines, operator.read(code, lines));
            byId.put(reader.idOf(answer), read);
            loudest = loudest == null || read.isLouderThan(loudest) ? read : loudest;
        }
        if (loudest != null) {
            status = loudest.status;
            headers = loudest.headers;
        }
    }

    @Nullable
    Read<S> to(Object id) {
        return byId.get(id);
    }
}
