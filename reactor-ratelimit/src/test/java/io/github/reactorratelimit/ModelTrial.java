package io.github.reactorratelimit;

/**
 * How one key of the model is tried out, after a refusal or before anything is known of it: so many at once, doubling with
 * every round of good answers. Who is out is counted among the demands whenever somebody asks.
 */
final class ModelTrial {

    private static final double SLOW_FROM = 0.8;

    boolean on;
    /** The running number of when it began: earlier grants have no place in it. */
    long began;

    long atOnce;
    /** Since it is as wide as it is, all places were taken once. */
    boolean filled;

    private long good;
    private boolean finding;
    private long taught = Exact.NEVER;
    private boolean holding;
    private boolean slowedOnly;
    private long mostByFigure = Exact.NEVER;
    private long figureStartedAt;

    void begin(long count, long wide, boolean findsOut) {
        on = true;
        began = count;
        atOnce = wide;
        good = 0;
        filled = false;
        finding = findsOut;
        holding = false;
        slowedOnly = false;
        mostByFigure = Exact.NEVER;
    }

    void refused(long count, long out) {
        if (on && out >= 2) {
            taught = out / 2;
        }
        begin(count, 1, false);
    }

    /** One good answer; true if the trial is over, or as wide as it gets, so that the waves are forgotten. */
    boolean good(long limits) {
        if (!on) {
            return false;
        }
        if (finding && limits < Exact.NEVER) {
            on = false;
            return true;
        }
        finding = false;
        good++;
        long round = holding ? 64 * atOnce : atOnce;
        if (good < round) {
            return false;
        }
        good = 0;
        boolean wasFilled = filled;
        filled = false;
        if (!wasFilled && mostByFigure == Exact.NEVER) {
            // A whole round held up nobody: over, unless nothing but this trial says how much may go.
            on = !slowedOnly && limits == Exact.NEVER;
            return true;
        }
        atOnce = holding ? atOnce + 1 : 2 * atOnce;
        if (mostByFigure < Exact.NEVER) {
            atOnce = Math.min(atOnce, mostByFigure);
            return false;
        }
        if (atOnce >= (slowedOnly ? figureStartedAt : limits) || atOnce >= 1 << 20) {
            on = false;
            return true;
        }
        if (!slowedOnly && limits == Exact.NEVER && atOnce >= taught) {
            atOnce = holding ? atOnce : taught;
            taught = atOnce;
            holding = true;
            return true;
        }
        return false;
    }

    /** A figure of how full the server is, or none. */
    void figure(double share, boolean ofThisTrial, long busy, long count) {
        if (!(share >= SLOW_FROM)) {
            if (on && ofThisTrial) {
                mostByFigure = Exact.NEVER;
            }
            return;
        }
        boolean first = !on || mostByFigure == Exact.NEVER;
        if (first) {
            figureStartedAt = busy;
        }
        // At 80 % all that were out, at 100 % one, evenly between.
        long most = Math.max(1, (long) Math.ceil(figureStartedAt * (1 - share) / (1 - SLOW_FROM) - 1e-9));
        if (!on) {
            begin(count, most, false);
            slowedOnly = true;
            mostByFigure = most;
        } else {
            mostByFigure = first || ofThisTrial ? most : Math.min(mostByFigure, most);
        }
        atOnce = Math.min(atOnce, mostByFigure);
    }
}
