package io.github.reactorratelimit;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.signal.Dialects;
import io.github.reactorratelimit.signal.Headers;
import io.github.reactorratelimit.signal.Quota;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import reactor.core.publisher.Mono;

/** A usage figure slows its scope before anybody is refused. */
class SoftThrottleTest {

    private static final RateLimitSignal OK = RateLimitSignal.none(200);

    private final VirtualTime time = new VirtualTime();

    private static RateLimitSignal used(double share) {
        return RateLimitSignal.of(200).usage(share).build();
    }

    private List<Asked> ask(RateLimiter limiter, Demand demand, int times) {
        return IntStream.range(0, times)
                .mapToObj(i -> time.ask(limiter, demand))
                .toList();
    }

    private List<Asked> ask(RateLimiter limiter, int times) {
        return ask(limiter, Demand.one(), times);
    }

    private static long out(List<Asked> all) {
        return all.stream().filter(Asked::isGranted).count();
    }

    @ParameterizedTest
    @CsvSource({"0.79, 20", "0.8, 20", "0.85, 15", "0.9, 10", "0.95, 5", "0.99, 1", "1.0, 1", "1.8, 1"})
    void from_eighty_percent_on_fewer_go_at_once_down_to_one(double usage, long atOnce) {
        RateLimiter limiter = time.limiter(Limit.inFlight(20));
        Permit first = limiter.tryAcquire().permit();
        first.complete(used(usage));
        assertThat(out(ask(limiter, 50))).isEqualTo(atOnce);
    }

    @Test
    void it_recovers_when_the_figure_falls() {
        RateLimiter limiter = time.limiter(Limit.inFlight(20));
        limiter.tryAcquire().permit().complete(used(1.1));
        List<Asked> asked = ask(limiter, 50);
        asked.get(0).permit().complete(used(0.9));
        assertThat(out(asked.subList(1, 50))).isEqualTo(2);
        asked.subList(1, 3).forEach(one -> one.permit().complete(used(0.9)));
        assertThat(out(asked.subList(3, 50))).isEqualTo(4);
        asked.subList(3, 7).forEach(one -> one.permit().complete(used(0.9)));
        asked.subList(7, 15).forEach(one -> one.permit().complete(used(0.9)));
        assertThat(out(asked.subList(15, 50)))
                .as("no more than the figure allows")
                .isEqualTo(10);
    }

    @Test
    void it_recovers_when_the_figure_stops_coming() {
        RateLimiter limiter = time.limiter(Limit.inFlight(4));
        limiter.tryAcquire().permit().complete(used(1));
        List<Asked> asked = ask(limiter, 50);
        assertThat(out(asked)).isEqualTo(1);
        asked.get(0).permit().complete(OK);
        asked.subList(1, 3).forEach(one -> one.permit().complete(OK));
        assertThat(out(asked.subList(3, 50))).as("as many as before").isEqualTo(4);
    }

    @Test
    void an_answer_asked_for_before_tightens_but_gives_no_all_clear() {
        RateLimiter limiter = time.limiter(Limit.inFlight(20));
        List<Asked> before = ask(limiter, 4);
        before.get(0).permit().complete(used(0.9));
        before.get(1).permit().complete(OK);
        before.get(2).permit().complete(used(0.95));
        before.get(3).permit().complete(used(0.85));
        assertThat(out(ask(limiter, 50))).isEqualTo(5);
    }

    @Test
    void a_failure_does_not_widen_it() {
        RateLimiter limiter = time.limiter(Limit.inFlight(20));
        limiter.tryAcquire().permit().complete(used(1));
        List<Asked> asked = ask(limiter, 50);
        asked.get(0).permit().complete(RateLimitSignal.none(503));
        assertThat(out(asked.subList(1, 50))).isEqualTo(1);
    }

    @Test
    void graphs_percentage_slows_the_scope_that_it_names() {
        RateLimiter limiter =
                time.spec().scope(Scope.by("user").limits(Limit.inFlight(5))).build();
        Headers headers = Headers.of("x-ms-throttle-limit-percentage", "1.0", "x-ms-throttle-scope", "User");
        limiter.tryAcquire(Demand.of("user", "a"))
                .permit()
                .complete(Dialects.microsoftGraph().read(200, headers, 0));
        assertThat(out(ask(limiter, Demand.of("user", "a"), 9))).isEqualTo(1);
        assertThat(out(ask(limiter, Demand.of("user", "b"), 9))).isEqualTo(5);
    }

    @Test
    void a_count_of_what_is_used_without_a_reset_is_a_figure_too() {
        RateLimiter limiter = time.limiter(Limit.inFlight(10));
        Quota bucket = new Quota("", "requests", 40, -1, 36, null, null, null);
        limiter.tryAcquire()
                .permit()
                .complete(RateLimitSignal.of(200).quotas(List.of(bucket)).build());
        assertThat(out(ask(limiter, 50))).isEqualTo(5);
    }

    @Test
    void without_a_limit_on_calls_in_flight_those_that_were_out_are_the_measure() {
        RateLimiter limiter = time.spec()
                .limit(Limit.of(1_000, ofSeconds(1)))
                .dialect(Dialects.microsoftGraph())
                .build();
        List<Recorded> running =
                IntStream.range(0, 8).mapToObj(i -> new Recorded(limiter)).toList();
        running.get(0).answer(0.9);
        List<Recorded> next =
                IntStream.range(0, 8).mapToObj(i -> new Recorded(limiter)).toList();
        assertThat(next.stream().filter(one -> one.running)).hasSize(4);
    }

    /** A call of an adapter, whose head is told by hand. */
    private static final class Recorded {

        private boolean running;
        private @Nullable Exchange exchange;

        Recorded(RateLimiter limiter) {
            limiter.calls()
                    .exchange(Demand.one(), attempt -> {
                        running = true;
                        exchange = attempt;
                        attempt.sent();
                        return Mono.never();
                    })
                    .subscribe();
        }

        void answer(double usage) {
            Objects.requireNonNull(exchange)
                    .head(200, Headers.of("x-ms-throttle-limit-percentage", Double.toString(usage)));
        }
    }
}
