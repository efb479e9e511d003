package io.github.reactorratelimit;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Booking.Phase;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The window is counted at the client so that it holds at the server, whatever the way there is like. */
class WindowAtTheServerTest {

    private static final long TIMEOUT = 20_000_000_000L;
    private static final int CALLS = 200;

    @Property(tries = 1_000)
    void a_server_never_counts_more_than_n_of_a_strict_window(@ForAll long seed) {
        Random random = new Random(seed);
        Latency latency = List.of(Latency.values()).get(random.nextInt(Latency.values().length));
        SimulatedWindowServer server = run(random, latency, true);

        assertThat(server.requests()).isPositive();
        assertThat(server.refusals()).as("%s, seed %d", latency, seed).isZero();
    }

    @Test
    void a_server_counts_more_than_n_of_an_ordinary_window_only_in_a_tail_of_more_than_a_second() {
        for (Latency latency : Latency.values()) {
            long requests = 0;
            long refusals = 0;
            for (int seed = 0; seed < 1_000; seed++) {
                SimulatedWindowServer server = run(new Random(seed), latency, false);
                requests += server.requests();
                refusals += server.refusals();
            }
            double perTenThousand = 10_000.0 * refusals / requests;
            // The figures of Limit's Javadoc.
            double most = latency == Latency.HEAVY_TAIL ? 12.2 : latency == Latency.LOGNORMAL ? 0.7 : 0;
            assertThat(perTenThousand)
                    .as("%s, %d of %d", latency, refusals, requests)
                    .isBetween(0.0, most);
        }
    }

    /** A client that always has something to send, and sends as much as its window lets it. */
    private static SimulatedWindowServer run(Random random, Latency latency, boolean strict) {
        int permits = 1 + random.nextInt(12);
        long period = (1 + random.nextInt(60)) * 1_000_000_000L;
        Limit limit = Limit.of(permits, Duration.ofNanos(period));
        WindowMeter meter = new WindowMeter(strict ? limit.strict() : limit);
        SimulatedWindowServer server = new SimulatedWindowServer(permits, period, 200 * random.nextDouble() - 100);
        PriorityQueue<Event> events = new PriorityQueue<>(Comparator.comparingLong(Event::at));
        long now = random.nextInt(1_000_000_000);
        for (int call = 0; call < CALLS; call++) {
            now += random.nextInt(20) == 0 ? random.nextInt(1_000_000_000) : 0;
            happen(events, now, meter, server);
            // Heads come while it waits, and let it go earlier.
            for (long at = meter.readyAt(now, 1); at > now; at = meter.readyAt(now, 1)) {
                now = events.isEmpty() ? at : Math.min(at, events.peek().at());
                happen(events, now, meter, server);
            }
            meter.take(now, 1, Phase.SENT);
            send(events, random, latency, call, permits, now);
        }
        happen(events, Long.MAX_VALUE, meter, server);
        return server;
    }

    private static void happen(
            PriorityQueue<Event> events, long until, WindowMeter meter, SimulatedWindowServer server) {
        while (!events.isEmpty() && events.peek().at() <= until) {
            events.poll().happen(meter, server);
        }
    }

    private static void send(
            PriorityQueue<Event> events, Random random, Latency latency, int call, int batch, long sentAt) {
        long there = (long) (latency.seconds(random, call, batch) * 1e9);
        long back = (long) (latency.seconds(random, call, batch) * 1e9);
        if (there < TIMEOUT) {
            events.add(new Event(sentAt + there, sentAt, null));
        }
        boolean answered = there + back < TIMEOUT;
        events.add(new Event(sentAt + Math.min(TIMEOUT, there + back), sentAt, answered ? Phase.HEADED : Phase.ENDED));
    }

    /** What happens to a request that was sent: it arrives, or its attempt goes on to another phase. */
    private record Event(long at, long sentAt, @Nullable Phase phase) {

        void happen(WindowMeter meter, SimulatedWindowServer server) {
            if (phase == null) {
                server.arrive(at);
            } else {
                meter.moved(at, 1, Phase.SENT, sentAt, sentAt, phase);
            }
        }
    }
}
