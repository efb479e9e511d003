package io.github.reactorratelimit;

/**
 * A first-in-first-out list of (time, amount) in rising time, in two arrays. Amounts of one time, or of times within
 * {@code grain} of a slot's first, share a slot that counts as the latest of them.
 */
final class Ledger {

    private static final int FIRST_CAPACITY = 2;
    /** Most ledgers of most keys stay empty, so arrays come with the first entry. */
    private static final long[] NOTHING = {};

    private final long grain;
    private long[] times = NOTHING;
    private long[] amounts = NOTHING;
    private int head;
    private int size;
    /** When the last slot began, since its time moves with what joins it. */
    private long lastBegan;

    Ledger(long grain) {
        this.grain = grain;
    }

    int size() {
        return size;
    }

    long time(int index) {
        return times[(head + index) & (times.length - 1)];
    }

    long amount(int index) {
        return amounts[(head + index) & (times.length - 1)];
    }

    void append(long time, long amount) {
        if (size > 0) {
            int last = (head + size - 1) & (times.length - 1);
            assert times[last] <= time : "times rise";
            if (time - lastBegan <= grain) {
                times[last] = time;
                amounts[last] = Exact.add(amounts[last], amount);
                return;
            }
        }
        if (size == times.length) {
            grow();
        }
        int next = (head + size) & (times.length - 1);
        times[next] = time;
        amounts[next] = amount;
        lastBegan = time;
        size++;
    }

    void clear() {
        head = 0;
        size = 0;
    }

    /** Both lists in one, in rising time; neither is changed. */
    Ledger with(Ledger other) {
        Ledger both = new Ledger(Math.max(grain, other.grain));
        int mine = 0;
        int theirs = 0;
        while (mine < size || theirs < other.size) {
            if (theirs == other.size || (mine < size && time(mine) <= other.time(theirs))) {
                both.append(time(mine), amount(mine++));
            } else {
                both.append(other.time(theirs), other.amount(theirs++));
            }
        }
        return both;
    }

    void removeFirst() {
        drop();
        trim();
    }

    private void drop() {
        head = (head + 1) & (times.length - 1);
        size--;
    }

    /**
     * Changes the amount entered at {@code time}, never below zero. What was not entered before is, if there is more of it
     * now.
     *
     * @return what it changed by
     */
    long adjust(long time, long delta) {
        int index = firstFrom(time);
        if (index == size || time(index) - time > grain) {
            if (delta <= 0) {
                return 0;
            }
            insert(index, time);
        }
        int slot = (head + index) & (times.length - 1);
        long before = amounts[slot];
        long after = Math.max(0, Exact.add(before, delta));
        amounts[slot] = after;
        trim();
        return after - before;
    }

    private int firstFrom(long time) {
        int low = 0;
        int high = size;
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (time(middle) < time) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    private void insert(int index, long time) {
        if (size == times.length) {
            grow();
        }
        for (int i = size; i > index; i--) {
            copy(i - 1, i);
        }
        int slot = (head + index) & (times.length - 1);
        times[slot] = time;
        amounts[slot] = 0;
        if (index == size) {
            lastBegan = time;
        }
        size++;
    }

    private void copy(int from, int to) {
        int mask = times.length - 1;
        times[(head + to) & mask] = times[(head + from) & mask];
        amounts[(head + to) & mask] = amounts[(head + from) & mask];
    }

    /** Empty slots at either end would make the oldest time look later than it is, and the newest. */
    private void trim() {
        while (size > 0 && amount(0) == 0) {
            drop();
        }
        while (size > 0 && amount(size - 1) == 0) {
            size--;
            // When the slot before began is not known any more: nothing but its own time joins it.
            lastBegan = size > 0 ? time(size - 1) - grain : 0;
        }
    }

    private void grow() {
        int capacity = Math.max(FIRST_CAPACITY, times.length * 2);
        long[] moreTimes = new long[capacity];
        long[] moreAmounts = new long[capacity];
        for (int i = 0; i < size; i++) {
            moreTimes[i] = time(i);
            moreAmounts[i] = amount(i);
        }
        times = moreTimes;
        amounts = moreAmounts;
        head = 0;
    }
}
