package io.github.reactorratelimit.examples.simulation;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import io.github.reactorratelimit.RateLimiter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.slf4j.LoggerFactory;

/**
 * All that was simulated.
 *
 * @param servers every client at every server, first at those that tell of their limits and then at those that don't
 * @param distances a client that knows the limits, at several distances
 * @param lanes clients of two lanes
 */
record Results(List<AtServer> servers, List<AtDistance> distances, List<Outcome> lanes) {

    private static final List<Integer> ROUND_TRIPS = List.of(1_000, 300, 120, 100, 30, 10, 3, 1);

    /**
     * What came of the clients at one server.
     *
     * @param service the server
     * @param outcomes theirs, in the order of the strategies
     */
    record AtServer(Service service, List<Outcome> outcomes) {

        Outcome of(Strategy strategy) {
            return outcomes.stream()
                    .filter(outcome -> outcome.strategy().equals(strategy.name()))
                    .findFirst()
                    .orElseThrow();
        }
    }

    /**
     * What came of a client that knows the limits of a sliding window.
     *
     * @param trips how many round trips fit into a period
     * @param silent at a server that tells nothing
     * @param telling at a server that tells of its limits
     */
    record AtDistance(int trips, Outcome silent, Outcome telling) {

        Duration roundTrip() {
            return Service.PERIOD.dividedBy(trips);
        }

        /** What a permit that counts for a period, a thousandth of it, and a round trip of at most a second leaves of the optimum. */
        double formula() {
            double period = Service.PERIOD.toMillis();
            return 1 / (1 + Math.min(1_000, roundTrip().toNanos() / 1e6) / period + 0.001);
        }
    }

    /** Without a line in the log for each of the thousand throttles. */
    static Results simulate() {
        Logger log = (Logger) LoggerFactory.getLogger(RateLimiter.class);
        Level before = log.getLevel();
        log.setLevel(Level.OFF);
        try {
            return simulated();
        } finally {
            log.setLevel(before);
        }
    }

    private static Results simulated() {
        List<AtServer> telling = Service.all().stream().map(Results::telling).toList();
        List<AtServer> servers = new ArrayList<>(telling);
        telling.forEach(told -> servers.add(silent(told)));
        return new Results(
                List.copyOf(servers),
                ROUND_TRIPS.stream().map(Results::atDistance).toList(),
                Strategy.forLanes().stream().map(Run::lanes).toList());
    }

    private static AtDistance atDistance(int trips) {
        Duration way = Service.PERIOD.dividedBy(2L * trips);
        return new AtDistance(
                trips, Run.atDistance(way, Service.sliding().silent()), Run.atDistance(way, Service.sliding()));
    }

    private static AtServer telling(Service service) {
        return new AtServer(
                service,
                Strategy.all().stream()
                        .map(strategy -> Run.batch(strategy, service))
                        .toList());
    }

    /** Who doesn't read what he is told fares as if he had been told. */
    private static AtServer silent(AtServer told) {
        Service service = told.service().silent();
        return new AtServer(
                service,
                Strategy.all().stream()
                        .map(strategy -> strategy.reads() ? Run.batch(strategy, service) : told.of(strategy))
                        .toList());
    }
}
