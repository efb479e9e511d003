package io.github.reactorratelimit;

import static java.time.Duration.ofHours;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.signal.Headers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;
import reactor.test.subscriber.TestSubscriber;

/** Answers that don't match what was asked, batches of odd sizes, cancels, deadlines. */
class BatchEdgesTest extends BatchScript {

    private List<BatchOutcome<Answer>> run(
            List<Part> parts, Function<List<Part>, ? extends @Nullable Mono<? extends List<Answer>>> function) {
        TestSubscriber<List<BatchOutcome<Answer>>> result = TestSubscriber.create();
        batches()
                .send(parts, Demand.one(), some -> {
                    wire.add(
                            new Wire(time.elapsed(), some.stream().map(Part::id).toList()));
                    return function.apply(some);
                })
                .subscribe(result);
        time.advance(ofHours(1));
        return result.getReceivedOnNext().get(0);
    }

    private List<BatchOutcome<Answer>> once(List<Part> parts, Answer... answers) {
        return run(parts, some -> Mono.just(wire.size() == 1 ? Arrays.asList(answers) : List.of()));
    }

    // -------------------------------------------------------------------------------------------- strange answers

    @Test
    void of_two_answers_to_one_part_the_one_counts_that_says_that_it_was_served() {
        assertThat(texts(once(
                        List.of(post("w"), post("v")),
                        answer("w", 429, "Retry-After", "2"),
                        answer("w", 201),
                        answer("v", 201),
                        answer("v", 429))))
                .containsExactly("w=201 ×1", "v=201 ×1");
        assertThat(wire).hasSize(1);
    }

    @ParameterizedTest
    @CsvSource({"424, 200", "200, 424", "409, 201", "201, 409", "500, 201", "424, 409", "429, 500", "500, 424"})
    void of_two_answers_to_a_write_the_one_counts_that_says_more_surely_that_the_server_acted(int first, int second) {
        int surest = Math.min(first, second) < 400
                ? Math.min(first, second)
                : first == 409 || second == 409 ? 409 : Math.max(first, second);
        assertThat(texts(run(
                        List.of(get("a"), post("w", "a")),
                        some -> Mono.just(
                                wire.size() == 1
                                        ? List.of(answer("a", 502), answer("w", first), answer("w", second))
                                        : List.of(answer("a", 200), answer("w", 299))))))
                .containsExactly("a=200 ×2", "w=" + surest + " ×1");
        assertThat(wire).extracting(Wire::ids).containsExactly(List.of("a", "w"), List.of("a"));
    }

    @Test
    @SuppressWarnings("NullAway") // A list of somebody else's may hold anything.
    void answers_that_belong_to_no_part_and_answers_that_are_none_are_passed_over() {
        assertThat(texts(once(
                        List.of(get("a"), get("b")),
                        answer("z", 200),
                        answer("b", 200),
                        null,
                        answer("a", 204),
                        answer("c", 500))))
                .containsExactly("a=204 ×1", "b=200 ×1");
        assertThat(wire).hasSize(1);
    }

    @Test
    void a_batch_without_any_answer_leaves_writes_open_and_reads_are_tried_again_to_the_end() {
        for (Mono<List<Answer>> nothing : List.<Mono<List<Answer>>>of(Mono.just(List.of()), Mono.empty())) {
            wire.clear();
            List<BatchOutcome<Answer>> outcomes = run(List.of(get("r"), post("w")), some -> nothing);
            assertThat(texts(outcomes))
                    .containsExactly("none RetriesExhaustedException ×4", "none IllegalStateException ×1");
            assertThat(RateLimitException.mayHaveBeenSent(failure(outcomes.get(1))))
                    .isTrue();
            assertThat(wire).hasSize(4);
        }
    }

    @Test
    void a_function_that_gives_nothing_or_throws_fails_its_parts_with_that() {
        assertThat(texts(run(gets(2), some -> null)))
                .containsExactly("none NullPointerException ×1", "none NullPointerException ×1");
        assertThat(texts(run(gets(1), some -> {
                    throw new IllegalStateException("no client");
                })))
                .containsExactly("none IllegalStateException ×1");
        assertThat(texts(run(gets(1), some -> Mono.fromSupplier(() -> null).map(none -> List.of()))))
                .allMatch(text -> text.startsWith("none"));
    }

    @Test
    void an_answer_that_cannot_be_read_costs_no_other_part_its_own() {
        Reader reader = new Reader() {
            @Override
            public int status(Answer answer) {
                if (answer.id().equals("b")) {
                    throw new IllegalStateException("no status");
                }
                return super.status(answer);
            }
        };
        TestSubscriber<List<BatchOutcome<Answer>>> result = TestSubscriber.create();
        BatchRetry.of(calls(), reader)
                .send(List.of(post("a"), get("b"), post("c")), Demand.one(), this::answers)
                .subscribe(result);
        assertThat(texts(result.getReceivedOnNext().get(0)))
                .containsExactly("a=200 ×1", "none IllegalStateException ×1", "c=200 ×1");
    }

    @Test
    void a_part_without_an_id_is_no_part() {
        Reader reader = new Reader() {
            @Override
            @SuppressWarnings("NullAway")
            public Object id(Part part) {
                return null;
            }
        };
        TestSubscriber<List<BatchOutcome<Answer>>> result = TestSubscriber.create();
        BatchRetry.of(calls(), reader)
                .send(gets(1), Demand.one(), this::answers)
                .subscribe(result);
        assertThat(result.expectTerminalError()).isInstanceOf(NullPointerException.class);
        assertThat(wire).isEmpty();
    }

    // ------------------------------------------------------------------------------------------------- dependencies

    @Test
    void what_depends_on_a_later_part_is_sent_behind_it_and_stays_in_its_place() {
        assertThat(texts(run(get("c", "b"), get("b", "a"), get("a"), get("d"))))
                .containsExactly("c=200 ×1", "b=200 ×1", "a=200 ×1", "d=200 ×1");
        assertThat(wire).extracting(Wire::ids).containsExactly(List.of("a", "b", "c", "d"));
    }

    @Test
    void a_row_of_a_thousand_parts_that_depend_on_each_other_goes_through_in_turn() {
        most = 1;
        List<Part> row = new ArrayList<>();
        for (int i = 999; i >= 0; i--) {
            row.add(i == 0 ? get("0") : get("" + i, "" + (i - 1)));
        }
        assertThat(run(row)).hasSize(1_000).allMatch(outcome -> outcome.sends() == 1);
        assertThat(wire).hasSize(1_000);
    }

    @Test
    void a_child_waits_for_all_its_parents() {
        then("a", 429, "Retry-After", "2").then("b", 502).then("c", 424);
        assertThat(texts(run(get("a"), get("b"), get("c", "a", "b"))))
                .containsExactly("a=200 ×2", "b=200 ×2", "c=200 ×2");
        assertThat(wire).extracting(Wire::ids).containsExactly(List.of("a", "b", "c"), List.of("a", "b"), List.of("c"));
    }

    @Test
    void a_424_without_a_reason_is_an_answer_like_any_other() {
        then("a", 424).then("c", 424);
        assertThat(texts(run(get("a"), get("b"), get("c", "b")))).containsExactly("a=424 ×1", "b=200 ×1", "c=424 ×1");
        assertThat(wire).hasSize(1);
    }

    @Test
    void a_child_that_was_never_sent_waits_for_a_parent_that_failed() {
        most = 1;
        then("a", 502);
        assertThat(texts(run(get("a"), get("b", "a")))).containsExactly("a=200 ×2", "b=200 ×1");
        assertThat(wire).extracting(Wire::ids).containsExactly(List.of("a"), List.of("a"), List.of("b"));
    }

    // -------------------------------------------------------------------------------------------------------- sizes

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 19, 20, 21, 100})
    void of_any_number_of_parts_each_is_sent_once(int count) {
        assertThat(run(gets(count))).hasSize(count).allMatch(outcome -> outcome.sends() == 1);
        assertThat(wire).hasSize((count + 19) / 20);
    }

    @Test
    void under_a_spaced_limit_a_batch_is_no_larger_than_its_burst() {
        limiter = time.limiter(Limit.of(100, ofSeconds(10)).burst(4));
        assertThat(run(gets(10)))
                .allMatch(outcome -> outcome.sends() == 1 && outcome.failure().isEmpty());
    }

    @Test
    void under_a_bucket_a_batch_is_no_larger_than_it_holds() {
        limiter = time.limiter(Limit.bucket(4, 1, ofSeconds(1)));
        assertThat(run(gets(10)))
                .allMatch(outcome -> outcome.sends() == 1 && outcome.failure().isEmpty());
        assertThat(wire).extracting(each -> each.ids().size()).containsExactly(4, 4, 2);
    }

    @Test
    void a_learned_quota_that_is_smaller_than_a_batch_does_not_hold_it_up_for_ever() {
        limiter = time.spec().learn().build();
        then("p1", 200, "RateLimit-Limit", "5", "RateLimit-Remaining", "4", "RateLimit-Reset", "10");
        run(gets(1));
        assertThat(run(gets(12))).allMatch(outcome -> outcome.failure().isEmpty());
    }

    @Test
    void a_limit_in_flight_that_is_smaller_than_the_batch_is_never_passed() {
        limiter = time.limiter(Limit.inFlight(3));
        takes = ofSeconds(2);
        assertThat(run(gets(8))).allMatch(outcome -> outcome.sends() == 1);
        assertThat(wire).extracting(Wire::at).containsExactly(ofSeconds(0), ofSeconds(2), ofSeconds(4));
    }

    @Test
    void the_cost_of_each_part_counts_and_only_for_what_is_sent_again() {
        limiter = time.spec().limit(Limit.of(100, ofHours(1)).unit("points")).build();
        then("p2", 429, "Retry-After", "1");
        TestSubscriber<List<BatchOutcome<Answer>>> result = start(Demand.one().cost("points", 7), gets(3));
        time.advance(ofSeconds(5));
        assertThat(result.getReceivedOnNext()).hasSize(1);
        assertThat(limiter.snapshot().root().limits().get(0).available()).isEqualTo(100 - 4 * 7);
    }

    // ------------------------------------------------------------------------------------------- cancels, deadlines

    @Test
    void a_cancel_in_flight_is_charged_and_holds_nothing() {
        limiter = time.limiter(Limit.inFlight(5), Limit.of(50, ofHours(1)));
        takes = ofSeconds(9);
        TestSubscriber<List<BatchOutcome<Answer>>> result = start(Demand.one(), gets(5));
        time.advance(ofSeconds(1));
        result.cancel();
        time.advance(ofMinutes(1));
        assertThat(limiter.snapshot().root().limits())
                .extracting(RateLimiterSnapshot.LimitState::available)
                .containsExactly(5L, 45L);
        assertThat(wire).hasSize(1);
    }

    @Test
    void a_cancel_between_two_rounds_takes_nothing_for_the_next() {
        limiter = time.limiter(Limit.of(50, ofHours(1)));
        then("p1", 502).then("p2", 429, "Retry-After", "5");
        TestSubscriber<List<BatchOutcome<Answer>>> result = start(Demand.one(), gets(5));
        time.advance(Duration.ofMillis(10));
        result.cancel();
        time.advance(ofMinutes(1));
        assertThat(limiter.snapshot().root().limits().get(0).available()).isEqualTo(45);
        assertThat(limiter.snapshot().waiting()).isZero();
        assertThat(time.timers()).isZero();
        assertThat(wire).hasSize(1);
    }

    @Test
    void a_cancel_before_the_permit_takes_nothing() {
        limiter = time.limiter(Limit.of(5, ofHours(1)));
        limiter.tryAcquire();
        TestSubscriber<List<BatchOutcome<Answer>>> result = start(Demand.one(), gets(5));
        result.cancel();
        assertThat(limiter.snapshot().root().limits().get(0).available()).isEqualTo(4);
        time.advance(ofHours(2));
        assertThat(wire).isEmpty();
    }

    @Test
    void the_deadline_of_each_part_counts_from_the_subscription_even_if_it_waited_for_another() {
        policy = RetryPolicy.standard().deadline(ofSeconds(10));
        most = 1;
        takes = ofSeconds(6);
        assertThat(texts(run(get("a"), get("b", "a")))).containsExactly("a=200 ×1", "none RateLimitedException ×1");
        assertThat(wire).hasSize(2);
        assertThat(time.elapsed()).isEqualTo(ofHours(2));
    }

    @Test
    void how_long_a_demand_waits_at_most_holds_for_the_first_permit_only() {
        limiter = time.limiter(Limit.of(3, ofSeconds(10)));
        then("p1", 429, "Retry-After", "5");
        assertThat(texts(run(Demand.one().maxWait(Duration.ZERO), gets(3))))
                .containsExactly("p1=200 ×2", "p2=200 ×1", "p3=200 ×1");
        limiter.tryAcquire();
        assertThat(texts(run(Demand.one().maxWait(ofSeconds(1)), gets(3))))
                .allMatch(text -> text.equals("none RateLimitedException ×0"));
    }

    @Test
    void a_part_that_is_first_sent_while_others_are_sent_again_waits_no_longer_than_it_may() {
        most = 2;
        then("c", 429, "Retry-After", "60");
        TestSubscriber<List<BatchOutcome<Answer>>> result =
                start(Demand.one().maxWait(ofSeconds(5)), List.of(get("a"), get("c"), get("b", "a")));
        time.advance(ofHours(1));
        assertThat(texts(result.getReceivedOnNext().get(0)))
                .containsExactly("a=200 ×1", "c=200 ×2", "none RateLimitedException ×0");
        assertThat(wire).containsExactly(at(ofSeconds(0), "a", "c"), at(ofSeconds(60), "c"));
    }

    @Test
    void a_part_that_may_not_wait_does_not_have_to_for_the_backoff_of_others() {
        most = 2;
        then("c", 502);
        TestSubscriber<List<BatchOutcome<Answer>>> result =
                start(Demand.one().maxWait(Duration.ZERO), List.of(get("a"), get("c"), get("b", "a")));
        time.advance(ofHours(1));
        assertThat(texts(result.getReceivedOnNext().get(0))).containsExactly("a=200 ×1", "c=200 ×2", "b=200 ×1");
        assertThat(wire)
                .containsExactly(at(ofSeconds(0), "a", "c"), at(ofSeconds(0), "b"), at(Duration.ofMillis(50), "c"));
    }

    @Test
    void fail_fast_batches_fail_instead_of_waiting() {
        limiter = time.limiter(Limit.of(3, ofSeconds(10)));
        limiter.tryAcquire();
        TestSubscriber<List<BatchOutcome<Answer>>> result = TestSubscriber.create();
        BatchRetry.of(calls().failFast(), new Reader())
                .send(gets(3), Demand.one(), this::answers)
                .subscribe(result);
        assertThat(texts(result.getReceivedOnNext().get(0))).allMatch(text -> text.contains("RateLimitedException"));
    }

    @Test
    void parts_have_their_attempts_each_for_itself() {
        policy = RetryPolicy.attempts(3);
        then("a", 502)
                .then("a", 502)
                .then("a", 502)
                .then("b", 429)
                .then("b", 502)
                .then("b", 502);
        assertThat(texts(run(get("a"), get("b"), get("c"))))
                .containsExactly("a=502 RetriesExhaustedException ×3", "b=200 ×4", "c=200 ×1");
    }

    @Test
    void each_part_that_succeeds_returns_to_the_retry_budget_once() {
        RetryBudget budget = RetryBudget.of(100, 10, 1);
        policy = RetryPolicy.standard().budget(budget);
        then("p1", 502).then("p2", 502).then("p3", 502);
        run(gets(3));
        assertThat(budget.left()).isEqualTo(100 - 30 + 3);
    }

    @Test
    void a_demand_that_lacks_an_attribute_fails_every_part_with_its_name() {
        limiter = time.spec()
                .scope(Scope.by("user").limits(Limit.of(5, ofSeconds(1))))
                .build();
        assertThat(run(gets(2)))
                .allSatisfy(outcome -> assertThat(failure(outcome)).hasMessageContaining("user"));
    }

    @Test
    void headers_are_read_once_per_answer() {
        List<String> read = Collections.synchronizedList(new ArrayList<>());
        Reader reader = new Reader() {
            @Override
            public Headers headers(Answer answer) {
                read.add(answer.id());
                return super.headers(answer);
            }
        };
        BatchRetry.of(calls(), reader)
                .send(gets(3), Demand.one(), this::answers)
                .subscribe();
        assertThat(read).containsExactlyInAnyOrder("p1", "p2", "p3");
    }
}
