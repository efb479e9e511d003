package io.github.reactorratelimit;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Everything that is due at some time, in a binary heap whose members know their places, so that leaving is as cheap as
 * joining. At one instant lines come first, those of narrow keys before the wider ones above them and else as their keys
 * came to be known; then everything else as it was set.
 */
final class Timers {

    private static final int FIRST_CAPACITY = 16;

    private @Nullable Timed[] heap = new Timed[FIRST_CAPACITY];
    private int size;
    private int settings;

    /** When the first is due, {@link Exact#NEVER} if there is none. */
    long firstDue() {
        Timed first = heap[0];
        return size == 0 || first == null ? Exact.NEVER : first.dueAt;
    }

    int size() {
        return size;
    }

    /** Adds what is due at {@code dueAt}, or moves it there; what is never due is not kept. */
    void set(Timed timed, long dueAt) {
        if (timed.place != Timed.NOWHERE && timed.dueAt == dueAt) {
            return;
        }
        remove(timed);
        timed.dueAt = dueAt;
        if (dueAt == Exact.NEVER) {
            return;
        }
        timed.order = ++settings;
        if (size == heap.length) {
            heap = Arrays.copyOf(heap, size * 2);
        }
        up(timed, size++);
    }

    void remove(Timed timed) {
        int place = timed.place;
        if (place == Timed.NOWHERE) {
            return;
        }
        timed.place = Timed.NOWHERE;
        Timed last = heap[--size];
        heap[size] = null;
        if (last == null || last == timed) {
            return;
        }
        if (place > 0 && before(last, at((place - 1) >>> 1))) {
            up(last, place);
        } else {
            down(last, place);
        }
    }

    /** Takes out the first of those due by {@code now}; null if nothing is. */
    @Nullable
    Timed pollDue(long now) {
        Timed first = heap[0];
        if (first == null || first.dueAt > now) {
            return null;
        }
        remove(first);
        return first;
    }

    /** All of them, in no order. */
    List<Timed> all() {
        List<Timed> all = new ArrayList<>(size);
        for (int i = 0; i < size; i++) {
            all.add(at(i));
        }
        return all;
    }

    void clear() {
        for (int i = 0; i < size; i++) {
            at(i).place = Timed.NOWHERE;
        }
        Arrays.fill(heap, null);
        size = 0;
    }

    private void up(Timed timed, int from) {
        int place = from;
        while (place > 0) {
            int above = (place - 1) >>> 1;
            Timed other = at(above);
            if (!before(timed, other)) {
                break;
            }
            put(other, place);
            place = above;
        }
        put(timed, place);
    }

    private void down(Timed timed, int from) {
        int place = from;
        int half = size >>> 1;
        while (place < half) {
            int child = 2 * place + 1;
            if (child + 1 < size && before(at(child + 1), at(child))) {
                child++;
            }
            Timed other = at(child);
            if (!before(other, timed)) {
                break;
            }
            put(other, place);
            place = child;
        }
        put(timed, place);
    }

    private static boolean before(Timed a, Timed b) {
        if (a.dueAt != b.dueAt) {
            return a.dueAt < b.dueAt;
        }
        if (a instanceof Slot slot) {
            return !(b instanceof Slot other) || slot.node.isPlacedBefore(other.node);
        }
        return !(b instanceof Slot) && a.order - b.order < 0;
    }

    private void put(Timed timed, int place) {
        heap[place] = timed;
        timed.place = place;
    }

    private Timed at(int place) {
        Timed timed = heap[place];
        assert timed != null;
        return timed;
    }
}
