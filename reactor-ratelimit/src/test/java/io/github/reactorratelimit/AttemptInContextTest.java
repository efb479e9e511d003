package io.github.reactorratelimit;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.micrometer.context.ContextRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Hooks;
import reactor.core.publisher.Mono;
import reactor.test.scheduler.VirtualTimeScheduler;

/** What a call sees of its attempt in the Reactor Context, and that it sees everything else too. */
class AttemptInContextTest {

    private static final Demand GET = Demand.of("method", "GET");

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();

    private RateLimiter limiter(Limit... limits) {
        return RateLimiter.named("test")
                .limit(limits)
                .scheduler(() -> time)
                .jitter(0)
                .random(() -> 0.5)
                .build();
    }

    private static Mono<String> seen() {
        return Mono.deferContextual(context -> Mono.just(RateLimitContext.attempt(context) + " after "
                + RateLimitContext.waited(context) + " for " + context.getOrDefault("caller", "nobody")));
    }

    @Test
    void an_attempt_sees_its_number_and_how_long_it_waited_and_the_callers_own() {
        RateLimiter limiter = limiter(Limit.of(1, ofSeconds(10)));
        List<String> seen = new ArrayList<>();
        Mono<String> call = seen().transform(limiter.<String>limit()).as(Mono::from);
        for (String caller : List.of("alice", "bob")) {
            call.contextWrite(context -> context.put("caller", caller)).subscribe(seen::add);
        }
        time.advanceTimeBy(ofSeconds(60));

        assertThat(seen).containsExactly("1 after PT0S for alice", "1 after PT10.01S for bob");
    }

    @Test
    void a_retry_sees_its_own_number_and_its_own_wait_backoff_included() {
        RateLimiter limiter = limiter();
        List<String> seen = new ArrayList<>();
        seen().doOnNext(seen::add)
                .flatMap(text -> Mono.<String>error(new IllegalStateException(text)))
                .transform(limiter.calls()
                        .failures(error -> Failure.notSent())
                        .retry(RetryPolicy.attempts(3)
                                .backoff(Backoff.exponential(ofSeconds(2), ofSeconds(60))
                                        .jitter(0)))
                        .limit(GET))
                .as(Flux::from)
                .onErrorComplete()
                .subscribe();
        time.advanceTimeBy(ofSeconds(60));

        assertThat(seen)
                .containsExactly("1 after PT0S for nobody", "2 after PT2S for nobody", "3 after PT4S for nobody");
    }

    @Test
    void an_adapter_sees_the_wait_without_its_own_connecting() {
        RateLimiter limiter = limiter(Limit.inFlight(1));
        List<String> seen = new ArrayList<>();
        limiter.calls()
                .<String>exchange(
                        GET,
                        exchange -> seen().delaySubscription(
                                        Mono.delay(ofSeconds(3), time).doOnNext(connected -> exchange.sent())))
                .subscribe(seen::add);
        time.advanceTimeBy(ofSeconds(9));
        assertThat(seen).containsExactly("1 after PT0S for nobody");
    }

    @Test
    void of_several_operators_the_innermost_counts_and_outside_there_is_no_attempt() {
        RateLimiter outer = limiter(Limit.inFlight(1));
        RateLimiter inner = limiter(Limit.of(1, ofSeconds(10)));
        inner.tryAcquire();
        List<String> seen = new ArrayList<>();
        seen().transform(inner.<String>limit())
                .as(Mono::from)
                .transform(outer.<String>limit())
                .as(Mono::from)
                .subscribe(seen::add);
        time.advanceTimeBy(ofSeconds(60));
        seen().subscribe(seen::add);

        assertThat(seen).containsExactly("1 after PT10.01S for nobody", "0 after PT0S for nobody");
    }

    @Test
    void thread_locals_follow_the_call_over_its_wait() throws Exception {
        ThreadLocal<String> user = new ThreadLocal<>();
        ContextRegistry.getInstance().registerThreadLocalAccessor("user", user);
        Hooks.enableAutomaticContextPropagation();
        try {
            RateLimiter limiter = limiter(Limit.of(1, ofSeconds(10)));
            limiter.tryAcquire();
            List<String> seen = new ArrayList<>();
            Mono.just("other")
                    .transform(limiter.limit())
                    .as(Mono::from)
                    .contextWrite(context -> context.put("user", "bob"))
                    .subscribe(); // It sets the timer that grants both.
            Callable<String> call = () -> "calls as " + user.get();
            Mono.fromCallable(call)
                    .transform(limiter.<String>limit())
                    .as(Mono::from)
                    .doOnNext(text -> seen.add(text + ", goes on as " + user.get()))
                    .contextWrite(context -> context.put("user", "alice"))
                    .subscribe();
            Thread timer = new Thread(() -> time.advanceTimeBy(ofSeconds(60)));
            timer.start();
            timer.join(Duration.ofSeconds(30).toMillis());

            assertThat(seen).containsExactly("calls as alice, goes on as alice");
        } finally {
            Hooks.disableAutomaticContextPropagation();
            ContextRegistry.getInstance().removeThreadLocalAccessor("user");
        }
    }
}
