package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.RateLimitSignal;

/** How an attempt came out, as far as trying again is concerned. */
enum Outcome {
    /** Not a matter of trying again: the caller gets it as it is. */
    PASSES(false),
    /** Refused for a limit: the server did not act. */
    THROTTLED(true),
    /** Refused for a limit that waiting does not help with. */
    TERMINAL(false),
    /** A 503 that says no more. */
    UNAVAILABLE(false),
    /** Another failure of the server, or a status that asks for another try. */
    FAILED(false),
    /** Nothing reached the server. */
    NOT_SENT(true),
    /** Broke off after it was sent, or may have been. */
    INTERRUPTED(false);

    private final boolean anyMethod;

    Outcome(boolean anyMethod) {
        this.anyMethod = anyMethod;
    }

    /** Whether even a call that must not be repeated may be tried again. */
    boolean anyMethod() {
        return anyMethod;
    }

    static Outcome of(RateLimitSignal signal) {
        int status = signal.status();
        if (signal.terminal() != null) {
            return TERMINAL;
        }
        if (signal.throttled()) {
            return signal.partial() ? PASSES : THROTTLED;
        }
        return switch (status) {
            case 503 -> UNAVAILABLE;
            case 408, 425 -> FAILED;
            case 501, 505 -> PASSES;
            default -> status >= 500 && status <= 599 ? FAILED : PASSES;
        };
    }

    static Outcome of(Failure failure) {
        return switch (failure.kind()) {
            case NOT_SENT -> NOT_SENT;
            case INTERRUPTED -> INTERRUPTED;
            case RESPONSE, REFUSED, FINAL -> PASSES;
        };
    }
}
