package io.github.reactorratelimit.examples;

import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.FailureReader;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.examples.AnySdk.ServiceException;
import io.grpc.Metadata;
import io.grpc.Status;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.test.scheduler.VirtualTimeScheduler;

class AnySdkTest {

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final List<Duration> sent = new ArrayList<>();
    private final List<String> outcomes = new ArrayList<>();

    /** Fails with these one after another, and then answers. */
    private void call(FailureReader reader, Throwable... failures) {
        RateLimiter api = RateLimiter.named("sdk")
                .limit(Limit.of(100, ofSeconds(1)))
                .jitter(0)
                .scheduler(() -> time)
                .build();
        Disposable call = AnySdk.call(api, reader, () -> {
                    sent.add(Duration.ofNanos(time.now(TimeUnit.NANOSECONDS)));
                    return sent.size() <= failures.length
                            ? CompletableFuture.<String>failedFuture(failures[sent.size() - 1])
                            : CompletableFuture.completedFuture("done");
                })
                .subscribe(outcomes::add, error -> outcomes.add(Objects.toString(error.getMessage())));
        time.advanceTimeBy(ofHours(1));
        call.dispose();
    }

    private static Throwable exhausted(@Nullable String pushback) {
        Metadata trailers = new Metadata();
        if (pushback != null) {
            trailers.put(Metadata.Key.of("grpc-retry-pushback-ms", Metadata.ASCII_STRING_MARSHALLER), pushback);
        }
        return Status.RESOURCE_EXHAUSTED.asRuntimeException(trailers);
    }

    @Test
    void a_throttle_of_an_sdk_is_one_whatever_its_status() {
        call(AnySdk.sdk(), new ServiceException("ThrottlingException", 400, Map.of()));
        assertThat(outcomes).containsExactly("done");
        assertThat(sent).containsExactly(ofSeconds(0), ofSeconds(1));
    }

    @Test
    void other_errors_of_an_sdk_are_their_status_and_headers() {
        call(
                AnySdk.sdk(),
                new ServiceException("SlowDown", 503, Map.of("Retry-After", "7")),
                new ServiceException("AccessDenied", 403, Map.of()));
        assertThat(outcomes).containsExactly("AccessDenied");
        assertThat(sent).containsExactly(ofSeconds(0), ofSeconds(7));
    }

    @Test
    void an_exhausted_resource_of_grpc_waits_as_long_as_the_server_pushes_back() {
        call(AnySdk.grpc(), exhausted("1500"), exhausted(null));
        assertThat(outcomes).containsExactly("done");
        assertThat(sent).containsExactly(ofSeconds(0), ofMillis(1_500), ofMillis(3_500));
    }

    @Test
    void another_status_of_grpc_is_handed_on() {
        call(AnySdk.grpc(), Status.PERMISSION_DENIED.asRuntimeException());
        assertThat(outcomes).containsExactly("PERMISSION_DENIED");
    }
}
