package io.github.reactorratelimit.metrics;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.github.reactorratelimit.Backoff;
import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Failure;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.Permit;
import io.github.reactorratelimit.RateLimitOperator;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterSpec;
import io.github.reactorratelimit.RetryPolicy;
import io.github.reactorratelimit.Scope;
import io.github.reactorratelimit.Share;
import io.github.reactorratelimit.signal.Headers;
import io.github.reactorratelimit.signal.Quota;
import io.github.reactorratelimit.signal.RateLimitSignal;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Measurement;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.MockClock;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleConfig;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.scheduler.VirtualTimeScheduler;

class RateLimitMetricsTest {

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final MockClock clock = new MockClock();
    private final SimpleMeterRegistry registry = new SimpleMeterRegistry(SimpleConfig.DEFAULT, clock);
    private final RateLimitMetrics metrics = RateLimitMetrics.of(registry);

    private RateLimiterSpec spec() {
        return RateLimiter.named("partner")
                .scheduler(() -> time)
                .jitter(0)
                .random(() -> 0.5)
                .listener(metrics);
    }

    private RateLimiterSpec twoEndpoints() {
        return spec().scope(Scope.by("endpoint", "token")
                .limit("/search", Limit.of(5, ofSeconds(10)))
                .limit("/users/{id}", Limit.of(20, ofSeconds(10))));
    }

    private static Demand at(String endpoint, String token) {
        return Demand.of("endpoint", endpoint).and("token", token);
    }

    private double gauge(String name, String... tags) {
        clock.add(ofMillis(1_100));
        return registry.get(name).tags(tags).gauge().value();
    }

    private double count(String name, String... tags) {
        return registry.get(name).tags(tags).counter().count();
    }

    private Timer acquire(String waiting, String outcome) {
        return registry.get("ratelimit.acquire")
                .tags("limiter", "partner", "waiting", waiting, "outcome", outcome)
                .timer();
    }

    @Test
    void acquiring_is_timed_by_waiting_and_outcome() {
        RateLimiter limiter = spec().limit(Limit.of(1, ofSeconds(10)))
                .lane("slow", Share.of(1))
                .build();
        limiter.acquire(Demand.one()).subscribe();
        limiter.acquire(Demand.one()).subscribe();
        limiter.acquire(Demand.one().lane("slow")).subscribe().dispose();
        limiter.tryAcquire();
        limiter.acquire(Demand.one()).onErrorComplete().subscribe();
        time.advanceTimeBy(ofSeconds(15));
        limiter.dispose();

        assertThat(acquire("false", "granted").count()).isEqualTo(1);
        assertThat(acquire("true", "granted").count()).isEqualTo(1);
        assertThat(acquire("true", "granted").totalTime(TimeUnit.MILLISECONDS)).isEqualTo(10_010);
        assertThat(acquire("false", "refused").count()).isEqualTo(1);
        assertThat(acquire("true", "refused").totalTime(TimeUnit.SECONDS)).isEqualTo(15);
        assertThat(acquire("false", "cancelled").getId().getTag("lane")).isEqualTo("slow");
    }

    @Test
    void gauges_show_who_waits_and_what_the_tightest_key_of_an_endpoint_has_left() {
        RateLimiter limiter = twoEndpoints().limit(Limit.inFlight(100)).build();
        for (int i = 0; i < 7; i++) {
            limiter.acquire(at("/search", "a")).subscribe();
        }
        limiter.acquire(at("/search", "b")).subscribe();
        limiter.acquire(at("/users/7", "a")).subscribe();

        assertThat(gauge("ratelimit.waiting", "limiter", "partner")).isEqualTo(2);
        assertThat(gauge("ratelimit.permits.available", "scope", "root", "limit", "100 requests in flight"))
                .isEqualTo(93);
        assertThat(gauge("ratelimit.permits.available", "endpoint", "/search")).isZero();
        assertThat(gauge("ratelimit.permits.available", "scope", "endpoint,token", "endpoint", "/users/{id}"))
                .isEqualTo(19);
        time.advanceTimeBy(ofSeconds(25));
        assertThat(gauge("ratelimit.waiting")).isZero();
        assertThat(gauge("ratelimit.permits.available", "endpoint", "/search")).isEqualTo(5);
    }

    /** A limiter that counts its snapshots, each of which takes its time. */
    private RateLimiter counted(RateLimiter limiter, AtomicInteger snapshots) {
        return (RateLimiter) Proxy.newProxyInstance(
                RateLimiter.class.getClassLoader(), new Class<?>[] {RateLimiter.class}, (self, method, args) -> {
                    if (method.getName().equals("snapshot")) {
                        snapshots.incrementAndGet();
                        clock.add(ofMillis(300));
                    }
                    return method.invoke(limiter, args);
                });
    }

    @Test
    void all_gauges_of_a_scrape_come_from_one_snapshot_of_many_keys_however_long_that_takes() {
        RateLimiter limiter = twoEndpoints().build();
        for (int i = 0; i < 300; i++) {
            limiter.tryAcquire(at("/search", "token-" + i));
        }
        limiter.tryAcquire(at("/users/1", "a"));
        AtomicInteger snapshots = new AtomicInteger();
        metrics.built(counted(limiter, snapshots));
        for (int scrape = 1; scrape <= 3; scrape++) {
            clock.add(ofSeconds(1));
            for (Meter meter : registry.getMeters()) {
                meter.measure().forEach(Measurement::getValue);
                clock.add(ofMillis(100));
            }
            assertThat(snapshots).hasValue(scrape);
        }
        assertThat(registry.find("ratelimit.permits.available").gauges()).hasSize(2);
    }

    @Test
    void a_gauge_of_many_keys_that_is_read_again_belongs_to_the_next_scrape_though_no_time_has_passed() {
        RateLimiter limiter = twoEndpoints().build();
        for (int i = 0; i < 300; i++) {
            limiter.tryAcquire(at("/search", "token-" + i));
        }
        Gauge left = registry.get("ratelimit.permits.available").gauge();
        assertThat(left.value()).isEqualTo(4);
        limiter.tryAcquire(at("/search", "token-0"));
        assertThat(left.value()).isEqualTo(3);
        limiter.tryAcquire(at("/search", "token-299"));
        limiter.tryAcquire(at("/search", "token-299"));
        assertThat(left.value()).isEqualTo(2);
    }

    @Test
    void gauges_of_few_keys_are_exact_whenever_and_in_whatever_order_they_are_read() {
        RateLimiter limiter = spec().limit(Limit.inFlight(2), Limit.total(10)).build();
        Permit permit = Objects.requireNonNull(limiter.acquire(Demand.one()).block());
        Gauge waiting = registry.get("ratelimit.waiting").gauge();
        Gauge free = registry.get("ratelimit.permits.available")
                .tags("limit", "2 requests in flight")
                .gauge();
        Gauge left = registry.get("ratelimit.permits.available")
                .tags("limit", "10 requests in all")
                .gauge();
        assertThat(List.of(waiting.value(), free.value(), left.value())).containsExactly(0.0, 1.0, 9.0);
        limiter.acquire(Demand.one()).subscribe();
        limiter.acquire(Demand.one()).subscribe();
        assertThat(free.value()).isZero();
        assertThat(waiting.value()).isEqualTo(1);
        permit.release();
        assertThat(left.value()).isEqualTo(7);
        assertThat(waiting.value()).isZero();
    }

    @Test
    void nothing_is_registered_twice_and_micrometer_has_nothing_to_warn_of() {
        Logger logger = (Logger) LoggerFactory.getLogger(MeterRegistry.class);
        ListAppender<ILoggingEvent> log = new ListAppender<>();
        log.start();
        logger.addAppender(log);
        logger.setLevel(Level.DEBUG); // It warns once per JVM, and tells of the others in debug.
        try {
            RateLimiter before = named("partner").limit(Limit.total(10)).build();
            before.tryAcquire();
            before.change(before.spec().limit(Limit.total(20)));
            before.dispose();
            RateLimiter after = named("partner").limit(Limit.total(10)).build();
            after.tryAcquire();
            assertThat(gauge("ratelimit.waiting")).isZero();
            assertThat(gauge("ratelimit.permits.available")).isEqualTo(9);
        } finally {
            logger.setLevel(null);
            logger.detachAppender(log);
        }
        assertThat(log.list)
                .extracting(ILoggingEvent::getFormattedMessage)
                .noneMatch(text -> text.contains("already registered"));
    }

    @Test
    void a_limiter_that_is_built_after_the_registry_was_cleared_has_its_gauges() {
        say(named("partner").limit(Limit.total(10)).build(), quota(100, 90).usage(0.9));
        registry.clear();
        RateLimiter after = named("partner").limit(Limit.total(10)).build();
        say(after, quota(100, 80).usage(0.85));
        assertThat(gauge("ratelimit.server.remaining")).isCloseTo(0.8, within(1e-9));
        assertThat(gauge("ratelimit.server.usage")).isEqualTo(0.85);
        assertThat(gauge("ratelimit.waiting")).isZero();
        assertThat(gauge("ratelimit.permits.available")).isEqualTo(9);
    }

    /** As the README does it: whoever builds a limiter asks for the metrics of the registry. */
    private RateLimiterSpec named(String name) {
        return RateLimiter.named(name).scheduler(() -> time).listener(RateLimitMetrics.of(registry));
    }

    private boolean shows(String name, String... tags) {
        return registry.find(name).tags(tags).gauge() != null;
    }

    @Test
    void the_gauges_follow_the_limiter_that_was_built_last_under_a_name() {
        RateLimiter before = named("partner").limit(Limit.inFlight(1)).build();
        before.tryAcquire();
        before.acquire(Demand.one()).subscribe();
        RateLimiter after = named("partner").limit(Limit.inFlight(7)).build();
        assertThat(gauge("ratelimit.waiting")).isZero();
        after.tryAcquire();
        assertThat(gauge("ratelimit.permits.available", "limit", "7 requests in flight"))
                .isEqualTo(6);
        assertThat(shows("ratelimit.permits.available", "limit", "1 requests in flight"))
                .as("a limit that is not in force any more")
                .isFalse();
        assertThat(before.isDisposed()).isFalse();
    }

    @Test
    void a_limiter_that_is_built_again_with_the_same_limits_is_the_one_that_is_shown() {
        RateLimiter before = named("partner").limit(Limit.total(10)).build();
        before.tryAcquire();
        say(before, quota(100, 90));
        RateLimiter after = named("partner").limit(Limit.total(10)).build();
        for (int i = 0; i < 7; i++) {
            after.tryAcquire();
        }
        assertThat(gauge("ratelimit.permits.available")).isEqualTo(3);
        say(after, quota(100, 20));
        assertThat(gauge("ratelimit.server.remaining")).isCloseTo(0.2, within(1e-9));
        before.dispose();
        assertThat(gauge("ratelimit.permits.available")).isEqualTo(2);
    }

    @Test
    void the_same_holds_for_one_that_is_built_when_nothing_of_the_first_is_left() {
        WeakReference<?> first = forgotten();
        assertCollected(first);
        assertThat(gauge("ratelimit.waiting")).isNaN();
        RateLimiter after = named("partner").limit(Limit.total(10)).build();
        after.tryAcquire();
        assertThat(gauge("ratelimit.permits.available")).isEqualTo(9);
        say(after, quota(100, 20));
        assertThat(gauge("ratelimit.server.remaining")).isCloseTo(0.2, within(1e-9));
    }

    private WeakReference<?> forgotten() {
        RateLimiter first = named("partner").limit(Limit.total(10)).build();
        say(first, quota(100, 90));
        gauge("ratelimit.waiting");
        return new WeakReference<>(first);
    }

    @Test
    void gauges_go_on_while_nothing_but_an_operator_of_the_limiter_is_in_use() {
        RateLimitOperator calls =
                named("partner").limit(Limit.total(10)).build().calls();
        Mono.just(1).transform(calls.limit()).as(Mono::from).block();
        assertCollected(new WeakReference<>(new Object()));
        Mono.just(1).transform(calls.limit()).as(Mono::from).block();
        assertThat(gauge("ratelimit.waiting")).isZero();
        assertThat(gauge("ratelimit.permits.available")).isEqualTo(8);
    }

    private static void assertCollected(WeakReference<?> dropped) {
        ReferenceQueue<Object> queue = new ReferenceQueue<>();
        for (int i = 0; i < 100 && dropped.get() != null; i++) {
            WeakReference<Object> canary = new WeakReference<>(new Object(), queue);
            System.gc();
            try {
                assertThat(queue.remove(10_000)).as("the garbage is collected").isSameAs(canary);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
        assertThat(dropped.get()).isNull();
    }

    @Test
    void of_a_limiter_that_is_disposed_nothing_is_shown() {
        RateLimiter limiter = named("partner").limit(Limit.total(5)).build();
        limiter.tryAcquire();
        assertThat(gauge("ratelimit.permits.available")).isEqualTo(4);
        limiter.dispose();
        assertThat(gauge("ratelimit.permits.available")).isNaN();
        assertThat(gauge("ratelimit.waiting")).isNaN();
    }

    @Test
    void after_many_changes_the_limit_in_force_has_its_gauge_and_the_others_have_none() {
        RateLimiter limiter =
                named("partner").limit(Limit.of(1_000, ofMinutes(60))).build();
        limiter.tryAcquire();
        for (int i = 1; i <= 150; i++) {
            limiter.change(limiter.spec().limit(Limit.of(1_000 + i, ofMinutes(60))));
        }
        String inForce = limiter.snapshot().root().limits().get(0).limit().toString();
        assertThat(registry.find("ratelimit.permits.available").gauges()).hasSize(1);
        assertThat(gauge("ratelimit.permits.available", "limit", inForce)).isEqualTo(1_149);
    }

    @Test
    void gauges_follow_virtual_time_though_the_clock_of_the_registry_stands_still() {
        RateLimiter limiter = named("partner").limit(Limit.of(5, ofSeconds(10))).build();
        for (int i = 0; i < 5; i++) {
            limiter.tryAcquire();
        }
        assertThat(gauge("ratelimit.permits.available")).isZero();
        time.advanceTimeBy(ofSeconds(11));
        assertThat(registry.get("ratelimit.permits.available").gauge().value()).isEqualTo(5);
    }

    @Test
    void a_limit_that_counts_all_endpoints_is_told_from_one_of_endpoints_without_a_name() {
        RateLimiter limiter = named("partner")
                .limit(Limit.total(100))
                .scope(Scope.by("user").limits(Limit.total(50)))
                .scope(Scope.by("endpoint").limit("/search", Limit.total(10)).otherwise(Limit.total(20)))
                .scope(Scope.by("token").limits(Limit.total(7)))
                .build();
        Demand demand = at("/search", "a").and("user", "u");
        limiter.tryAcquire(demand);
        limiter.tryAcquire(demand.and("endpoint", "/elsewhere"));
        assertThat(gauge("ratelimit.permits.available", "scope", "root", "endpoint", "all"))
                .isEqualTo(98);
        assertThat(gauge("ratelimit.permits.available", "scope", "user", "endpoint", "all"))
                .isEqualTo(48);
        assertThat(gauge("ratelimit.permits.available", "scope", "endpoint", "endpoint", "/search"))
                .isEqualTo(9);
        assertThat(gauge("ratelimit.permits.available", "scope", "endpoint", "endpoint", "other"))
                .isEqualTo(19);
        assertThat(gauge("ratelimit.permits.available", "scope", "token", "endpoint", "/search"))
                .isEqualTo(6);
        assertThat(gauge("ratelimit.permits.available", "scope", "token", "endpoint", "other"))
                .isEqualTo(6);
    }

    @Test
    void refusals_and_cooldowns_are_counted_by_endpoint() {
        RateLimiter limiter = twoEndpoints().build();
        refuse(limiter, at("/search", "a"), 429, 3);
        refuse(limiter, at("/search", "b"), 429, 5);
        refuse(limiter, at("/elsewhere", "c"), 503, 2);
        limiter.pause(at("/search", "a"), ofSeconds(4));

        assertThat(count("ratelimit.refusals", "endpoint", "/search", "status", "429"))
                .isEqualTo(2);
        assertThat(count("ratelimit.refusals", "endpoint", "other", "status", "503"))
                .isEqualTo(1);
        assertThat(registry.get("ratelimit.cooldown")
                        .tags("endpoint", "/search", "cause", "refused")
                        .timer()
                        .totalTime(TimeUnit.SECONDS))
                .isEqualTo(8);
        assertThat(registry.get("ratelimit.cooldown")
                        .tags("cause", "by_hand")
                        .timer()
                        .totalTime(TimeUnit.SECONDS))
                .as("only what it adds")
                .isEqualTo(1);
    }

    private static void refuse(RateLimiter limiter, Demand demand, int status, int seconds) {
        limiter.tryAcquire(demand)
                .permit()
                .complete(RateLimitSignal.of(status)
                        .throttled(true)
                        .scope("endpoint") // Else the second one within the first's cooldown stops everybody.
                        .delay(ofSeconds(seconds))
                        .build());
    }

    @Test
    void retries_are_counted_by_reason_and_calls_that_give_up() {
        RateLimiter limiter = twoEndpoints().build();
        List<Failure> failures = List.of(
                Failure.notSent().atProxy("proxy.example:3128"),
                Failure.response(500, Headers.of()),
                Failure.interrupted());
        Mono.<String>error(IllegalStateException::new)
                .transform(limiter.calls()
                        .idempotent(true)
                        .failures(error -> failures.get(Math.min(2, calls++)))
                        .retry(RetryPolicy.attempts(3).backoff(Backoff.exponential(ofMillis(1), ofMillis(1))))
                        .limit(at("/users/7", "a")))
                .as(Flux::from)
                .onErrorComplete()
                .subscribe();
        time.advanceTimeBy(ofMinutes(1));

        assertThat(count("ratelimit.retries", "endpoint", "/users/{id}", "reason", "not_sent"))
                .isEqualTo(1);
        assertThat(count("ratelimit.retries", "endpoint", "/users/{id}", "reason", "failed"))
                .isEqualTo(1);
        assertThat(count("ratelimit.exhausted", "endpoint", "/users/{id}")).isEqualTo(1);
        assertThat(count("ratelimit.proxy.failures", "proxy", "proxy.example:3128"))
                .isEqualTo(1);
    }

    private int calls;

    @Test
    void what_calls_cost_in_a_unit_is_added_up_as_it_is_corrected_and_given_back() {
        RateLimiter limiter =
                spec().limit(Limit.of(1_000, ofMinutes(1)).unit("tokens")).build();
        Demand call = Demand.one().cost("tokens", 100);
        limiter.acquire(call).subscribe(permit -> permit.settle("tokens", 40));
        limiter.acquire(call).subscribe(permit -> permit.settle("tokens", 130));
        limiter.tryAcquire(call.cost("micro-dollars", 7));
        limiter.calls().exchange(call, exchange -> Mono.never()).subscribe().dispose();

        assertThat(gauge("ratelimit.spent", "limiter", "partner", "unit", "tokens"))
                .isEqualTo(270);
        assertThat(gauge("ratelimit.spent", "unit", "micro-dollars")).isEqualTo(7);
        assertThat(registry.find("ratelimit.spent").tag("unit", "requests").gauge())
                .isNull();
    }

    @Test
    void what_the_server_says_is_shown_at_its_lowest_and_forgotten_after_two_minutes() {
        RateLimiter limiter = twoEndpoints().build();
        say(limiter, quota(5, 4));
        say(limiter, quota(100, 25));
        say(limiter, quota(5, 3));
        say(limiter, RateLimitSignal.of(200).usage(0.85));
        say(limiter, RateLimitSignal.of(200).usage(0.8));

        assertThat(gauge("ratelimit.server.remaining", "endpoint", "/search")).isCloseTo(0.25, within(1e-9));
        assertThat(gauge("ratelimit.server.usage", "endpoint", "/search")).isEqualTo(0.85);
        clock.add(ofMinutes(3));
        assertThat(gauge("ratelimit.server.remaining", "endpoint", "/search")).isEqualTo(1);
        assertThat(gauge("ratelimit.server.usage", "endpoint", "/search")).isZero();
    }

    private static void say(RateLimiter limiter, RateLimitSignal.Builder signal) {
        limiter.tryAcquire(at("/search", "a")).permit().complete(signal.build());
    }

    private static RateLimitSignal.Builder quota(long limit, long remaining) {
        return RateLimitSignal.of(200)
                .quotas(List.of(new Quota("", "requests", limit, remaining, -1, null, null, null)));
    }

    @Test
    void tags_are_bounded_and_never_name_a_token_a_user_or_a_path() {
        RateLimiter limiter = twoEndpoints()
                .scope(Scope.by("user").limitsBy(key -> List.of(Limit.of(1 + calls++, ofSeconds(7)))))
                .build();
        for (int i = 0; i < 1_000; i++) {
            Demand demand =
                    at(i % 2 == 0 ? "/users/" + i : "/path-" + i, "secret-" + i).and("user", "user-" + i);
            refuse(limiter, demand, 429, 1);
            int proxy = i;
            Mono.error(IllegalStateException::new)
                    .transform(limiter.calls()
                            .failures(error -> Failure.refused().atProxy("proxy-" + proxy + ":1"))
                            .limit(demand.and("user", "again-" + i).and("token", "secret-again-" + i)))
                    .as(Flux::from)
                    .onErrorComplete()
                    .subscribe();
        }
        gauge("ratelimit.waiting");

        assertThat(registry.getMeters()).hasSizeLessThan(100 + 100 + 30);
        assertThat(registry.getMeters().stream().map(Meter::getId).map(Object::toString))
                .noneMatch(id -> id.contains("secret") || id.contains("user-") || id.contains("again-"))
                .noneMatch(id -> id.contains("/path-") || id.matches(".*/users/\\d.*"));
    }
}
