package io.github.reactorratelimit;

/** A mark on somebody else's exception: the request certainly did not reach the server. */
final class NotSent extends RuntimeException {

    private static final long serialVersionUID = 1L;

    @SuppressWarnings("StaticAssignmentOfThrowable") // It has no stack trace that could mislead.
    private static final NotSent MARK = new NotSent();

    private NotSent() {
        super("the request was not sent", null, false, false);
    }

    static Throwable mark(Throwable error) {
        if (!isMarked(error)) {
            error.addSuppressed(MARK);
        }
        return error;
    }

    static boolean isMarked(Throwable error) {
        for (Throwable suppressed : error.getSuppressed()) {
            if (suppressed instanceof NotSent) {
                return true;
            }
        }
        return false;
    }
}
