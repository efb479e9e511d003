package io.github.reactorratelimit;

import org.jspecify.annotations.Nullable;

/** What lanes may use of one learned quota, where that is not all of it. */
final class LearnedShares {

    private static final LearnedShare[] NONE = {};

    /** Per lane; null for a lane that may use all of it, and none at all where every lane may. */
    private final @Nullable LearnedShare[] each;

    LearnedShares(LearnedMeter quota, Lanes lanes) {
        @Nullable LearnedShare[] parts = NONE;
        for (int lane = 0; lane < lanes.count(); lane++) {
            if (!lanes.share(lane).isWhole()) {
                parts = parts == NONE ? new @Nullable LearnedShare[lanes.count()] : parts;
                parts[lane] = new LearnedShare(quota, lanes.share(lane));
            }
        }
        this.each = parts;
    }

    /** What a lane may use of it; null if that is all. */
    @Nullable
    LearnedShare of(int lane) {
        return lane < each.length ? each[lane] : null;
    }

    /** Permits of before stand in the quota's books no more. */
    void begin() {
        for (LearnedShare share : each) {
            if (share != null) {
                share.begin();
            }
        }
    }

    /** Of the window that begins, so much is used by this lane, and nothing by the others. */
    void reset(int byLane, long cost) {
        for (int lane = 0; lane < each.length; lane++) {
            LearnedShare share = each[lane];
            if (share != null) {
                share.reset(lane == byLane ? cost : 0);
            }
        }
    }

    /** All keys of the quota are placed. */
    void placeAll() {
        for (LearnedShare share : each) {
            if (share != null) {
                share.placeAll();
            }
        }
    }

    boolean isUnlikePlaced() {
        boolean unlike = false;
        for (LearnedShare share : each) {
            unlike |= share != null && share.isUnlikePlaced();
        }
        return unlike;
    }
}
