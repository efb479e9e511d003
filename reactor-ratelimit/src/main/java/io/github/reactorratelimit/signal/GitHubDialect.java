package io.github.reactorratelimit.signal;

import java.time.Duration;
import java.util.Locale;

/**
 * GitHub, REST and GraphQL. Primary limits are in the headers; a secondary limit may be a 403 or a 429 with units left,
 * which only the message tells from a permission error; GraphQL refuses with a 200.
 */
final class GitHubDialect implements Dialect {

    private static final Duration SECONDARY = Duration.ofSeconds(60);
    private static final int ANONYMOUS_LIMIT = 60;
    private static final int BODY = 16 * 1024;

    private final Dialect standard = StandardDialect.INSTANCE;

    @Override
    public RateLimitSignal read(int status, Headers headers, long wallNowMillis) {
        RateLimitSignal signal = standard.read(status, headers, wallNowMillis);
        if (signal.throttled() && signal.delay() == null && !exhausted(signal)) {
            return secondary(signal);
        }
        if (status == 304 && isAuthorised(signal)) {
            return signal.toBuilder().cost(0).build();
        }
        return signal;
    }

    @Override
    public int bodyBytes(int status, Headers headers) {
        if (status == 403) {
            return read(status, headers, 0).throttled() ? 0 : BODY;
        }
        boolean graphQl = status == 200
                && ("graphql".equals(headers.first("x-ratelimit-resource"))
                        || "0".equals(headers.first("x-ratelimit-remaining")));
        return graphQl ? BODY : 0;
    }

    @Override
    public RateLimitSignal readBody(int status, Headers headers, byte[] body, long wallNowMillis) {
        RateLimitSignal signal = read(status, headers, wallNowMillis);
        Message message = new Message();
        if (!BodyReader.present().walk(body, 0, message)) {
            return signal;
        }
        if (message.cost >= 0) {
            signal = signal.toBuilder().cost(message.cost).build();
        }
        if (message.secondary) {
            return secondary(signal);
        }
        boolean refused = status == 200 ? message.rateLimited : status == 403 && message.primary;
        if (!refused || signal.throttled()) {
            return signal;
        }
        return signal.toBuilder()
                .throttled(true)
                .reason(
                        signal.delay() == null
                                ? "GitHub says RATE_LIMITED"
                                : "GitHub says RATE_LIMITED, " + signal.reason())
                .build();
    }

    @Override
    public String toString() {
        return "GitHub";
    }

    private static RateLimitSignal secondary(RateLimitSignal signal) {
        RateLimitSignal.Builder builder = signal.toBuilder().throttled(true);
        return signal.delay() != null
                ? builder.build()
                : builder.delay(SECONDARY)
                        .guessed(true)
                        .reason("GitHub's secondary limit without a hint: at least a minute, doubling")
                        .build();
    }

    private static boolean exhausted(RateLimitSignal signal) {
        return signal.quotas().stream().anyMatch(Quota::exhausted);
    }

    // a 304 to an authorised conditional request is free; an anonymous one, whose limit is 60, is not
    private static boolean isAuthorised(RateLimitSignal signal) {
        return !signal.quotas().isEmpty() && signal.quotas().get(0).limit() > ANONYMOUS_LIMIT;
    }

    /** What matters of a body. */
    private static final class Message implements BodyReader.Leaves {

        private boolean secondary;
        private boolean primary;
        private boolean rateLimited;
        private long cost = -1;

        @Override
        public void leaf(String path, String text) {
            switch (path) {
                case "message", "errors[].message" -> {
                    String lower = text.toLowerCase(Locale.ROOT);
                    secondary |= lower.contains("secondary rate limit") || lower.contains("abuse detection");
                    primary |= lower.contains("rate limit exceeded");
                }
                case "errors[].type" -> rateLimited |= text.equals("RATE_LIMITED");
                case "data.rateLimit.cost" -> cost = BodyText.count(text);
                default -> {}
            }
        }
    }
}
