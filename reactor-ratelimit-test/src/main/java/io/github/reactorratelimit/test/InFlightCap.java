package io.github.reactorratelimit.test;

/** Counts calls that take a fixed time each: a slot is free again that long after it was taken, as in a sliding window. */
final class InFlightCap implements ServerLimit.Counter {

    private final SlidingWindow slots;

    InFlightCap(long calls, long takesMillis) {
        slots = new SlidingWindow(calls, takesMillis);
    }

    @Override
    public ServerLimit.Standing look(long nowMillis) {
        ServerLimit.Standing all = slots.look(nowMillis);
        return new ServerLimit.Standing(ServerLimit.UNTOLD, all.remaining(), all.resetMillis(), all.retryMillis());
    }

    @Override
    public void take(long nowMillis) {
        slots.take(nowMillis);
    }
}
