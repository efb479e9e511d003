package io.github.reactorratelimit;

import io.github.reactorratelimit.RateLimitListener.Reason;
import io.github.reactorratelimit.RateLimitListener.Retry;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;

/**
 * One attempt at a batch. It differs from one at a call in its verdict, which is one for each part, and in that it never
 * goes on by itself: which parts are sent again, and with whom, is decided when it is over.
 */
final class BatchAttempt<P, S> extends WatchedAttempt<BatchAnswer<S>> {

    private static final List<RateLimitSignal> NOTHING = List.of(RateLimitSignal.none(0));

    private final List<BatchPart<P, S>> parts;

    BatchAttempt(
            BatchSend<P, S> batch,
            List<BatchPart<P, S>> parts,
            Retries behind,
            CoreSubscriber<? super BatchAnswer<S>> actual) {
        super(batch, behind.demand(), actual, behind);
        this.parts = parts;
        this.front = behind.attempts() > 0;
    }

    /** No attempt at a batch is the caller's subscription, and none goes on as a loop. */
    @Override
    boolean isFirst() {
        return false;
    }

    @Override
    long patienceNanos() {
        long left = super.patienceNanos();
        return front ? left : Math.min(demand.maxWaitNanos(), left);
    }

    /** The function was subscribed; an inner operator tells of the sending itself. */
    void tellSent() {
        Herald herald = admission().herald();
        if (herald != null && !isHeardInside()) {
            herald.sent(this);
        }
    }

    /** What the parts say is heard here even if an inner operator heard the batch: it can't see them. */
    @Override
    boolean handsOn(BatchAnswer<S> answer) {
        headed = true;
        BatchVerdict<P, S> verdict = verdict();
        verdict.answered(parts, answer);
        List<RateLimitSignal> signals = answer.signals();
        admission().answers().hearAll(this, signals.isEmpty() ? NOTHING : signals, cost(answer), verdict.pauseNanos());
        tell(verdict);
        return true;
    }

    /** What it costs without the parts that the server does not count. */
    private long cost(BatchAnswer<S> answer) {
        long free = parts.stream().filter(part -> answer.isFree(part.id)).count();
        return demand.requests() - Exact.floorDiv(demand.requests(), free, 0, parts.size());
    }

    @Override
    Throwable judge(Throwable error) {
        Failure failure = operator().read(error);
        tellProxy(failure, error);
        BatchVerdict<P, S> verdict = verdict();
        if (failure != null && failure.kind() == Failure.Kind.RESPONSE) {
            headed = true;
            int wanted = operator().bodyBytes(failure.status(), failure.headers());
            RateLimitSignal signal = operator().read(failure.status(), failure.headers(), failure.body(), wanted);
            verdict.refused(parts, signal, error);
            if (!isHeardInside()) {
                admission().answers().hear(this, signal, verdict.pauseNanos(), false);
            }
        } else {
            // What fails after the head was sent, whatever it looks like: it may be a call of the caller's own.
            boolean saysNotSent = failure != null && failure.isNotSent();
            boolean notSent = saysNotSent && !headed;
            if (notSent) {
                tellUnsent();
            }
            verdict.failed(parts, saysNotSent && headed ? null : failure, notSent ? NotSent.mark(error) : error);
        }
        tell(verdict);
        return verdict.again() == null ? error : Again.INSTANCE;
    }

    /** Each part is a success for itself, or isn't. */
    @Override
    boolean earns() {
        return false;
    }

    private BatchVerdict<P, S> verdict() {
        return new BatchVerdict<>(operator(), keys(), isHeardInside(), isRetriedInside());
    }

    private void tell(BatchVerdict<P, S> verdict) {
        Herald herald = admission().herald();
        if (herald == null) {
            return;
        }
        verdict.exhausted().forEach(why -> herald.exhausted(this, why));
        Outcome again = verdict.again();
        @Nullable Throwable failure = verdict.last();
        if (again != null && failure != null) {
            long wait = Math.max(verdict.restNanos(), admission().answers().closedFor(this));
            herald.retried(
                    this, new Retry(number() + 1, Reason.valueOf(again.name()), Duration.ofNanos(wait), failure));
        }
    }
}
