package io.github.reactorratelimit;

import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.signal.Dialect;
import io.github.reactorratelimit.signal.Dialects;
import io.github.reactorratelimit.signal.Headers;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Every part of a batch is heard for itself: by its own scope and its own quota, before anybody gets a permit. */
class BatchSignalsTest extends BatchScript {

    private static final Demand ANNA = Demand.of("user", "anna");
    private static final Demand BEN = Demand.of("user", "ben");

    private final Told told = new Told();
    private double random = 0;

    private RateLimiterSpec spec() {
        return time.spec().random(() -> random).listener(told);
    }

    private RateLimiterSpec graph(Limit... ofAll) {
        return spec().limit(ofAll)
                .scope(Scope.by("user").limits(Limit.of(1_000, ofMinutes(1))))
                .dialect(Dialects.microsoftGraph());
    }

    /** Standard headers, and how full the server says it is. */
    private static Dialect figures() {
        return Dialects.standard().adjust((signal, headers) -> {
            String usage = headers.first("X-Usage");
            return usage == null
                    ? signal
                    : signal.toBuilder().usage(Double.parseDouble(usage)).build();
        });
    }

    @BeforeEach
    void a_limiter_of_the_whole_application_and_of_each_user() {
        limiter = graph(Limit.of(1_000, ofMinutes(1))).build();
    }

    private Duration when(Demand demand) {
        Asked asked = time.ask(limiter, demand);
        Duration from = time.elapsed();
        time.advance(ofMinutes(5));
        return Objects.requireNonNull(asked.at()).minus(from);
    }

    @Test
    void a_refusal_of_the_user_and_one_of_the_application_in_one_answer_close_both() {
        then("p1", 429, "Retry-After", "20", "x-ms-throttle-scope", "User")
                .then("p2", 429, "Retry-After", "5", "x-ms-throttle-scope", "Application");
        start(ANNA, gets(2));
        Asked anna = time.ask(limiter, ANNA);
        Asked ben = time.ask(limiter, BEN);
        time.advance(ofSeconds(5));
        assertThat(ben.at()).isEqualTo(ofSeconds(5));
        ben.permit().release();
        time.advance(ofMinutes(1));
        assertThat(anna.at()).isEqualTo(ofSeconds(20));
        assertThat(wire).containsExactly(at(ofSeconds(0), "p1", "p2"), at(ofSeconds(20), "p1", "p2"));
    }

    @Test
    void a_refusal_of_the_application_is_heard_though_the_users_is_shorter() {
        then("p1", 429, "Retry-After", "5", "x-ms-throttle-scope", "User")
                .then("p2", 429, "Retry-After", "20", "x-ms-throttle-scope", "Application");
        start(ANNA, gets(2));
        Asked ben = time.ask(limiter, BEN);
        time.advance(ofSeconds(20));
        assertThat(ben.at()).isEqualTo(ofSeconds(20));
        ben.permit().release();
        assertThat(wire.get(1).at()).isEqualTo(ofSeconds(20));
    }

    @Test
    void several_refusals_in_one_answer_are_one_wave() {
        limiter = spec().build();
        then("p1", 429)
                .then("p2", 429)
                .then("p3", 429)
                .then("p1", 429)
                .then("p2", 429)
                .then("p3", 429);
        run(gets(3));
        assertThat(wire).extracting(Wire::at).containsExactly(ofSeconds(0), ofSeconds(1), ofSeconds(3));
    }

    @Test
    void a_refusal_without_a_hint_beside_one_with_a_shorter_hint_waits_for_the_hint() {
        limiter = spec().build();
        then("p1", 429).then("p2", 429, "retry-after-ms", "300");
        run(gets(2));
        assertThat(wire.get(1).at()).isEqualTo(Duration.ofMillis(300));
    }

    @Test
    void a_quota_that_one_good_part_tells_to_be_empty_closes_although_another_part_failed() {
        limiter = spec().limit(Limit.of(1_000, ofMinutes(1))).build();
        then("p1", 200, "X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "30")
                .then("p2", 502);
        start(Demand.one(), gets(2));
        assertThat(when(Demand.one())).isEqualTo(ofSeconds(30));
    }

    @Test
    void the_lowest_of_what_the_parts_say_remains_is_learned_though_one_was_refused() {
        limiter = spec().learn().build();
        then("p1", 200, "RateLimit-Limit", "10", "RateLimit-Remaining", "4", "RateLimit-Reset", "60")
                .then("p2", 200, "RateLimit-Limit", "10", "RateLimit-Remaining", "3", "RateLimit-Reset", "60")
                .then("p3", 404);
        start(Demand.one(), gets(3));
        List<Asked> asked = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            asked.add(time.ask(limiter));
        }
        assertThat(asked.stream().filter(Asked::isGranted)).hasSize(3);
    }

    @Test
    void a_part_that_says_nothing_of_a_quota_does_not_forget_what_another_part_says() {
        limiter = spec().learn().build();
        then("p2", 200)
                .then("p1", 200, "RateLimit-Limit", "10", "RateLimit-Remaining", "3", "RateLimit-Reset", "60")
                .then("p2", 200)
                .then("p1", 200, "RateLimit-Limit", "10", "RateLimit-Remaining", "6", "RateLimit-Reset", "60");
        run(gets(2));
        time.advance(ofMinutes(2));
        start(Demand.one(), gets(2));
        List<Asked> asked = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            asked.add(time.ask(limiter));
        }
        assertThat(asked.stream().filter(Asked::isGranted)).hasSize(6);
    }

    @Test
    void a_usage_figure_of_one_part_slows_down_though_later_parts_have_none() {
        limiter = spec().limit(Limit.inFlight(20)).dialect(figures()).build();
        then("p1", 200, "X-Usage", "0.9").then("p2", 200, "X-Usage", "0.85").then("p4", 404);
        run(gets(5));
        List<Asked> asked = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            asked.add(time.ask(limiter));
        }
        assertThat(asked.stream().filter(Asked::isGranted)).hasSize(2); // half of the four batches of five that fit
    }

    @Test
    void usage_figures_beside_a_refusal_of_somebody_else_are_heard_too() {
        limiter = spec().limit(Limit.inFlight(20))
                .scope(Scope.by("user").limits(Limit.inFlight(20)))
                .dialect(figures()
                        .adjust((signal, headers) -> signal.toBuilder()
                                .scope(headers.first("X-Scope"))
                                .build()))
                .build();
        then("p1", 429, "Retry-After", "3", "X-Scope", "user")
                .then("p2", 200, "X-Usage", "0.9", "X-Scope", "application");
        start(ANNA, gets(2)).cancel();
        List<Asked> asked = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            asked.add(time.ask(limiter, BEN));
        }
        assertThat(asked.stream().filter(Asked::isGranted)).hasSize(5); // half of the ten batches of two that fit
    }

    @Test
    void good_parts_beside_a_refused_one_do_not_end_the_ramp_that_it_begins() {
        limiter = spec().limit(Limit.of(1_000, ofMinutes(1))).build();
        then("p1", 429);
        then("p1", 429);
        start(Demand.one(), gets(20));
        time.advance(ofSeconds(1));
        assertThat(told.take().stream().filter(line -> line.startsWith("closed ")))
                .containsExactly("closed [] for PT1S, PT1S more, REFUSED", "closed [] for PT2S, PT2S more, REFUSED");
    }

    @Test
    void a_clean_batch_is_one_clean_answer_to_the_ramp() {
        limiter = spec().limit(Limit.of(1_000, ofMinutes(1))).build();
        limiter.tryAcquire()
                .permit()
                .complete(RateLimitSignal.of(429).throttled(true).build());
        time.advance(ofSeconds(2));
        start(Demand.one(), gets(20));
        List<Asked> asked = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            asked.add(time.ask(limiter));
        }
        assertThat(asked.stream().filter(Asked::isGranted)).hasSize(2);
    }

    @Test
    void nobody_gets_a_permit_between_the_first_part_and_the_last() {
        limiter = spec().limit(Limit.inFlight(3)).build();
        takes = ofSeconds(1);
        then("p1", 429, "Retry-After", "9");
        start(Demand.one(), gets(3));
        Asked other = time.ask(limiter);
        time.advance(ofSeconds(30));
        assertThat(other.at()).isGreaterThanOrEqualTo(ofSeconds(10));
    }

    @Test
    void each_part_that_the_server_fails_counts_for_the_breaker() {
        limiter = spec().breaker().limit(Limit.of(1_000, ofMinutes(1))).build();
        for (int i = 1; i <= 12; i++) {
            then("p" + i, 500);
        }
        start(Demand.one(), gets(12).stream().map(part -> post(part.id())).toList());
        assertThat(when(Demand.one())).isEqualTo(ofSeconds(30));
    }

    @ParameterizedTest
    @CsvSource({"4, 20, 10, 0", "0, 20, 10, 30", "0, 21, 10, 0", "4, 14, 9, 30", "0, 200, 80, 0", "0, 200, 100, 30"})
    void whether_a_batch_opens_the_breaker_is_a_matter_of_how_many_fail_and_of_no_order(
            int good, int size, int failures, int rests) {
        limiter = spec().breaker().limit(Limit.of(1_000, ofMinutes(1))).build();
        most = size;
        for (int i = 0; i < good; i++) {
            start(Demand.one(), List.of(post("good")));
        }
        for (int i = 1; i <= failures; i++) {
            then("p" + i, 500);
        }
        start(Demand.one(), gets(size).stream().map(part -> post(part.id())).toList());
        assertThat(when(Demand.one())).isEqualTo(ofSeconds(rests));
    }

    @ParameterizedTest
    @CsvSource({"4, 0", "5, 30"})
    void a_batch_on_trial_fails_if_half_of_it_does(int failures, int rests) {
        limiter = spec().breaker().limit(Limit.of(1_000, ofMinutes(1))).build();
        for (int i = 1; i <= 10; i++) {
            then("p" + i, 500);
            if (i <= failures) {
                then("p" + i, 500);
            }
        }
        List<Part> parts = gets(10).stream().map(part -> post(part.id())).toList();
        start(Demand.one(), parts);
        time.advance(ofSeconds(30));
        start(Demand.one(), parts);
        assertThat(when(Demand.one())).isEqualTo(ofSeconds(rests));
    }

    @Test
    void only_the_parts_that_the_server_does_not_count_are_given_back() {
        limiter = spec().limit(Limit.of(100, ofMinutes(1)))
                .dialect(Dialects.standard()
                        .adjust((signal, headers) -> signal.status() == 304
                                ? signal.toBuilder().cost(0).build()
                                : signal))
                .build();
        then("p1", 304).then("p2", 304);
        start(Demand.one().cost(2), gets(5));
        assertThat(limiter.snapshot().root().limits().get(0).available()).isEqualTo(100 - 3 * 2);
    }

    @Test
    void a_reader_of_any_object_is_not_asked_about_batches() {
        List<Object> asked = new ArrayList<>();
        ResponseReader<Object> greedy = new ResponseReader<>() {
            @Override
            public int status(Object response) {
                asked.add(response);
                return 200;
            }

            @Override
            public Headers headers(Object response) {
                return Headers.of();
            }
        };
        limiter = spec().build();
        then("p1", 429, "Retry-After", "7");
        BatchRetry.of(limiter.calls().responses(Object.class, greedy), new Reader())
                .send(gets(1), Demand.one(), this::answers)
                .subscribe();
        assertThat(when(Demand.one())).isEqualTo(ofSeconds(7));
        assertThat(asked).isEmpty();
    }
}
