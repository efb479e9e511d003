package io.github.reactorratelimit.examples.simulation;

import java.time.Duration;
import java.util.List;

/**
 * What came of one client at one server.
 *
 * @param strategy the client
 * @param calls how many were wanted
 * @param requests how many were sent for them
 * @param refused how many of those were refused
 * @param answered which calls were answered, in the order in which they were
 * @param optimum how long it takes at least
 * @param timeline what went on, slice by slice
 */
record Outcome(
        String strategy,
        int calls,
        long requests,
        long refused,
        List<Answer> answered,
        Duration optimum,
        List<Slice> timeline) {

    /**
     * A call that was answered.
     *
     * @param lane whose it was
     * @param at when, since the start
     * @param waited since it was wanted
     */
    record Answer(String lane, Duration at, Duration waited) {}

    /**
     * A slice of time.
     *
     * @param from its begin, since the start
     * @param passed how many requests passed in it
     * @param refused how many requests were refused in it
     * @param waiting how many calls waited at its end
     */
    record Slice(Duration from, long passed, long refused, long waiting) {}

    int done() {
        return answered.size();
    }

    Duration finished() {
        return answered.isEmpty()
                ? Duration.ZERO
                : answered.get(answered.size() - 1).at();
    }

    /** The answers there were per time, as a share of the most that could be. */
    double ofOptimum() {
        double slower = (double) optimum.toNanos()
                / Math.max(optimum.toNanos(), finished().toNanos());
        return slower * done() / calls;
    }

    /** The wait that so many percent of those who were answered had at most. */
    Duration wait(int percent) {
        return percentile(answered, percent);
    }

    Duration wait(String lane, int percent) {
        return percentile(
                answered.stream().filter(answer -> answer.lane().equals(lane)).toList(), percent);
    }

    private static Duration percentile(List<Answer> answers, int percent) {
        List<Duration> waits = answers.stream().map(Answer::waited).sorted().toList();
        return waits.isEmpty() ? Duration.ZERO : waits.get((waits.size() * percent + 99) / 100 - 1);
    }

    @Override
    public String toString() {
        return strategy + ": " + requests + " requests, " + refused + " refused, " + done() + " answered, the last at "
                + finished() + ", " + ofOptimum() + " of the optimum";
    }
}
