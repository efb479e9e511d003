package io.github.reactorratelimit.spring;

import static java.time.Duration.ofDays;
import static java.time.Duration.ofHours;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimiter;
import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import io.github.resilience4j.reactor.ratelimiter.operator.RateLimiterOperator;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import reactor.core.Disposable;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.test.scheduler.VirtualTimeScheduler;

/**
 * The operator of this library and that of resilience4j in the same scenes, under virtual time: one call per hour, and
 * somebody gives up while waiting. What is said of the other is what the version of the class path does, which the table
 * names. An hour is taken so that the real time which the other counts in passes for none.
 */
class BesideResilience4jTest {

    private VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final List<String> sent = new ArrayList<>();
    private final List<String> answered = new ArrayList<>();
    private Duration begun = Duration.ZERO;
    private Duration answeredAfter = Duration.ZERO;

    @BeforeEach
    void install() {
        time = VirtualTimeScheduler.getOrSet();
    }

    @AfterEach
    void uninstall() {
        VirtualTimeScheduler.reset();
    }

    private static UnaryOperator<Publisher<String>> ours() {
        return RateLimiter.of(Limit.of(1, ofHours(1))).limit();
    }

    private static UnaryOperator<Publisher<String>> theirs() {
        return RateLimiterOperator.<String>of(io.github.resilience4j.ratelimiter.RateLimiter.of(
                "peer",
                RateLimiterConfig.custom()
                        .limitForPeriod(1)
                        .limitRefreshPeriod(ofHours(1))
                        .timeoutDuration(ofDays(365))
                        .build()))::apply;
    }

    private Mono<String> call(String name, UnaryOperator<Publisher<String>> limit) {
        return Mono.defer(() -> {
                    sent.add(name);
                    return Mono.just(name);
                })
                .transform(limit)
                .as(Mono::from);
    }

    private Disposable start(Mono<String> call) {
        return call.subscribe(this::answer, error -> answer(error.getClass().getSimpleName()));
    }

    private void answer(String what) {
        answered.add(what);
        answeredAfter = Duration.ofMillis(time.now(TimeUnit.MILLISECONDS)).minus(begun);
    }

    /** Subscribes and cancels at once, in a way that does not depend on a subscription being there already. */
    private void cancelled(Mono<String> call) {
        Sinks.Empty<Void> leave = Sinks.empty();
        start(call.takeUntilOther(leave.asMono()));
        leave.tryEmitEmpty();
    }

    private List<String> signalsWhileWaiting(UnaryOperator<Publisher<String>> limit) {
        start(call("first", limit));
        List<String> signals = new ArrayList<>();
        call("second", limit).subscribe(new BaseSubscriber<String>() {
            @Override
            protected void hookOnSubscribe(Subscription subscription) {
                signals.add("subscription");
                subscription.request(1);
            }
        });
        return signals;
    }

    @Test
    void ours_hands_its_subscription_over_at_once() {
        assertThat(signalsWhileWaiting(ours())).containsExactly("subscription");
    }

    @Test
    void theirs_hands_no_subscription_over_while_it_waits_so_there_is_nothing_to_cancel() {
        List<String> signals = signalsWhileWaiting(theirs());
        assertThat(signals).isEmpty();
        time.advanceTimeBy(ofMinutes(61));
        assertThat(signals).containsExactly("subscription");
    }

    private void cancelWhileWaiting(UnaryOperator<Publisher<String>> limit) {
        start(call("first", limit));
        cancelled(call("cancelled", limit));
        time.advanceTimeBy(ofMinutes(61));
        start(call("next", limit));
    }

    @Test
    void ours_sends_nothing_for_a_caller_who_cancelled_and_its_permit_is_the_next_ones() {
        cancelWhileWaiting(ours());
        assertThat(sent).containsExactly("first", "next");
        assertThat(answered).containsExactly("first", "next");
    }

    @Test
    void theirs_sends_for_a_caller_who_cancelled_and_its_permit_is_gone() {
        cancelWhileWaiting(theirs());
        assertThat(sent).containsExactly("first", "cancelled");
        assertThat(answered).containsExactly("first");
    }

    private void timeoutWhileWaiting(UnaryOperator<Publisher<String>> limit) {
        start(call("first", limit));
        start(call("timed out", limit).timeout(ofSeconds(1)));
        time.advanceTimeBy(ofSeconds(1));
        time.advanceTimeBy(ofMinutes(61));
    }

    @Test
    void ours_sends_nothing_for_a_caller_who_timed_out() {
        timeoutWhileWaiting(ours());
        assertThat(answered).containsExactly("first", "TimeoutException");
        assertThat(sent).containsExactly("first");
    }

    @Test
    void theirs_lets_no_timeout_ring_while_it_waits() {
        timeoutWhileWaiting(theirs());
        assertThat(answered).containsExactly("first", "timed out");
        assertThat(sent).containsExactly("first", "timed out");
    }

    private void twentyCancelled(UnaryOperator<Publisher<String>> limit) {
        start(call("first", limit));
        for (int i = 0; i < 20; i++) {
            cancelled(call("cancelled", limit));
        }
        start(call("last", limit));
    }

    @Test
    void ours_lets_the_caller_behind_twenty_who_cancelled_go_after_one_period() {
        twentyCancelled(ours());
        time.advanceTimeBy(ofMinutes(59));
        assertThat(answered).containsExactly("first");
        time.advanceTimeBy(ofMinutes(2));
        assertThat(answered).containsExactly("first", "last");
        assertThat(sent).containsExactly("first", "last");
    }

    @Test
    void theirs_lets_the_caller_behind_twenty_who_cancelled_go_after_twenty_one_periods() {
        twentyCancelled(theirs());
        time.advanceTimeBy(ofHours(20));
        assertThat(answered).containsExactly("first");
        time.advanceTimeBy(ofHours(1));
        assertThat(answered).containsExactly("first", "last");
        assertThat(sent).hasSize(22);
    }

    private void anHourLater(UnaryOperator<Publisher<String>> limit) {
        start(call("first", limit));
        time.advanceTimeBy(ofMinutes(61));
        start(call("an hour later", limit));
    }

    @Test
    void ours_has_a_permit_again_when_a_virtual_hour_is_over() {
        anHourLater(ours());
        assertThat(answered).containsExactly("first", "an hour later");
    }

    @Test
    void theirs_counts_in_real_time_and_waits_in_virtual_time() {
        anHourLater(theirs());
        assertThat(answered).containsExactly("first");
        time.advanceTimeBy(ofMinutes(61));
        assertThat(answered).containsExactly("first", "an hour later");
    }

    // --------------------------------------------------------------------------------------------------- the table

    private record Scene(String name, Function<UnaryOperator<Publisher<String>>, String> play) {

        String row(String ours, String theirs) {
            return "| " + name + " | " + ours + " | " + theirs + " |";
        }
    }

    private String afterwards() {
        return "sent " + sent + ", answered " + answered;
    }

    /** How long after now the call that was started is answered, to the minute, of which real time is far less. */
    private String minutesUntilAnswered(Runnable start) {
        begun = Duration.ofMillis(time.now(TimeUnit.MILLISECONDS));
        int before = answered.size();
        start.run();
        time.advanceTimeBy(ofDays(2));
        assertThat(answered).hasSizeGreaterThan(before).endsWith("last");
        return Math.round(answeredAfter.toMillis() / 60_000.0) + " min";
    }

    private List<Scene> scenes() {
        return List.of(
                new Scene("a caller has to wait", limit -> {
                    boolean subscribed = !signalsWhileWaiting(limit).isEmpty();
                    return subscribed ? "has its subscription at once" : "has no subscription until its turn";
                }),
                new Scene("cancel while waiting, then the next", limit -> {
                    cancelWhileWaiting(limit);
                    return afterwards();
                }),
                new Scene("timeout of 1 s while waiting", limit -> {
                    timeoutWhileWaiting(limit);
                    return afterwards();
                }),
                new Scene("20 cancelled before one caller", limit -> {
                    String minutes = minutesUntilAnswered(() -> twentyCancelled(limit));
                    return "goes after " + minutes + ", sent " + sent.size();
                }),
                new Scene("61 virtual minutes after the first call", limit -> {
                    start(call("first", limit));
                    time.advanceTimeBy(ofMinutes(61));
                    return "waits " + minutesUntilAnswered(() -> start(call("last", limit)));
                }));
    }

    private String played(Scene scene, UnaryOperator<Publisher<String>> limit) {
        uninstall();
        install();
        sent.clear();
        answered.clear();
        return scene.play.apply(limit);
    }

    private static String theirVersion() {
        String version = RateLimiterOperator.class.getPackage().getImplementationVersion();
        assertThat(version).as("the version in their manifest").isNotNull();
        return version;
    }

    @Test
    void the_table_in_the_docs_is_what_each_did() throws IOException {
        List<String> table = new ArrayList<>();
        table.add("| one call per hour, virtual time | this library | resilience4j " + theirVersion() + " |");
        table.add("| --- | --- | --- |");
        for (Scene scene : scenes()) {
            table.add(scene.row(played(scene, ours()), played(scene, theirs())));
        }
        table.forEach(System.out::println);
        assertThat(Files.readString(Path.of("../docs/webclient.md"))).contains(String.join("\n", table));
    }
}
