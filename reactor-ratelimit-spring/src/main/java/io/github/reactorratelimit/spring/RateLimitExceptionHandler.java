package io.github.reactorratelimit.spring;

import io.github.reactorratelimit.LimiterUnavailableException;
import io.github.reactorratelimit.QueueFullException;
import io.github.reactorratelimit.RateLimitedException;
import io.github.reactorratelimit.RetriesExhaustedException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.web.ErrorResponse;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebExceptionHandler;
import reactor.core.publisher.Mono;

/**
 * For a WebFlux server: what our limiters refuse becomes a 429 towards the server's own callers, without a body, and what
 * another server refused for as long as we tried a 503. One bean of this type is all that it takes.
 *
 * <p>{@link RateLimitedException} and {@link QueueFullException} are 429s: there were too many of our callers.
 * {@link RetriesExhaustedException} and {@link LimiterUnavailableException} are 503s, since the callers can do nothing about
 * them. {@code Retry-After} (RFC 9110,
 * 10.2.3) says in whole seconds, rounded up, what a refusal knows of the time, or what the other server asked for last.
 *
 * <p>They are found behind exceptions that wrap them too, unless one of those says a status itself: an
 * {@link ErrorResponse}, such as {@code ResponseStatusException}, or one with {@link ResponseStatus}. Everything else is
 * left to the handlers behind, {@code TerminalThrottleException} included, with which waiting does not help, as is a
 * response that is already on its way. It stands before Spring Boot's handler, which has the order -1. Without state, and
 * thread-safe.
 */
public final class RateLimitExceptionHandler implements WebExceptionHandler, Ordered {

    private static final int BEFORE_BOOT = -2;
    private static final int MOST_CAUSES = 20;

    /** A handler; all are alike. */
    public RateLimitExceptionHandler() {}

    @Override
    public int getOrder() {
        return BEFORE_BOOT;
    }

    @Override
    public Mono<Void> handle(ServerWebExchange exchange, Throwable error) {
        Answer answer = answer(error);
        ServerHttpResponse response = exchange.getResponse();
        if (answer == null || !response.setStatusCode(answer.status)) {
            return Mono.error(error);
        }
        if (answer.retryAfter != null) {
            response.getHeaders().set(HttpHeaders.RETRY_AFTER, Long.toString(wholeSeconds(answer.retryAfter)));
        }
        return response.setComplete();
    }

    private record Answer(HttpStatus status, @Nullable Duration retryAfter) {}

    private static @Nullable Answer answer(Throwable error) {
        Throwable cause = error;
        for (int i = 0; cause != null && i < MOST_CAUSES && !saysItself(cause); i++) {
            Answer known = row(cause);
            if (known != null) {
                return known;
            }
            cause = cause.getCause();
        }
        return null;
    }

    private static @Nullable Answer row(Throwable cause) {
        if (cause instanceof RateLimitedException refusal) {
            return new Answer(HttpStatus.TOO_MANY_REQUESTS, refusal.retryAfter());
        }
        if (cause instanceof QueueFullException) {
            return new Answer(HttpStatus.TOO_MANY_REQUESTS, null);
        }
        if (cause instanceof RetriesExhaustedException exhausted) {
            return new Answer(HttpStatus.SERVICE_UNAVAILABLE, exhausted.lastHint());
        }
        return cause instanceof LimiterUnavailableException ? new Answer(HttpStatus.SERVICE_UNAVAILABLE, null) : null;
    }

    private static boolean saysItself(Throwable cause) {
        return cause instanceof ErrorResponse
                || AnnotatedElementUtils.hasAnnotation(cause.getClass(), ResponseStatus.class);
    }

    private static long wholeSeconds(Duration left) {
        return left.getNano() == 0 ? left.getSeconds() : Math.addExact(left.getSeconds(), 1);
    }
}
