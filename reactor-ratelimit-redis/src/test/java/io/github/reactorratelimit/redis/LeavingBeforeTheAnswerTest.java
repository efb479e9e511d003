package io.github.reactorratelimit.redis;

import static java.time.Duration.ofSeconds;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.PermitSource;
import io.github.reactorratelimit.RateLimitListener;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterSpec;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.reactivestreams.Publisher;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/** Whoever leaves between its question and the answer, by whatever verb it asked, takes nothing. */
class LeavingBeforeTheAnswerTest {

    @RegisterExtension
    static final RealRedis server = new RealRedis();

    private static final StatefulRedisConnection<String, String> connection = server.connection();
    private final AtomicInteger told = new AtomicInteger();
    private final RateLimiterSpec spec = RateLimiter.named("leaving-" + System.identityHashCode(this))
            .limit(
                    Limit.of(3, ofSeconds(1_000)),
                    Limit.bucket(3, 1, ofSeconds(1_000)),
                    Limit.total(3),
                    Limit.inFlight(3))
            .listener(new RateLimitListener() {
                @Override
                public void granted(Subject who, Duration waited) {
                    told.incrementAndGet();
                }
            });
    private WatchedStore redis;
    private HeldStore held;
    private WatchedStore store;
    private RateLimiter limiter;

    @BeforeEach
    void build() {
        redis = new WatchedStore(new RedisStore(RedisSharing.over(connection).timeout(ofSeconds(10)), spec.name()));
        held = new HeldStore(redis);
        store = new WatchedStore(held);
        limiter = spec.build(store);
    }

    @AfterEach
    void dispose() {
        limiter.dispose();
    }

    /** Asks on a subscription, and never ends by itself once it was granted. */
    private interface Verb extends Function<RateLimiter, Publisher<?>> {}

    static Stream<Arguments> verbs() {
        return Stream.of(
                verb("ask", limiter -> limiter.ask(Demand.one())),
                verb("acquire", limiter -> limiter.acquire(Demand.one())),
                verb(
                        "a timeout around acquire",
                        limiter -> limiter.acquire(Demand.one()).timeout(ofSeconds(100))),
                verb("limit", limiter -> Mono.never().transform(limiter.limit())),
                verb("limitEach", limiter -> Flux.just(1, 2, 3).transform(limiter.limitEach())),
                verb("use", limiter -> limiter.use(source -> Demand.one(), attempt -> Mono.never())),
                verb("useMany", limiter -> limiter.useMany(source -> Demand.one(), attempt -> Flux.never())),
                verb(
                        "firstWithin",
                        limiter -> PermitSource.firstWithin(ofSeconds(50), limiter, other())
                                .acquire(Demand.one())));
    }

    private static Arguments verb(String name, Verb verb) {
        return Arguments.of(name, verb);
    }

    private static RateLimiter other() {
        return RateLimiter.named("other").limit(Limit.of(1, ofSeconds(1))).build();
    }

    private void assertLeft(long permits) {
        assertThat(requireNonNull(limiter.status(Demand.one()).block(ofSeconds(10)))
                        .limits())
                .hasSize(4)
                .allSatisfy(limit ->
                        assertThat(limit.available()).as(limit.toString()).isEqualTo(permits));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("verbs")
    void what_is_decided_already_is_given_back_by_a_call_of_its_own(String name, Verb verb) {
        held.hold();
        Disposable asking = Flux.from(verb.apply(limiter)).subscribe();
        redis.awaitAnswered(batch -> batch.number() == 1);
        asking.dispose();
        held.letGo();
        store.awaitAnswered(batch -> batch.number() == 2);
        assertLeft(3);
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("verbs")
    void what_is_not_sent_yet_is_not_asked_for(String name, Verb verb) {
        held.hold();
        limiter.acquire(Demand.one()).subscribe();
        Flux.from(verb.apply(limiter)).subscribe().dispose();
        held.letGo();
        store.awaitAnswered(batch -> batch.number() == 1);
        limiter.acquire(Demand.one()).block(ofSeconds(10));
        assertLeft(1);
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("verbs")
    void who_is_sent_away_by_another_that_the_same_answer_serves_gives_back_too(String name, Verb verb) {
        held.hold();
        limiter.acquire(Demand.one()).subscribe();
        Disposable.Swap second = Disposables.swap();
        Sinks.Empty<Void> first = Sinks.empty();
        limiter.acquire(Demand.one()).subscribe(permit -> {
            second.dispose();
            first.tryEmitEmpty();
        });
        second.update(Flux.from(verb.apply(limiter)).subscribe());
        held.letGo();
        first.asMono().block(ofSeconds(10));
        store.awaitAnswered(batch -> batch.number() == 3);
        assertLeft(1);
        assertThat(told).hasValue(2);
    }
}
