package io.github.reactorratelimit.signal;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Discord from API version 8 on: seconds everywhere. The bucket is the quota's partition, a global refusal has the scope
 * {@code global}; the body's {@code retry_after} has fractions where {@code Retry-After} is rounded up to whole seconds.
 */
final class DiscordDialect implements Dialect {

    private static final int BODY = 4 * 1024;
    /** They are hashes of 32 digits. */
    private static final int LONGEST_BUCKET = 256;

    private final Dialect standard = StandardDialect.INSTANCE;

    @Override
    public RateLimitSignal read(int status, Headers headers, long wallNowMillis) {
        RateLimitSignal signal = standard.read(status, headers, wallNowMillis);
        String bucket = headers.first("x-ratelimit-bucket");
        return bucket == null
                        || bucket.isEmpty()
                        || bucket.length() > LONGEST_BUCKET
                        || StandardDialect.isStored(headers)
                ? signal
                : signal.toBuilder().bucket(bucket).build();
    }

    @Override
    public int bodyBytes(int status, Headers headers) {
        return status == 429 ? BODY : 0;
    }

    @Override
    public RateLimitSignal readBody(int status, Headers headers, byte[] body, long wallNowMillis) {
        RateLimitSignal signal = read(status, headers, wallNowMillis);
        Refusal refusal = new Refusal();
        if (status != 429 || !BodyReader.present().walk(body, 0, refusal)) {
            return signal;
        }
        RateLimitSignal.Builder builder = signal.toBuilder();
        if (refusal.global) {
            builder.scope("global");
        }
        Duration exact = refusal.wait;
        if (exact == null || isNoRounding(signal.hint(), exact)) {
            return builder.build();
        }
        return exactly(exact, signal, builder.hint(exact)).build();
    }

    @Override
    public String toString() {
        return "Discord";
    }

    /** The wait is the longest of what counts, with the exact figure in place of the rounded one. */
    private static RateLimitSignal.Builder exactly(
            Duration exact, RateLimitSignal signal, RateLimitSignal.Builder builder) {
        Duration delay = signal.delay();
        if (delay != null && !delay.equals(signal.hint()) && delay.compareTo(exact) >= 0) {
            return builder;
        }
        Duration longest = exact;
        boolean coarse = false;
        for (Quota quota : signal.quotas()) {
            Duration reset = quota.exhausted() ? quota.reset() : null;
            if (reset != null && reset.compareTo(longest) > 0) {
                longest = reset;
                coarse = quota.coarse();
            }
        }
        return builder.delay(longest)
                .coarse(coarse)
                .reason(longest.equals(exact) ? "the body's retry_after" : "the reset of an empty quota");
    }

    // a header that is longer by a second or more is no rounding of the body's figure: then it stays
    private static boolean isNoRounding(@Nullable Duration header, Duration exact) {
        return header != null
                && header.compareTo(exact) > 0
                && header.minus(exact).compareTo(Duration.ofSeconds(1)) >= 0;
    }

    /** What matters of a refusal's body. */
    private static final class Refusal implements BodyReader.Leaves {

        private @Nullable Duration wait;
        private boolean global;

        @Override
        public void leaf(String path, String text) {
            if (path.equals("retry_after")) {
                wait = BodyText.seconds(text);
            } else if (path.equals("global")) {
                global = text.equals("true");
            }
        }
    }
}
