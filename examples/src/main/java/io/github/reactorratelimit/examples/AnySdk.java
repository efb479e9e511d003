package io.github.reactorratelimit.examples;

import static java.time.Duration.ofSeconds;

import io.github.reactorratelimit.Failure;
import io.github.reactorratelimit.FailureReader;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.signal.Headers;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** Calls through an SDK or a gRPC stub: its exceptions are all that is seen of a response. Switch its own retries off. */
public final class AnySdk {

    private static final Metadata.Key<String> PUSHBACK =
            Metadata.Key.of("grpc-retry-pushback-ms", Metadata.ASCII_STRING_MARSHALLER);

    private AnySdk() {}

    /** What the SDKs of cloud services throw, such as AWS's for Java: some throttles of theirs have the status 400. */
    static final class ServiceException extends RuntimeException {

        private static final long serialVersionUID = 1L;

        private final String code;
        private final int status;
        private final transient Map<String, String> headers;

        ServiceException(String code, int status, Map<String, String> headers) {
            super(code);
            this.code = code;
            this.status = status;
            this.headers = headers;
        }

        boolean isThrottlingException() {
            return code.equals("ThrottlingException") || code.equals("ProvisionedThroughputExceededException");
        }

        int statusCode() {
            return status;
        }

        Map<String, String> headers() {
            return headers;
        }
    }

    static FailureReader sdk() {
        FailureReader sdk = FailureReader.of(
                ServiceException.class,
                error -> error.isThrottlingException()
                        ? Failure.throttled(null)
                        : Failure.response(error.statusCode(), Headers.of(error.headers())));
        return sdk;
    }

    static FailureReader grpc() {
        FailureReader grpc = FailureReader.of(
                StatusRuntimeException.class,
                error -> error.getStatus().getCode() == Status.Code.RESOURCE_EXHAUSTED
                        ? Failure.throttled(pushback(error.getTrailers()))
                        : null);
        return grpc;
    }

    /** How long the server asks to stay away (gRFC A6), if it does. */
    private static @Nullable Duration pushback(@Nullable Metadata trailers) {
        String millis = trailers == null ? null : trailers.get(PUSHBACK);
        return millis != null && millis.matches("\\d{1,9}") ? Duration.ofMillis(Long.parseLong(millis)) : null;
    }

    static <T> Mono<T> call(RateLimiter api, FailureReader reader, Supplier<CompletableFuture<T>> stub) {
        Mono<T> item =
                Mono.fromFuture(stub).transform(api.calls().failures(reader).limit());
        return item;
    }

    /**
     * Prints what an SDK answers when it is asked again.
     *
     * @param args none
     */
    public static void main(String[] args) {
        AtomicInteger calls = new AtomicInteger();
        Supplier<CompletableFuture<String>> stub = () -> calls.getAndIncrement() == 0
                ? CompletableFuture.failedFuture(new ServiceException("ThrottlingException", 400, Map.of()))
                : CompletableFuture.completedFuture("answered after " + calls + " calls");
        System.out.println(
                call(RateLimiter.of(Limit.of(5, ofSeconds(1))), sdk(), stub).block());
    }
}
