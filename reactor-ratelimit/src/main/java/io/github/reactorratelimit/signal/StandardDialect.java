package io.github.reactorratelimit.signal;

/**
 * RFC 9110's {@code Retry-After}, the X-RateLimit families as they come, and the four generations of the IETF draft. Has no
 * state of its own.
 */
final class StandardDialect implements Dialect {

    static final StandardDialect INSTANCE = new StandardDialect();

    private StandardDialect() {}

    @Override
    public RateLimitSignal read(int status, Headers headers, long wallNowMillis) {
        Reading reading = Reading.begin(wallNowMillis);
        try {
            headers.forEach(reading);
            return reading.signal(status);
        } finally {
            reading.end();
        }
    }

    /** Whether a response came out of a cache: what it says of quotas is about another call. */
    static boolean isStored(Headers headers) {
        String age = headers.first("age");
        return age != null && BodyText.count(BodyText.plain(age)) > 0;
    }

    @Override
    public String toString() {
        return "standard";
    }
}
