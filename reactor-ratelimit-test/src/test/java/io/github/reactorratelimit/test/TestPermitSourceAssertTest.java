package io.github.reactorratelimit.test;

import static io.github.reactorratelimit.test.RateLimitAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Permit;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;

class TestPermitSourceAssertTest {

    private static final Demand SEARCH = Demand.of("endpoint", "/search");

    @Test
    void permits_that_are_open_and_demands_that_wait_are_told() {
        TestPermitSource source = TestPermitSource.granting();
        Permit first = Objects.requireNonNull(source.acquire(SEARCH).block());
        Objects.requireNonNull(source.acquire(SEARCH).block()).complete(RateLimitSignal.none(200));
        Disposable waiting = source.hold().acquire(SEARCH).subscribe();
        source.refuse(() -> new IllegalStateException("no")).acquire(SEARCH).subscribe(permit -> {}, error -> {});

        assertThat(source).demands(4);
        assertThatThrownBy(() -> assertThat(source).isBalanced())
                .isInstanceOf(AssertionError.class)
                .hasMessage("""
                        Expecting every permit to be released and nobody to wait, but of 4 demands these are open:
                          #1 Demand{1 requests by endpoint} GRANTED
                          #3 Demand{1 requests by endpoint} WAITING""");
        first.release();
        waiting.dispose();
        assertThat(source).isBalanced();
    }

    @Test
    void a_wrong_number_of_demands_is_told_with_all_of_them() {
        TestPermitSource source = TestPermitSource.granting();
        source.acquire(SEARCH).subscribe();

        assertThatThrownBy(() -> assertThat(source).demands(2))
                .isInstanceOf(AssertionError.class)
                .hasMessage("""
                        Expecting 2 demands, but there were 1:
                          Demand{1 requests by endpoint} GRANTED""");
    }
}
