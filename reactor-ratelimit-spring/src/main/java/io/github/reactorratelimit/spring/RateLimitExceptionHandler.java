package io.github.reactorratelimit.spring;

import io.github.reactorratelimit.QueueFullException;
import io.github.reactorratelimit.RateLimitedException;
import java.time.Duration;
import org.springframework.core.Ordered;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebExceptionHandler;
import reactor.core.publisher.Mono;

/**
 * For a WebFlux server: what our limiters refuse becomes a 429 towards the server's own callers, without a body. One bean of
 * this type is all that it takes.
 *
 * <p>{@link RateLimitedException} gives a {@code Retry-After} (RFC 9110, 10.2.3) in whole seconds, rounded up, if the time is
 * known; {@link QueueFullException} gives none. Everything else is left to the handlers behind, as is a response that is
 * already on its way. It stands before Spring Boot's handler, which has the order -1.
 */
public final class RateLimitExceptionHandler implements WebExceptionHandler, Ordered {

    private static final int BEFORE_BOOT = -2;

    /** A handler; all are alike. */
    public RateLimitExceptionHandler() {}

    @Override
    public int getOrder() {
        return BEFORE_BOOT;
    }

    @Override
    public Mono<Void> handle(ServerWebExchange exchange, Throwable error) {
        boolean ours = error instanceof RateLimitedException || error instanceof QueueFullException;
        ServerHttpResponse response = exchange.getResponse();
        if (!ours || !response.setStatusCode(HttpStatus.TOO_MANY_REQUESTS)) {
            return Mono.error(error);
        }
        if (error instanceof RateLimitedException refusal && refusal.retryAfter() != null) {
            response.getHeaders().set(HttpHeaders.RETRY_AFTER, Long.toString(wholeSeconds(refusal.retryAfter())));
        }
        return response.setComplete();
    }

    private static long wholeSeconds(Duration left) {
        return left.getNano() == 0 ? left.getSeconds() : Math.addExact(left.getSeconds(), 1);
    }
}
