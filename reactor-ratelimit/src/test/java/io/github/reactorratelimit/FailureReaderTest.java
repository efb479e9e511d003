package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofNanos;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.signal.Headers;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;

/** Readers of any SDK's exceptions, in a line or three. */
class FailureReaderTest {

    /** As SDKs have them: a status, and the delay that the server asks for. */
    private static final class SdkException extends Exception {

        private static final long serialVersionUID = 1L;

        private final int status;
        private final transient @Nullable Duration delay;

        SdkException(int status, @Nullable Duration delay) {
            super("status " + status);
            this.status = status;
            this.delay = delay;
        }
    }

    private static final FailureReader SDK = FailureReader.of(
            SdkException.class,
            error -> error.status == 429
                    ? Failure.throttled(error.delay)
                    : error.status == 0 ? null : Failure.response(error.status, Headers.of()));

    private final VirtualTime time = new VirtualTime();
    private final RateLimiter limiter = time.limiter(Limit.total(100));
    private final List<Duration> sent = new ArrayList<>();
    private final List<String> outcomes = new ArrayList<>();

    /** Calls an SDK that fails with these one after another, and then succeeds. */
    private void call(Throwable... failures) {
        Mono<String> source = Mono.fromFuture(() -> {
            int n = sent.size();
            sent.add(time.elapsed());
            return n < failures.length
                    ? CompletableFuture.<String>failedFuture(failures[n])
                    : CompletableFuture.completedFuture("done");
        });
        Disposable call = source.transform(limiter.calls().failures(SDK).limit())
                .subscribe(outcomes::add, error -> outcomes.add(Objects.toString(error.getMessage())));
        time.advance(ofSeconds(200));
        call.dispose();
    }

    @Test
    void a_throttle_closes_the_limiter_for_the_delay_of_the_server_and_is_tried_again() {
        call(
                new SdkException(429, ofMillis(1_500)),
                new SdkException(429, ofSeconds(100).plusNanos(1)));
        assertThat(outcomes).containsExactly("done");
        assertThat(sent)
                .containsExactly(
                        ofSeconds(0), ofMillis(1_500), ofMillis(101_500).plusNanos(1));
    }

    @Test
    void a_throttle_without_a_delay_closes_it_for_a_second_and_then_for_two() {
        call(new SdkException(429, null), new SdkException(429, ofNanos(-1)));
        assertThat(outcomes).containsExactly("done");
        assertThat(sent).containsExactly(ofSeconds(0), ofSeconds(1), ofSeconds(3));
    }

    @Test
    void the_exception_is_found_behind_those_that_wrap_it() {
        call(new CompletionException(new IOException(new SdkException(429, ofSeconds(7)))));
        assertThat(sent).containsExactly(ofSeconds(0), ofSeconds(7));
    }

    @Test
    void what_the_function_or_the_type_does_not_know_is_handed_on() {
        call(new SdkException(0, null));
        assertThat(outcomes).containsExactly("status 0");
        assertThat(SDK.read(new IOException("other"))).isNull();
    }

    @Test
    void causes_that_go_in_a_circle_come_to_an_end() {
        Exception one = new IOException("one");
        one.initCause(new IOException("two", one));
        assertThat(SDK.read(one)).isNull();
    }

    @Test
    void the_nearest_of_several_is_read() {
        SdkException outer = new SdkException(503, null);
        outer.initCause(new SdkException(429, null));
        assertThat(Objects.requireNonNull(SDK.read(outer)).status()).isEqualTo(503);
    }
}
