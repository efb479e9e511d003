package io.github.reactorratelimit.signal;

import java.util.Objects;
import java.util.function.BiFunction;

/** A dialect whose signals pass through a function. */
final class AdjustedDialect implements Dialect {

    private final Dialect dialect;
    private final BiFunction<RateLimitSignal, Headers, RateLimitSignal> change;

    AdjustedDialect(Dialect dialect, BiFunction<RateLimitSignal, Headers, RateLimitSignal> change) {
        this.dialect = dialect;
        this.change = Objects.requireNonNull(change, "change");
    }

    @Override
    public RateLimitSignal read(int status, Headers headers, long wallNowMillis) {
        return change.apply(dialect.read(status, headers, wallNowMillis), headers);
    }

    @Override
    public int bodyBytes(int status, Headers headers) {
        return dialect.bodyBytes(status, headers);
    }

    @Override
    public RateLimitSignal readBody(int status, Headers headers, byte[] body, long wallNowMillis) {
        return change.apply(dialect.readBody(status, headers, body, wallNowMillis), headers);
    }

    @Override
    public String toString() {
        return dialect + ", adjusted";
    }
}
