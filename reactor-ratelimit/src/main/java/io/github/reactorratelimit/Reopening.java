package io.github.reactorratelimit;

import io.github.reactorratelimit.RateLimitListener.Cause;

/** That a scope opens again, for those who want to be told of it. */
final class Reopening extends Timed {

    final Node node;
    /** Why it is closed, as it was told last. */
    Cause cause;

    Reopening(Node node, Cause cause) {
        this.node = node;
        this.cause = cause;
    }
}
