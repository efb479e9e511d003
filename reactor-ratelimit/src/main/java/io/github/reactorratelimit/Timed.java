package io.github.reactorratelimit;

/** Something that is due at an instant of limiter time: it knows its place in the {@link Timers}. */
abstract class Timed {

    static final int NOWHERE = -1;

    long dueAt;
    /** Rises with every setting, so that what is due at one instant comes as it was set. */
    int order;

    int place = NOWHERE;
}
