package io.github.reactorratelimit;

/**
 * How far one permit has come, as the meters see it. Two times are enough to find its entry in any ledger.
 */
abstract class Booking extends Timed {

    /** What is known of the attempt. */
    enum Phase {
        /** Granted, and somebody will tell when it is sent. It counts until then, however long that takes. */
        UNSENT,
        /** Sent, or granted where nobody tells: the server sees it within the transit time. */
        SENT,
        /** Ended without a response head. */
        ENDED,
        /** The response head is here, or the grant itself counts as one: the server has seen it. */
        HEADED
    }

    Phase phase = Phase.UNSENT;
    /** When the phase began, in limiter time. */
    long at;
    /** When it was sent, in limiter time; while it waits, when it joined. */
    long sentAt;
    /** The limiter's generation when it was granted: which closings it cannot have known, and which books it is not in. */
    long generation;

    /** Since when it counts, as far as is known. */
    final long countsFrom() {
        return phase == Phase.UNSENT ? at : sentAt;
    }
}
