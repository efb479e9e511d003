package io.github.reactorratelimit;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.signal.Dialects;
import io.github.reactorratelimit.signal.Headers;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Two scopes of one call that are closed for a different time. */
class TwoHintsTest {

    private static final Demand ANNA = Demand.of("user", "anna");
    private static final Demand BEN = Demand.of("user", "ben");

    private final VirtualTime time = new VirtualTime();
    private final RateLimiter limiter = time.spec()
            .limit(Limit.of(100, ofSeconds(1)))
            .scope(Scope.by("user").limits(Limit.of(100, ofSeconds(1))))
            .dialect(Dialects.microsoftGraph())
            .build();

    private Permit granted(Demand demand) {
        return time.ask(limiter, demand).permit();
    }

    private void refuse(Permit permit, String scope, int seconds) {
        Headers headers = Headers.of("x-ms-throttle-scope", scope, "Retry-After", Integer.toString(seconds));
        permit.complete(Dialects.microsoftGraph().read(429, headers, VirtualTime.W0.toEpochMilli()));
    }

    @ParameterizedTest
    @CsvSource({"User,30,Application,2", "Application,2,User,30", "User,2,Application,30", "Application,30,User,2"})
    void a_call_waits_for_the_longest(String first, int firstSeconds, String second, int secondSeconds) {
        Permit one = granted(ANNA);
        Permit other = granted(ANNA);
        refuse(one, first, firstSeconds);
        refuse(other, second, secondSeconds);
        assertThat(limiter.estimate(ANNA).retryAfter()).isEqualTo(ofSeconds(30));
        Asked asked = time.ask(limiter, ANNA);
        time.runTo(ofSeconds(60));
        assertThat(asked.at()).isEqualTo(ofSeconds(30));
    }

    @Test
    void whoever_is_under_one_of_the_two_only_waits_for_that_one() {
        Permit one = granted(ANNA);
        Permit other = granted(ANNA);
        refuse(one, "User", 30);
        refuse(other, "Application", 2);
        Asked ben = time.ask(limiter, BEN);
        time.runTo(ofSeconds(60));
        assertThat(ben.at()).isEqualTo(Duration.ofSeconds(2));
    }
}
