package io.github.reactorratelimit;

import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.signal.Dialects;
import io.github.reactorratelimit.signal.Headers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

class PresetsTest {

    private static final Demand USER = Demand.of("user", "anna");
    private static final Demand GET = Demand.of("token", "t").and("method", "GET");
    private static final Demand ISSUES = GET.and("endpoint", "/repos/{owner}/{repo}/issues");

    private final VirtualTime time = new VirtualTime();

    private RateLimiter build(RateLimiterSpec spec) {
        return spec.scheduler(time::scheduler).build();
    }

    private static List<Limit> limits(RateLimiterSpec spec, int scope, String key) {
        return spec.scopes().get(scope).limitsOf(key, Map.of());
    }

    /** How many go at once and end at once. */
    private static int passes(RateLimiter limiter, Demand demand) {
        int passed = 0;
        Decision decision = limiter.tryAcquire(demand);
        while (decision.allowed()) {
            decision.permit().release();
            passed++;
            decision = limiter.tryAcquire(demand);
        }
        return passed;
    }

    /** How many go at once and are not over. */
    private static int holds(RateLimiter limiter, Demand demand) {
        int held = 0;
        while (limiter.tryAcquire(demand).allowed()) {
            held++;
        }
        return held;
    }

    @Test
    void one_note_has_all_six_limits() {
        RateLimiterSpec spec = Presets.oneNote();
        assertThat(spec.rootLimits())
                .containsExactly(Limit.of(240, ofMinutes(1)), Limit.of(800, ofHours(1)), Limit.inFlight(20));
        assertThat(limits(spec, 0, "anna"))
                .containsExactly(Limit.of(120, ofMinutes(1)), Limit.of(400, ofHours(1)), Limit.inFlight(5));
        assertThat(spec.dialect().toString())
                .isEqualTo(Dialects.microsoftGraph().toString());
    }

    @Test
    void the_halves_of_one_note_are_cuts_of_it() {
        RateLimiterSpec whole = Presets.oneNote();
        RateLimiterSpec users = Presets.oneNoteForUsers();
        RateLimiterSpec application = Presets.oneNoteForApplication();
        assertThat(application.rootLimits()).isEqualTo(whole.rootLimits());
        assertThat(application.scopes()).isEmpty();
        assertThat(users.rootLimits()).isEmpty();
        assertThat(limits(users, 0, "anna")).isEqualTo(limits(whole, 0, "anna"));
    }

    @Test
    void one_note_lets_a_user_have_120_a_minute_400_an_hour_and_5_in_flight() {
        RateLimiter limiter = build(Presets.oneNote());
        assertThat(holds(limiter, USER)).isEqualTo(5);

        RateLimiter other = build(Presets.oneNote());
        List<Integer> minutes = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            minutes.add(passes(other, USER));
            time.advance(ofSeconds(61));
        }
        assertThat(minutes).containsExactly(120, 120, 120, 40, 0);
        assertThat(passes(other, Demand.of("user", "ben"))).isEqualTo(120);
    }

    @Test
    void one_note_lets_an_application_have_240_a_minute_and_20_in_flight() {
        RateLimiter limiter = build(Presets.oneNote());
        int held = 0;
        int passed = 0;
        RateLimiter other = build(Presets.oneNote());
        for (String user : List.of("a", "b", "c", "d", "e")) {
            held += holds(limiter, Demand.of("user", user));
            passed += passes(other, Demand.of("user", user));
        }
        assertThat(held).isEqualTo(20);
        assertThat(passed).isEqualTo(240);
    }

    @Test
    void one_note_decides_its_six_limits_as_one_and_waits_for_the_longest() {
        RateLimiter limiter = build(Presets.oneNote());
        for (int minute = 0; minute < 3; minute++) {
            assertThat(passes(limiter, USER)).isEqualTo(120);
            time.advance(ofSeconds(61));
        }
        assertThat(passes(limiter, USER)).isEqualTo(40);
        Decision decision = limiter.tryAcquire(USER);
        assertThat(decision.limit()).isEqualTo(Limit.of(400, ofHours(1)));
        assertThat(decision.retryAfter())
                .isEqualTo(ofHours(1).plus(ofMillis(3_600)).minus(ofSeconds(183)));
    }

    @Test
    void outlook_lets_a_mailbox_have_ten_thousand_in_ten_minutes_and_four_in_flight() {
        RateLimiterSpec spec = Presets.outlook();
        assertThat(limits(spec, 0, "anna")).containsExactly(Limit.of(10_000, ofMinutes(10)), Limit.inFlight(4));
        RateLimiter limiter = build(spec);
        assertThat(holds(limiter, Demand.of("mailbox", "anna"))).isEqualTo(4);
        assertThat(holds(limiter, Demand.of("mailbox", "ben"))).isEqualTo(4);
    }

    @Test
    void a_github_token_has_five_thousand_an_hour_a_hundred_in_flight_and_a_write_per_second() {
        RateLimiterSpec spec = Presets.gitHub();
        assertThat(limits(spec, 0, "t"))
                .containsExactly(
                        Limit.of(5_000, ofHours(1)),
                        Limit.inFlight(100),
                        Limit.of(1, ofSeconds(1)).unit("writes"));
        RateLimiter limiter = build(spec);
        assertThat(holds(limiter, ISSUES)).isEqualTo(100);
        assertThat(holds(limiter, ISSUES.and("token", "other"))).isEqualTo(100);
    }

    @Test
    void a_github_endpoint_has_900_points_a_minute() {
        RateLimiter limiter = build(Presets.gitHub());
        assertThat(passes(limiter, ISSUES)).isEqualTo(900);
        assertThat(passes(limiter, ISSUES.and("endpoint", "/user"))).isEqualTo(900);
    }

    @ParameterizedTest
    @CsvSource({
        "GET,899",
        "HEAD,899",
        "OPTIONS,899",
        "get,899",
        "POST,895",
        "PATCH,895",
        "PUT,895",
        "DELETE,895",
        ",895"
    })
    void a_github_read_costs_one_point_and_anything_else_five(String method, long left) {
        RateLimiter limiter = build(Presets.gitHub());
        Demand demand = Demand.of("token", "t").and("endpoint", "/user");
        assertThat(limiter.tryAcquire(method == null ? demand : demand.and("method", method))
                        .allowed())
                .isTrue();
        assertThat(passes(limiter, ISSUES.and("endpoint", "/user"))).isEqualTo(left);
    }

    @Test
    void github_writes_of_one_token_are_a_second_apart_whatever_their_endpoint() {
        RateLimiter limiter = build(Presets.gitHub());
        Demand post = ISSUES.and("method", "POST");
        assertThat(passes(limiter, post)).isEqualTo(1);
        assertThat(passes(limiter, post.and("endpoint", "/user"))).isZero();
        assertThat(limiter.tryAcquire(post).retryAfter()).isEqualTo(ofMillis(1_001));
        assertThat(passes(limiter, post.and("token", "other"))).isEqualTo(1);
        assertThat(limiter.tryAcquire(ISSUES).allowed()).isTrue();
    }

    @Test
    void github_searches_of_all_kinds_share_thirty_a_minute() {
        RateLimiter limiter = build(Presets.gitHub());
        assertThat(passes(limiter, GET.and("endpoint", "/search/code"))).isEqualTo(30);
        assertThat(passes(limiter, GET.and("endpoint", "/search/issues"))).isZero();
    }

    @Test
    void costs_hold_for_whatever_way_a_demand_comes() {
        RateLimiter limiter = build(Presets.gitHub());
        Demand post = ISSUES.and("method", "POST");
        List<Duration> went = new ArrayList<>();
        Mono<String> call = Mono.fromSupplier(() -> {
            went.add(time.elapsed());
            return "done";
        });
        call.transform(limiter.limit(post)).subscribe();
        call.transform(limiter.calls().<String>limitBy(context -> post)).subscribe();
        call.flux().transform(limiter.limitEach(post)).subscribe(each -> went.add(time.elapsed()));
        Flux.from(limiter.calls().exchange(post, exchange -> call)).subscribe();
        limiter.calls().exchangeMany(post, exchange -> call).subscribe();
        limiter.acquire(post).subscribe(permit -> {
            went.add(time.elapsed());
            permit.release();
        });
        assertThat(limiter.estimate(post).allowed()).isFalse();
        time.advance(ofSeconds(30));
        assertThat(went.stream().map(Duration::toSeconds).distinct()).containsExactly(0L, 1L, 2L, 3L, 4L, 5L);
    }

    @Test
    void github_is_waited_for_up_to_an_hour() {
        RateLimiter limiter = build(Presets.gitHub());
        limiter.tryAcquire(ISSUES)
                .permit()
                .complete(Dialects.gitHub()
                        .read(
                                403,
                                Headers.of("x-ratelimit-remaining", "0", "x-ratelimit-reset", epochIn(ofMinutes(50))),
                                VirtualTime.W0.toEpochMilli()));
        Asked waiting = time.ask(limiter, ISSUES);
        time.runTo(ofMinutes(50));
        assertThat(waiting.isWaiting()).isTrue();
        time.runTo(ofMinutes(61));
        assertThat(waiting.at()).isBetween(ofMinutes(50), ofMinutes(60).plusSeconds(2));
    }

    private static String epochIn(Duration after) {
        return Long.toString(VirtualTime.W0.plus(after).getEpochSecond());
    }

    @Test
    void github_without_a_token_has_sixty_an_hour_per_egress() {
        RateLimiter limiter = build(Presets.gitHubAnonymous());
        assertThat(passes(limiter, Demand.of("egress", "proxy-1"))).isEqualTo(60);
        assertThat(passes(limiter, Demand.of("egress", "proxy-2"))).isEqualTo(60);
        assertThatThrownBy(() -> limiter.tryAcquire(Demand.one())).hasMessageContaining("'egress'");
    }

    @Test
    void notion_has_three_a_second_per_token() {
        RateLimiter limiter = build(Presets.notion());
        assertThat(passes(limiter, Demand.of("token", "t"))).isEqualTo(3);
        assertThat(limiter.tryAcquire(Demand.of("token", "t")).retryAfter()).isEqualTo(ofMillis(1_001));
    }

    @ParameterizedTest
    @CsvSource({"1,1", "2,20", "3,50", "4,100"})
    void a_slack_method_has_the_calls_of_its_tier_per_token(int tier, int calls) {
        RateLimiter limiter = build(Presets.slack(tier));
        Demand history = Demand.of("endpoint", "conversations.history").and("token", "t");
        assertThat(passes(limiter, history)).isEqualTo(calls);
        assertThat(passes(limiter, history.and("endpoint", "users.info"))).isEqualTo(calls);
        assertThat(passes(limiter, history.and("token", "u"))).isEqualTo(calls);
    }

    @Test
    void methods_of_slack_may_be_of_several_tiers() {
        RateLimiter limiter = build(Presets.slack(2)
                .replace(Scope.by("endpoint", "token")
                        .limit("users.info", Presets.slackTier(4))
                        .otherwise(Presets.slackTier(2))));
        Demand info = Demand.of("endpoint", "users.info").and("token", "t");
        assertThat(passes(limiter, info)).isEqualTo(100);
        assertThat(passes(limiter, info.and("endpoint", "users.list"))).isEqualTo(20);
    }

    @Test
    void a_slack_tier_that_does_not_exist_is_named() {
        assertThatThrownBy(() -> Presets.slack(5))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("a Slack tier must be between 1 and 4, was 5");
        assertThatThrownBy(() -> Presets.slackTier(0)).hasMessage("a Slack tier must be between 1 and 4, was 0");
    }
}
