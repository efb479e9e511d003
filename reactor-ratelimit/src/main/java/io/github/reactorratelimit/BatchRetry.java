package io.github.reactorratelimit;

import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import reactor.core.publisher.Mono;
import reactor.util.context.ContextView;

/**
 * Sends batches whose parts are refused and fail one by one, inside an answer that looks like a success, such as Microsoft
 * Graph's {@code $batch}. Immutable; one may be used by any number of calls at once.
 *
 * <p>A batch is one demand that costs as much as its parts, or several smaller ones where a limit, or {@link #atMost}, is
 * smaller. Only parts that were refused for a limit, or that failed in a way that is safe to try again, are sent again, when
 * all batches that are under way are answered, and at the front of their line. A part that is answered with a 424 because
 * of one of those is sent again once that has succeeded, and fails for the same reason if that fails for good.
 *
 * <p>What every single part said about limits is heard as of a response of its own, by the scope and the quota that it is
 * about, before the batch gives its permits back: the longest hint counts, and the next batch waits for it. To ramps a
 * batch is one call. Listeners are told of each batch as of one attempt, and of each answer in it.
 *
 * <p>A batch that fails as a whole, in an exception that a {@link FailureReader} of the operator knows, is that response or
 * failure for each of its parts, and that exception is the cause of what becomes of them.
 *
 * <p>What is tried again, how often and until when is said by the {@link RetryPolicy} of the operator, part by part; the
 * deadline and the attempts count from the subscription. Its refusals and failures end the part, not the batch: the result
 * has one outcome per part, in the order that was asked. It fails only if what was asked is no batch: with an id that comes
 * twice, or dependencies that are unknown, on itself or circular. Then nothing is sent.
 *
 * <p>Of several layers one tries again: if the function has an operator of its own around its call, that one hears and
 * retries the batch as a whole, and only the parts are left to this one.
 *
 * <p>Defaults: at most 20 parts per batch. Thread-safe; nothing blocks. The next batch is subscribed on the thread that made
 * room for it.
 *
 * @param <P> a part as it is asked
 * @param <S> a part as it is answered
 * @see <a href="https://learn.microsoft.com/graph/json-batching">JSON batching</a> in Microsoft Graph
 */
public final class BatchRetry<P, S> {

    private static final int GRAPH = 20;

    private final RateLimitOperator calls;
    private final BatchReader<P, S> reader;
    private final int most;

    private BatchRetry(RateLimitOperator calls, BatchReader<P, S> reader, int most) {
        this.calls = calls;
        this.reader = reader;
        this.most = most;
    }

    /**
     * Batches under a limiter.
     *
     * @param calls how they are limited and tried again, with readers for the failures of the client; its response readers
     *     and {@code idempotent} play no part
     * @param reader how to read parts
     * @param <P> a part as it is asked
     * @param <S> a part as it is answered
     * @return batches of at most 20 parts
     */
    public static <P, S> BatchRetry<P, S> of(RateLimitOperator calls, BatchReader<P, S> reader) {
        return new BatchRetry<>(
                Objects.requireNonNull(calls, "calls"), Objects.requireNonNull(reader, "reader"), GRAPH);
    }

    /**
     * Bounds how many parts are sent in one batch; 20 unless said, which is Graph's bound.
     *
     * @param parts positive
     * @return the changed copy
     * @throws IllegalArgumentException if the number is not positive
     */
    public BatchRetry<P, S> atMost(int parts) {
        if (parts <= 0) {
            throw new IllegalArgumentException("the parts of a batch must be positive, were " + parts);
        }
        return new BatchRetry<>(calls, reader, parts);
    }

    /**
     * Sends parts, in as many batches and as often as it takes. Lazy. Cancelling cancels the batches that are under way,
     * which stay charged, and leaves the lines without a trace.
     *
     * @param parts any number of them
     * @param each what one part asks for; how long it waits at most holds for the first time that a part is sent,
     *     and with such a bound parts that are sent again go in batches of their own
     * @param batch sends a batch of these parts, of which each comes behind those that it depends on; subscribed once per
     *     batch. It fails where the answer is no batch, with its status in the exception. What a part depends on may have
     *     been answered in an earlier batch, so dependencies that are not among these parts are to be left out. Answers may
     *     come in any order; one that is missing leaves open whether its part was served. {@link RateLimitContext} tells it
     *     which attempt it is
     * @return one outcome per part, in order; fails with {@link IllegalArgumentException} if this is no batch
     */
    public Mono<List<BatchOutcome<S>>> send(
            List<? extends P> parts, Demand each, Function<? super List<P>, ? extends Mono<? extends List<S>>> batch) {
        Objects.requireNonNull(each, "demand");
        Objects.requireNonNull(batch, "batch");
        List<P> all = List.copyOf(parts);
        // onErrorStop: a strategy of the caller's would else swallow what belongs to a part.
        return Mono.deferContextual(
                        context -> new BatchRun<>(calls, reader, most, all, inLane(each, context), batch).outcomes())
                .onErrorStop();
    }

    private static Demand inLane(Demand each, ContextView context) {
        String lane = RateLimitContext.laneOf(context);
        return lane == null || each.lane() != null ? each : each.lane(lane);
    }
}
