package io.github.reactorratelimit;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Makes the books of two keys those of one. All limits of both hold from then on, each counting what was taken under
 * either key. Where one key has no books of a kind, its permits of before are in none of that kind: nobody tells of their
 * end, so what waits for it is let go.
 */
final class JointBooks {

    private JointBooks() {}

    /** The books of both; permits granted from {@code generation} on stand in all of them. */
    static Meter[] of(long now, Meter[] mine, Meter[] theirs, long generation) {
        if (mine.length + theirs.length == 0) {
            return mine;
        }
        List<Meter> all = new ArrayList<>(List.of(mine));
        for (Meter meter : theirs) {
            if (find(meter, mine, true) == null) {
                // A copy, because its own figures have still to go into the books on this side.
                Meter added = meter.anew(now);
                added.adopt(now, meter);
                added.since = meter.since;
                join(now, added, find(meter, mine, false), generation);
                all.add(added);
            }
        }
        for (Meter meter : mine) {
            Meter same = find(meter, theirs, true);
            join(now, meter, same == null ? find(meter, theirs, false) : same, generation);
        }
        return all.toArray(new Meter[0]);
    }

    private static void join(long now, Meter meter, @Nullable Meter other, long generation) {
        if (other == null) {
            meter.disown(now);
            meter.since = generation;
        } else {
            meter.absorb(now, other);
            meter.since = Math.max(meter.since, other.since);
        }
    }

    /** The books of the same limit, or those of its kind that reach back furthest. */
    private static @Nullable Meter find(Meter meter, Meter[] among, boolean same) {
        Meter found = null;
        for (Meter each : among) {
            boolean fits = same ? each.limit.equals(meter.limit) : each.isLike(meter);
            if (fits && (found == null || each.limit.spanNanos() > found.limit.spanNanos())) {
                found = each;
            }
        }
        return found;
    }
}
