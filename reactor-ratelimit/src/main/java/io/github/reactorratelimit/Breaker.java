package io.github.reactorratelimit;

import java.util.Arrays;

/**
 * Whether a key's calls fail so often that calling on does harm: half or more of the last 100 within 60 s, out of 10 at
 * least.
 *
 * <pre>
 *               half have failed                 the rest is over
 *   CLOSED ─────────────────────────► OPEN  ───────────────────────► one call finds out
 *      ▲                               ▲                               │       │
 *      │                               └────────────── it failed ──────┘       │
 *      └────────────────────────────────────────────── it did not ─────────────┘
 * </pre>
 *
 * What a permit says that was granted before it opened counts no more.
 */
final class Breaker {

    static final long REST_NANOS = 30_000_000_000L;

    private static final int CALLS = 100;
    private static final long SPAN_NANOS = 60_000_000_000L;
    private static final int FEWEST = 10;

    /** Of the last calls, when they were over, as a ring. */
    private final long[] at = new long[CALLS];

    private final boolean[] failed = new boolean[CALLS];
    private int first;
    private int count;
    private int failures;
    private boolean open;
    private long since;

    /** A call is over; whether its key has to rest now. */
    boolean over(long now, boolean failure, long generation) {
        return over(now, 1, failure ? 1 : 0, generation);
    }

    /** So many calls are over at once, of which some failed: their order says nothing. On trial, they are one. */
    boolean over(long now, int calls, int failing, long generation) {
        if (generation < since) {
            return false;
        }
        if (open) {
            open = 2L * failing >= calls;
            return open;
        }
        forget(now);
        long spread = 0;
        for (int i = 0; i < calls; i++) {
            // Evenly, so that whichever of them the ring forgets first, the share of failures stays.
            spread += failing;
            note(now, spread >= calls);
            spread -= spread >= calls ? calls : 0;
        }
        return failing > 0 && count >= FEWEST && 2 * failures >= count;
    }

    boolean isOpen() {
        return open;
    }

    /** From here on its key rests, and then one call of this generation or a later one finds out. */
    void open(long generation) {
        open = true;
        since = generation;
        first = 0;
        count = 0;
        failures = 0;
        Arrays.fill(failed, false);
    }

    private void forget(long now) {
        while (count > 0 && now - at[first] >= SPAN_NANOS) {
            drop();
        }
    }

    private void note(long now, boolean failure) {
        if (count == CALLS) {
            drop();
        }
        int last = (first + count) % CALLS;
        at[last] = now;
        failed[last] = failure;
        failures += failure ? 1 : 0;
        count++;
        assert failures >= 0 && failures <= count : failures + " of " + count;
    }

    private void drop() {
        failures -= failed[first] ? 1 : 0;
        first = (first + 1) % CALLS;
        count--;
    }
}
