package io.github.reactorratelimit;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigInteger;
import java.time.Duration;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.LongRange;
import org.junit.jupiter.api.Test;

class ExactTest {

    private static final BigInteger MAX = BigInteger.valueOf(Long.MAX_VALUE);

    @Property
    void division_is_that_of_unbounded_integers(
            @ForAll @LongRange(min = 0) long a,
            @ForAll @LongRange(min = 0) long b,
            @ForAll @LongRange(min = 0) long c,
            @ForAll @LongRange(min = 1) long d) {
        BigInteger sum = BigInteger.valueOf(a).multiply(BigInteger.valueOf(b)).add(BigInteger.valueOf(c));
        BigInteger[] parts = sum.divideAndRemainder(BigInteger.valueOf(d));
        BigInteger up = parts[1].signum() == 0 ? parts[0] : parts[0].add(BigInteger.ONE);
        assertThat(Exact.floorDiv(a, b, c, d)).isEqualTo(parts[0].min(MAX).longValueExact());
        assertThat(Exact.ceilDiv(a, b, c, d)).isEqualTo(up.min(MAX).longValueExact());
        assertThat(Exact.remainder(a, b, c, d)).isEqualTo(parts[1].longValueExact());
    }

    @Property
    void sums_and_differences_saturate(@ForAll long a, @ForAll long b) {
        BigInteger min = BigInteger.valueOf(Long.MIN_VALUE);
        BigInteger sum = BigInteger.valueOf(a).add(BigInteger.valueOf(b));
        BigInteger difference = BigInteger.valueOf(a).subtract(BigInteger.valueOf(b));
        assertThat(Exact.add(a, b)).isEqualTo(sum.min(MAX).max(min).longValueExact());
        assertThat(Exact.subtract(a, b)).isEqualTo(difference.min(MAX).max(min).longValueExact());
    }

    @Test
    void durations_that_do_not_fit_are_292_years() {
        assertThat(Exact.nanos(Duration.ofSeconds(Long.MAX_VALUE))).isEqualTo(Long.MAX_VALUE);
        assertThat(Exact.nanos(Duration.ofNanos(Long.MAX_VALUE))).isEqualTo(Long.MAX_VALUE);
        assertThat(Exact.nanos(Duration.ofSeconds(9_223_372_035L, 999_999_999))).isEqualTo(9_223_372_035_999_999_999L);
        assertThat(Exact.nanos(Duration.ofSeconds(-1))).isZero();
        assertThat(Exact.nanos(Duration.ofNanos(1))).isEqualTo(1);
    }
}
