package io.github.reactorratelimit.signal;

/**
 * Tells what a bare number in a reset header is by its size, because the header's name proves nothing: below 10^9 seconds
 * from now, below 10^11 seconds since the epoch, below 10^14 milliseconds since the epoch, beyond that nothing.
 */
final class Magnitude {

    private static final long EPOCH_SECONDS = 1_000_000_000L;
    private static final long EPOCH_MILLIS = 100_000_000_000L;
    private static final long NOTHING = 100_000_000_000_000L;

    private Magnitude() {}

    /** Takes a number as a reset. */
    static void weigh(Meter meter, long whole, int billionths) {
        if (whole < EPOCH_SECONDS) {
            meter.delta.longest(whole, billionths, false);
        } else if (whole < EPOCH_MILLIS) {
            meter.at.longest(whole, billionths, billionths == 0);
        } else if (whole < NOTHING) {
            long nanos = whole % 1000 * 1_000_000 + (billionths + 999) / 1000;
            meter.at.longest(whole / 1000 + nanos / Scan.BILLION, (int) (nanos % Scan.BILLION), false);
        }
    }

    /** Whether a number of milliseconds is one since the epoch. */
    static boolean isEpochMillis(long millis) {
        return millis >= EPOCH_MILLIS && millis < NOTHING;
    }
}
