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
        return bucket == null || bucket.isEmpty() || bucket.length() > LONGEST_BUCKET
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
        Duration delay = signal.delay();
        builder.hint(exact);
        if (delay == null || delay.equals(signal.hint()) || delay.compareTo(exact) < 0) {
            builder.delay(exact).coarse(false).reason("the body's retry_after");
        }
        return builder.build();
    }

    @Override
    public String toString() {
        return "Discord";
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
