package io.github.reactorratelimit.examples;

import static java.time.Duration.ofSeconds;

import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimitContext;
import io.github.reactorratelimit.RateLimitListener;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RetriesExhaustedException;
import io.github.reactorratelimit.metrics.RateLimitMetrics;
import io.github.reactorratelimit.metrics.RateLimitObservations;
import io.github.reactorratelimit.netty.RateLimitedHttpClient;
import io.micrometer.core.instrument.Measurement;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.ObservationRegistry;
import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.http.client.HttpClient;

/** Who waits, who is refused, and what the server says of us: meters, traces, events. */
public final class Observability {

    private Observability() {}

    static RateLimiter observed(MeterRegistry meters, ObservationRegistry observations, RateLimitListener onCall) {
        RateLimiter api = RateLimiter.named("partner")
                .limit(Limit.of(5, ofSeconds(10)))
                .listener(RateLimitMetrics.of(meters))
                .listener(RateLimitObservations.of(observations))
                .listener(onCall)
                .build();
        return api;
    }

    /** Wakes somebody when waiting is no longer enough. */
    record OnCall(Consumer<String> page) implements RateLimitListener {

        @Override
        public void exhausted(Subject who, RetriesExhaustedException why) {
            page.accept(who.limiter() + " gave up after " + why.attempts() + " attempts");
        }

        @Override
        public void closed(Closing closing) {
            if (closing.remaining().toSeconds() > 60) {
                page.accept(closing.limiter() + " is closed for " + closing.remaining());
            }
        }
    }

    /** What a call sees of its attempt. */
    static Mono<String> told() {
        return Mono.deferContextual(context -> Mono.just("attempt " + RateLimitContext.attempt(context) + ", waited "
                + RateLimitContext.waited(context).toSeconds() + " s"));
    }

    /** Tells the server too. */
    static RateLimitedHttpClient telling(RateLimiter api) {
        return RateLimitedHttpClient.of(HttpClient.create(), api)
                .attemptHeader("X-Attempt")
                .waitedHeader("X-Waited-Millis");
    }

    /** A registry's meters, a line each, sorted. */
    static List<String> lines(MeterRegistry registry) {
        return registry.getMeters().stream().map(Observability::line).sorted().toList();
    }

    private static String line(Meter meter) {
        String tags =
                meter.getId().getTags().stream().map(Observability::text).collect(Collectors.joining(", ", "{", "}"));
        String values = StreamSupport.stream(meter.measure().spliterator(), false)
                .map(Observability::text)
                .collect(Collectors.joining(" "));
        return meter.getId().getName() + tags + " " + values;
    }

    private static String text(Tag tag) {
        return tag.getKey() + "=" + tag.getValue();
    }

    private static String text(Measurement measurement) {
        return String.format(
                Locale.ROOT, "%s=%.2f", measurement.getStatistic().getTagValueRepresentation(), measurement.getValue());
    }

    /**
     * Prints the meters of seven calls at five per ten seconds, after about ten seconds.
     *
     * @param args none
     */
    public static void main(String[] args) {
        SimpleMeterRegistry meters = new SimpleMeterRegistry();
        RateLimiter api = observed(meters, ObservationRegistry.create(), new OnCall(System.err::println));
        Flux.range(1, 7)
                .flatMap(n -> told().transform(api.limit()))
                .doOnNext(System.out::println)
                .blockLast();
        lines(meters).forEach(System.out::println);
    }
}
