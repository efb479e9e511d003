package io.github.reactorratelimit.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.signal.Headers;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class OwnDialectTest {

    private static RateLimitSignal read(int status, String... headers) {
        return OwnDialect.partner().read(status, Headers.of(headers), 0);
    }

    @Test
    void its_own_words_are_understood() {
        assertThat(read(429, "X-Wait-Ms", "1500").delay()).isEqualTo(Duration.ofMillis(1500));
        assertThat(read(418).throttled()).isTrue();
        assertThat(read(418).delay()).isEqualTo(Duration.ofSeconds(30));
        assertThat(read(429).delay()).isEqualTo(Duration.ofSeconds(30));
    }

    @Test
    void the_rest_is_as_the_standard_reads_it() {
        assertThat(read(429, "Retry-After", "7").delay()).isEqualTo(Duration.ofSeconds(7));
        assertThat(read(200, "X-RateLimit-Remaining", "9").quotas()).hasSize(1);
        assertThat(read(200).throttled()).isFalse();
    }

    @Test
    void a_limiter_hears_by_it() {
        RateLimiter api = OwnDialect.limiter();
        api.tryAcquire().permit().complete(read(418));
        assertThat(api.tryAcquire().allowed()).isFalse();
        api.dispose();
    }
}
