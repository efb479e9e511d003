package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.Headers;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import reactor.core.Exceptions;

/**
 * What a batch was answered with, part by part. Every answer is heard, whether it belongs to a part or not; of two answers
 * to one part the one counts that says more surely that the server acted.
 */
final class BatchAnswer<S> {

    /** One answer as it was read. */
    record Read<S>(S answer, RateLimitSignal signal) {

        /** How unsure it is that the server acted on the part; the lower, the surer. */
        private int doubt() {
            return switch (Outcome.of(signal)) {
                case PASSES -> signal.status() < 400 ? 0 : signal.status() == 424 ? 3 : 1;
                case THROTTLED, TERMINAL, NOT_SENT -> 4;
                case UNAVAILABLE, FAILED, INTERRUPTED -> 2;
            };
        }
    }

    /**
     * The order in which they are heard: refusals first, the longest wait of all first, so that no good answer beside one
     * is taken for the end of it; then failures; then what tells of quotas, so that none is taken for untold; then the
     * rest, the highest usage figure last, which is the latest.
     */
    private static final Comparator<RateLimitSignal> LOUDEST_FIRST = Comparator.<RateLimitSignal>comparingInt(
                    BatchAnswer::rank)
            .thenComparing(Comparator.<RateLimitSignal>comparingLong(BatchAnswer::waitNanos)
                    .reversed())
            .thenComparingDouble(BatchAnswer::use);

    private final Map<Object, Read<S>> byId = new HashMap<>();
    private final List<RateLimitSignal> signals = new ArrayList<>();
    private @Nullable Throwable unreadable;

    BatchAnswer(List<? extends @Nullable S> answers, BatchReader<?, S> reader, RateLimitOperator operator) {
        for (S answer : answers) {
            if (answer != null) {
                read(answer, reader, operator);
            }
        }
        signals.sort(LOUDEST_FIRST);
    }

    private void read(S answer, BatchReader<?, S> reader, RateLimitOperator operator) {
        try {
            int status = reader.status(answer);
            Headers headers = reader.headers(answer);
            Read<S> read = new Read<>(answer, operator.read(status, headers));
            signals.add(read.signal);
            byId.merge(reader.idOf(answer), read, (known, other) -> other.doubt() < known.doubt() ? other : known);
        } catch (Throwable e) {
            Exceptions.throwIfJvmFatal(e);
            unreadable = e; // The other parts have their answers all the same.
        }
    }

    private static int rank(RateLimitSignal signal) {
        if (signal.throttled() || signal.terminal() != null) {
            return 0;
        }
        if (signal.status() >= 500) {
            return 1;
        }
        return use(signal) >= Ramp.USED ? 4 : signal.quotas().isEmpty() ? 3 : 2;
    }

    private static long waitNanos(RateLimitSignal signal) {
        Duration delay = signal.delay();
        return delay == null ? -1 : Exact.nanos(delay);
    }

    private static double use(RateLimitSignal signal) {
        double usage = Usage.of(signal);
        return Double.isNaN(usage) ? -1 : usage;
    }

    @Nullable
    Read<S> to(Object id) {
        return byId.get(id);
    }

    /** Whether the server does not count this part. */
    boolean isFree(Object id) {
        Read<S> read = byId.get(id);
        return read != null && read.signal.cost() == 0;
    }

    /** Why the answer to a part that has none may be among those that could not be read; null if all could. */
    @Nullable
    Throwable unreadable() {
        return unreadable;
    }

    /** What is to be heard, in order. */
    List<RateLimitSignal> signals() {
        return signals;
    }
}
