package io.github.reactorratelimit.test;

/** A request that no script has a reply for: what a call fails with, and what is answered over HTTP instead. */
final class Unscripted extends AssertionError {

    private static final long serialVersionUID = 1L;

    private final transient Reply reply;

    Unscripted(String sentence, Reply reply) {
        super(sentence);
        this.reply = reply;
    }

    Reply reply() {
        return reply;
    }
}
