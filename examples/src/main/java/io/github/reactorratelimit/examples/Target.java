package io.github.reactorratelimit.examples;

import java.time.Duration;

/** The figures a scenario has to reach: exact counts, and a time that it may not exceed. */
record Target(int sent, int done, int refused, int unavailable, Duration longest) {

    boolean isReachedBy(Figures figures) {
        return figures.sent() == sent
                && figures.done() == done
                && figures.refused() == refused
                && figures.unavailable() == unavailable
                && figures.time().compareTo(longest) <= 0;
    }
}
