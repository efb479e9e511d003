package io.github.reactorratelimit;

/** Says to the retry loop that this attempt is to be followed by another; never seen by users. */
final class Again extends RuntimeException {

    @SuppressWarnings("StaticAssignmentOfThrowable") // It has no stack trace that could mislead.
    static final Again INSTANCE = new Again();

    private static final long serialVersionUID = 1L;

    private Again() {
        super("try again", null, false, false);
    }
}
