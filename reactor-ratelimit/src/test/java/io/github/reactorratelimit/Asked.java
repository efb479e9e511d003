package io.github.reactorratelimit;

import java.time.Duration;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.BaseSubscriber;

/** What became of one acquire: its outcome, when, and as the how manieth of all. */
final class Asked extends BaseSubscriber<Permit> {

    private final VirtualTime time;
    private @Nullable Permit permit;
    private @Nullable Throwable error;
    private @Nullable Duration at;
    private int turn;

    Asked(VirtualTime time) {
        this.time = time;
    }

    @Override
    protected void hookOnNext(Permit granted) {
        if (at != null) {
            throw new AssertionError("a second outcome at " + time.elapsed() + ", after one at " + at);
        }
        permit = granted;
        note();
    }

    @Override
    protected void hookOnError(Throwable failure) {
        if (at != null) {
            throw new AssertionError("a second outcome at " + time.elapsed() + ", after one at " + at, failure);
        }
        error = failure;
        note();
    }

    private void note() {
        at = time.elapsed();
        turn = time.nextTurn();
    }

    boolean isWaiting() {
        return at == null;
    }

    boolean isGranted() {
        return permit != null;
    }

    boolean wasAnsweredBefore(Duration instant) {
        return at != null && at.compareTo(instant) < 0;
    }

    /** When it was decided, null while it waits. */
    @Nullable
    Duration at() {
        return at;
    }

    /** As the how manieth it was decided, 0 while it waits. */
    int turn() {
        return turn;
    }

    Permit permit() {
        if (permit == null) {
            throw new AssertionError("not granted: " + (error == null ? "still waiting" : error));
        }
        return permit;
    }

    Throwable error() {
        if (error == null) {
            throw new AssertionError(permit == null ? "still waiting" : "granted at " + at);
        }
        return error;
    }

    RateLimitedException refusal() {
        if (error() instanceof RateLimitedException refusal) {
            return refusal;
        }
        throw new AssertionError("failed otherwise", error);
    }
}
