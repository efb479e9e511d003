package io.github.reactorratelimit;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import java.net.SocketException;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import reactor.test.subscriber.TestSubscriber;

/** What listeners, meters and the function itself are told of the attempts of a batch. */
class BatchToldTest extends BatchScript {

    private final Told told = new Told();

    @BeforeEach
    void somebody_listens() {
        limiter = time.spec().random(() -> 0.5).listener(told).build();
        told.take();
    }

    @Test
    void a_batch_that_goes_through_is_one_attempt_and_each_part_one_answer() {
        takes = ofSeconds(2);
        run(gets(2));
        assertThat(told.take())
                .containsExactly(
                        "1 begins for nobody",
                        "1 asked",
                        "1 granted after PT0S",
                        "1 sent",
                        "1 answered 200",
                        "1 answered 200",
                        "1 released after PT2S DONE",
                        "1 is over by its own listener");
    }

    @Test
    void parts_that_are_sent_again_are_the_next_attempt() {
        then("p2", 429, "Retry-After", "5").then("p2", 503);
        run(gets(3));
        assertThat(told.take())
                .containsExactly(
                        "1 begins for nobody",
                        "1 asked",
                        "1 granted after PT0S",
                        "1 sent",
                        "1 answered 200",
                        "1 answered 200",
                        "1 answered 429",
                        "1 throttled 429 for PT5S",
                        "closed [] for PT5S, PT5S more, REFUSED",
                        "1 again as 2, THROTTLED, in PT5S",
                        "1 released after PT0S DONE",
                        "1 is over by its own listener",
                        "2 begins for nobody",
                        "2 asked",
                        "2 waits for null behind 0 for PT5S",
                        "opened []",
                        "2 granted after PT5S",
                        "2 sent",
                        "2 answered 503",
                        "closed [] for PT0.25S, PT0.25S more, UNAVAILABLE",
                        "2 again as 3, UNAVAILABLE, in PT0.25S",
                        "2 released after PT0S DONE",
                        "2 is over by its own listener",
                        "3 begins for nobody",
                        "3 asked",
                        "3 waits for null behind 0 for PT0.25S",
                        "opened []",
                        "3 granted after PT0.25S",
                        "3 sent",
                        "3 answered 200",
                        "3 released after PT0S DONE",
                        "3 is over by its own listener");
        assertThat(seen).containsExactly("1 after PT0S", "2 after PT5S", "3 after PT0.25S");
    }

    @Test
    void each_part_that_is_given_up_is_told_before_the_release() {
        policy = RetryPolicy.attempts(1);
        then("p1", 502).then("p3", 500);
        run(gets(3));
        assertThat(told.take())
                .containsSubsequence("1 exhausted by 1", "1 exhausted by 1", "1 released after PT0S DONE")
                .noneMatch(line -> line.contains("again"));
    }

    @Test
    void a_batch_that_fails_as_a_whole_and_goes_on_fails_for_nobody() {
        thenFails(new SocketException("reset"));
        run(get("r"), post("w"));
        assertThat(told.take())
                .containsSubsequence(
                        "1 sent",
                        "1 again as 2, INTERRUPTED, in PT0.05S",
                        "1 released after PT0S DONE",
                        "2 asked",
                        "2 granted after PT0.05S")
                .noneMatch(line -> line.contains("failed"));
    }

    @Test
    void a_batch_that_fails_as_a_whole_and_for_good_is_told_as_failed() {
        thenFails(new SocketException("reset"));
        run(post("w"));
        assertThat(told.take()).containsSubsequence("1 sent", "1 failed SocketException", "1 released after PT0S DONE");
    }

    @Test
    void a_batch_that_times_out_is_told_like_any_attempt() {
        takes = ofSeconds(60);
        policy = RetryPolicy.attempts(2).attemptTimeout(ofSeconds(5));
        run(get("r"));
        assertThat(told.take())
                .containsSubsequence(
                        "1 again as 2, INTERRUPTED, in PT0.05S",
                        "1 released after PT5S DONE",
                        "2 granted after PT0.05S",
                        "2 exhausted by 2",
                        "2 failed AttemptTimeoutException",
                        "2 released after PT5S DONE");
    }

    @Test
    void a_cancel_in_flight_is_told() {
        takes = ofSeconds(60);
        TestSubscriber<List<BatchOutcome<Answer>>> result = start(Demand.one(), gets(2));
        time.advance(ofSeconds(3));
        result.cancel();
        assertThat(told.take()).endsWith("1 released after PT3S CANCELLED", "1 is over by its own listener");
    }

    @Test
    void a_batch_that_is_cut_because_a_limit_is_smaller_is_refused_to_nobody() {
        limiter = time.spec()
                .limit(Limit.of(1_000, ofSeconds(10)), Limit.inFlight(5))
                .lane("background", Share.of(0.5))
                .listener(told)
                .build();
        batches()
                .send(gets(4), Demand.one(), this::answers)
                .contextWrite(RateLimitContext.lane("background"))
                .subscribe();
        assertThat(wire).extracting(each -> each.ids().size()).containsExactly(2, 2);
        assertThat(told.take()).noneMatch(line -> line.contains("refused"));
    }

    @Test
    void parts_of_different_history_in_one_batch_are_an_attempt_of_the_oldest() {
        then("p1", 429, "Retry-After", "1").then("p1", 429, "Retry-After", "1").then("p2", 0);
        run(gets(2));
        assertThat(seen).extracting(text -> text.substring(0, 1)).containsExactly("1", "2", "3");
    }
}
