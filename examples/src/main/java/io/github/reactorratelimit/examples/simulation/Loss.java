package io.github.reactorratelimit.examples.simulation;

import java.time.Duration;
import java.util.Collections;

/**
 * What a client that knows the limits takes longer than the optimum, told apart by what the second half of its calls adds.
 *
 * @param inAll of all calls
 * @param periods in how many periods behind the first
 * @param each in each of those
 */
record Loss(Duration inAll, int periods, Duration each) {

    static Loss of(Service service, Outcome outcome) {
        int half = outcome.done() / 2;
        Duration ofHalf = beyond(service, outcome, half);
        Duration inAll = beyond(service, outcome, outcome.done());
        Duration each = inAll.minus(ofHalf).dividedBy((outcome.done() - half) / Service.PERMITS);
        return new Loss(inAll, outcome.done() / Service.PERMITS - 1, each);
    }

    private static Duration beyond(Service service, Outcome outcome, int calls) {
        Duration optimum = service.optimum(Collections.nCopies(calls, Duration.ZERO));
        return outcome.answered().get(calls - 1).at().minus(optimum);
    }

    /** Less than nothing if the rounds of the first half were shorter. */
    Duration once() {
        return inAll.minus(each.multipliedBy(periods));
    }
}
