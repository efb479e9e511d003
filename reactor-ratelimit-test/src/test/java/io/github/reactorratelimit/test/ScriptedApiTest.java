package io.github.reactorratelimit.test;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.netty.RateLimitedHttpClient;
import java.io.EOFException;
import java.net.SocketException;
import java.time.Duration;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;
import reactor.netty.http.client.HttpClient;
import reactor.test.StepVerifier;

class ScriptedApiTest {

    private static final Duration PATIENCE = ofSeconds(60);
    private static final SimulatedRequest SEARCH = SimulatedRequest.get("/search?q=reactor");
    private static final SimulatedRequest ITEMS = SimulatedRequest.post("/items");

    private final ScriptedApi api = ScriptedApi.create();

    private static String line(SimulatedResponse response) {
        String wait = response.header("Retry-After");
        return response.status() + (wait == null ? "" : " " + wait) + " "
                + response.bodyAsString().block(PATIENCE);
    }

    private String answer(SimulatedRequest request) {
        return Objects.requireNonNull(
                api.call(request).map(ScriptedApiTest::line).block(PATIENCE));
    }

    @Test
    void each_endpoint_plays_its_own_replies_in_their_order() {
        api.script(
                        "/search",
                        Reply.status(429).retryAfter(ofSeconds(2)),
                        Reply.ok().body("found"))
                .script("POST /items", Reply.status(503).body("later"))
                .script("/search", Reply.status(204));

        assertThat(answer(SEARCH)).isEqualTo("429 2 {\"status\":429}");
        assertThat(answer(ITEMS)).isEqualTo("503 later");
        assertThat(answer(SEARCH)).isEqualTo("200 found");
        assertThat(answer(SEARCH)).startsWith("204");
        api.checkPlayed();
        assertThat(api.log().countsByStatus()).hasToString("{200=1, 204=1, 429=1, 503=1}");
    }

    @Test
    void a_time_to_wait_is_told_in_whole_seconds_and_never_too_short() {
        assertThat(Reply.status(429).retryAfter(ofMillis(1_001)).header("Retry-After"))
                .isEqualTo("2");
        assertThat(Reply.status(429).retryAfter(Duration.ZERO).header("retry-after"))
                .isEqualTo("0");
        assertThatThrownBy(() -> Reply.ok().retryAfter(ofMillis(-1)))
                .hasMessage("the time to retry after must not be negative, was PT-0.001S");
    }

    @Test
    void a_method_or_none_and_a_segment_in_braces_say_which_requests_are_meant() {
        api.script("DELETE /users/{id}", Reply.status(204))
                .script("/users/{id}", Reply.ok().body("anna"));

        assertThat(answer(SimulatedRequest.get("/users/1"))).isEqualTo("200 anna");
        assertThat(answer(SimulatedRequest.of("DELETE", "/users/2"))).startsWith("204");
        api.checkPlayed();
        assertThat(api.log().count("/users/{id}")).isEqualTo(2);
    }

    @Test
    void what_is_asked_beyond_the_script_fails_and_says_what_the_script_has() {
        api.script("/search", Reply.status(429).retryAfter(ofSeconds(2)), Reply.reset());
        answer(SEARCH);
        StepVerifier.create(api.call(SEARCH)).verifyError(SocketException.class);

        StepVerifier.create(api.call(SEARCH))
                .verifyErrorSatisfies(error -> assertThat(error)
                        .isInstanceOf(AssertionError.class)
                        .hasMessage("Request 3, GET /search, is beyond the script, which has "
                                + "/search [429 retryAfter 2, RESET]"));
        assertThat(api.log().count(501)).isEqualTo(1);
        assertThatThrownBy(api::checkPlayed).isInstanceOf(AssertionError.class).hasMessage("""
                The script was not played as it is written:
                  Request 3, GET /search, is beyond the script, which has /search [429 retryAfter 2, RESET]""");
    }

    @Test
    void an_endpoint_that_is_not_in_the_script_fails_and_says_which_are() {
        api.script("/search", Reply.ok()).script("POST /items", Reply.ok());

        StepVerifier.create(api.call(SimulatedRequest.get("/items")))
                .verifyErrorMessage("GET /items is not in the script, which has [/search [200], POST /items [200]]");
        StepVerifier.create(ScriptedApi.create().call(SEARCH))
                .verifyErrorMessage("GET /search is not in the script, which has nothing");
    }

    @Test
    void a_method_that_no_request_has_is_refused_where_it_is_written() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ScriptedApi.create().script("post /items", Reply.ok()))
                .withMessage("a method must be in upper case, was 'post'");
    }

    @Test
    void what_was_not_asked_is_told() {
        api.script("/search", Reply.status(429), Reply.ok(), Reply.hang()).script("/items", Reply.ok());
        answer(SEARCH);

        assertThatThrownBy(api::checkPlayed).isInstanceOf(AssertionError.class).hasMessage("""
                The script was not played as it is written:
                  /search: asked 1 time, its script has 3 replies, not asked for were [200, HANG]
                  /items: asked 0 times, its script has 1 reply, not asked for was [200]""");
    }

    @Test
    void what_is_always_answered_needs_not_be_asked_for() {
        api.script("/search", Reply.status(503)).always("/search", Reply.ok().body("again"));

        assertThat(answer(SEARCH)).startsWith("503");
        assertThatCode(api::checkPlayed).doesNotThrowAnyException();
        assertThat(answer(SEARCH)).isEqualTo("200 again");
        assertThat(answer(SEARCH)).isEqualTo("200 again");
        api.checkPlayed();
        assertThatThrownBy(() -> api.script("/search", Reply.ok()))
                .hasMessage("the script of an endpoint must not go on behind what it answers always,"
                        + " was /search [503], then always 200");
        assertThatThrownBy(() -> api.script("search", Reply.ok()))
                .hasMessage("a path must start with / and have no query, was search");
    }

    @Test
    void delays_slow_bodies_headers_and_faults_are_played_in_virtual_time() {
        api.script(
                "/search",
                Reply.ok().after(ofSeconds(3)).header("X-RateLimit-Reset", "17"),
                Reply.ok().body("slow").slowly(2, ofSeconds(1)),
                Reply.close(),
                Reply.ok().resetAfterHead());

        StepVerifier.withVirtualTime(() -> api.call(SEARCH))
                .expectSubscription()
                .expectNoEvent(ofSeconds(3))
                .assertNext(response ->
                        assertThat(response.header("x-ratelimit-reset")).isEqualTo("17"))
                .verifyComplete();
        StepVerifier.withVirtualTime(() -> api.call(SEARCH).flatMap(SimulatedResponse::bodyAsString))
                .expectSubscription()
                .expectNoEvent(ofSeconds(2))
                .expectNext("slow")
                .verifyComplete();
        StepVerifier.create(api.call(SEARCH)).verifyError(EOFException.class);
        StepVerifier.create(api.call(SEARCH).flatMap(SimulatedResponse::bodyAsString))
                .verifyError(SocketException.class);
        api.checkPlayed();
    }

    @Test
    @InVirtualTime
    void it_can_stand_at_a_distance_where_it_fails_as_clearly(VirtualTime time) {
        SimulatedService far =
                api.script("/search", Reply.ok()).simulate().on(time::scheduler).latency(ofMillis(30), ofMillis(20));
        StepVerifier both = StepVerifier.create(far.call(SEARCH).then(far.call(SEARCH)))
                .expectErrorMessage("Request 2, GET /search, is beyond the script, which has /search [200]")
                .verifyLater();

        time.advance(ofMillis(80));

        both.verify(Duration.ZERO);
    }

    @Test
    void over_http_it_plays_the_same_script_and_answers_501_beyond_it() {
        RateLimiter limiter = RateLimiter.of(Limit.total(10));
        api.script(
                "/search",
                Reply.status(429).retryAfter(Duration.ZERO),
                Reply.ok().body("found"));
        try (RateLimitedServer server = api.start()) {
            RateLimitedHttpClient client =
                    RateLimitedHttpClient.of(HttpClient.create().baseUrl(server.baseUrl()), limiter);
            Mono<String> search = client.get()
                    .uri("/search")
                    .responseSingle((head, body) ->
                            body.asString().map(text -> head.status().code() + " " + text));

            assertThat(search.block(PATIENCE)).isEqualTo("200 found");
            api.checkPlayed();
            assertThat(search.block(PATIENCE))
                    .isEqualTo(
                            "501 Request 3, GET /search, is beyond the script, which has /search [429 retryAfter 0, 200]");
            assertThat(server.log().count()).isEqualTo(3);
        }
        assertThatThrownBy(api::checkPlayed).hasMessageContaining("Request 3, GET /search");
    }

    @Test
    void a_limiter_obeys_the_script_in_virtual_time() {
        RateLimiter limiter = RateLimiter.of(Limit.of(5, ofSeconds(10)));
        api.script("/search", Reply.status(429).retryAfter(ofSeconds(2)), Reply.ok());

        StepVerifier.withVirtualTime(() -> api.call(SEARCH)
                        .transform(limiter.calls()
                                .responses(SimulatedResponse.class, Spiral.READER)
                                .limit()))
                .expectSubscription()
                .expectNoEvent(ofSeconds(2))
                .thenAwait(ofSeconds(1))
                .assertNext(response -> assertThat(response.status()).isEqualTo(200))
                .verifyComplete();
        api.checkPlayed();
        RateLimitAssertions.assertThat(api.log()).refusals(1).waitedAtLeast(ofSeconds(2), 2);
    }

    @Test
    @SuppressWarnings("NullAway") // What callers without it may do.
    void a_reply_for_always_has_to_be_one() {
        assertThatThrownBy(() -> ScriptedApi.create().always("/a", null)).hasMessage("reply");
    }
}
