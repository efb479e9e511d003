package io.github.reactorratelimit.signal;

import org.jspecify.annotations.Nullable;

/** The quotas of one response while it is read; kept and used again for the next one. */
final class Meters {

    private static final int MOST = 64;

    private Meter[] all = new Meter[0];
    private int size;

    int size() {
        return size;
    }

    Meter get(int i) {
        return all[i];
    }

    /** The quota of a family, a dimension and a place in parallel lists; null if there are too many. */
    @Nullable
    Meter of(long prefix, long dimension, int index) {
        for (int i = 0; i < size; i++) {
            if (all[i].is(prefix, dimension, index)) {
                return all[i];
            }
        }
        return append(prefix, dimension, index);
    }

    /** A further quota of a list. */
    @Nullable
    Meter add(long prefix, long dimension) {
        return append(prefix, dimension, 0);
    }

    /** Forgets the quotas from {@code mark} on. */
    void truncate(int mark) {
        for (int i = mark; i < size; i++) {
            all[i].release();
        }
        size = mark;
    }

    private @Nullable Meter append(long prefix, long dimension, int index) {
        if (size == MOST) {
            return null;
        }
        if (size == all.length) {
            Meter[] more = new Meter[Math.max(2, size * 2)];
            System.arraycopy(all, 0, more, 0, size);
            for (int i = size; i < more.length; i++) {
                more[i] = new Meter();
            }
            all = more;
        }
        Meter meter = all[size++];
        meter.start(prefix, dimension, index);
        return meter;
    }
}
