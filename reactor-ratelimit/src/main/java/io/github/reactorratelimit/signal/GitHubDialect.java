package io.github.reactorratelimit.signal;

import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * GitHub, REST and GraphQL. Primary limits are in the headers; a secondary limit may be a 403 or a 429 with units left,
 * which only the message tells from a permission error; GraphQL refuses with a 200.
 */
final class GitHubDialect implements Dialect {

    private static final Duration LEAST = Duration.ofSeconds(60);
    private static final int ANONYMOUS_LIMIT = 60;
    private static final int ANONYMOUS_SEARCHES = 10;
    private static final String HINTLESS = "GitHub's secondary limit";
    private static final String PRIMARY = "GitHub's limit";
    private static final List<String> CODES = List.of("RATE_LIMITED", "RATE_LIMIT", "graphql_rate_limit");
    private static final int BODY = 16 * 1024;

    private final Dialect standard = StandardDialect.INSTANCE;

    @Override
    public RateLimitSignal read(int status, Headers headers, long wallNowMillis) {
        RateLimitSignal signal = standard.read(status, headers, wallNowMillis);
        if (signal.throttled() && signal.delay() == null) {
            boolean empty = signal.quotas().stream().anyMatch(Quota::exhausted);
            return refused(signal, empty ? PRIMARY : HINTLESS);
        }
        if (status == 304 && isAuthorised(signal)) {
            return signal.toBuilder().cost(0).build();
        }
        return signal;
    }

    @Override
    public int bodyBytes(int status, Headers headers) {
        boolean open = status == 403 ? !read(status, headers, 0).throttled() : status == 200 && mayBeGraphQl(headers);
        return open && mayBeJson(headers) ? BODY : 0;
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
        String refusal = message.refusal(status);
        return refusal == null || signal.throttled() ? signal : refused(signal, refusal);
    }

    @Override
    public String toString() {
        return "GitHub";
    }

    private static RateLimitSignal refused(RateLimitSignal signal, String why) {
        RateLimitSignal.Builder builder = signal.toBuilder().throttled(true);
        return signal.delay() != null
                ? builder.reason(why + ", " + signal.reason()).build()
                : builder.delay(LEAST)
                        .guessed(true)
                        .reason(why + " without a hint: at least a minute, doubling")
                        .build();
    }

    private static boolean isGraphQl(Headers headers) {
        String resource = headers.first("x-ratelimit-resource");
        return resource != null && HeaderName.same(BodyText.plain(resource), "graphql");
    }

    // its own answers name their resource; what names none may be a proxy's copy
    private boolean mayBeGraphQl(Headers headers) {
        return headers.first("x-ratelimit-resource") == null ? isEmpty(headers) : isGraphQl(headers);
    }

    private static boolean isNamed(Quota quota, String resource) {
        return quota.partition() != null && HeaderName.same(quota.partition(), resource);
    }

    // a stream would be held up, an archive says nothing
    private static boolean mayBeJson(Headers headers) {
        String type = headers.first("content-type");
        return type == null || BodyText.has(type, "json");
    }

    // asked of every answer: the whole head is read only for one that looks empty
    private boolean isEmpty(Headers headers) {
        String remaining = headers.first("x-ratelimit-remaining");
        return remaining != null
                && (remaining.startsWith("0") || remaining.startsWith("\""))
                && standard.read(200, headers, 0).quotas().stream().anyMatch(Quota::exhausted);
    }

    // a 304 to an authorised conditional request is free; an anonymous one is not, and is known by its limit
    private static boolean isAuthorised(RateLimitSignal signal) {
        if (signal.quotas().isEmpty()) {
            return false;
        }
        Quota quota = signal.quotas().get(0);
        boolean core = quota.partition() == null || isNamed(quota, "core");
        long anonymous = core ? ANONYMOUS_LIMIT : isNamed(quota, "search") ? ANONYMOUS_SEARCHES : 0;
        return quota.limit() > anonymous;
    }

    /** What matters of a body. */
    private static final class Message implements BodyReader.Leaves {

        /** Why the message of a 403 makes it a refusal. */
        private @Nullable String told;
        /** Why an error of a GraphQL answer makes it one. */
        private @Nullable String error;
        /** Whether a GraphQL answer has data besides the account of the limit: then it was acted on. */
        private boolean answered;

        private long cost = -1;

        /** A 2xx was acted on, whatever its text says, unless it is GraphQL's and has errors in place of data. */
        @Nullable
        String refusal(int status) {
            return status == 200 ? answered ? null : error : status == 403 ? told == null ? error : told : null;
        }

        @Override
        public void leaf(String path, String text) {
            switch (path) {
                case "message" -> told = why(text, told);
                case "errors[].message" -> error = why(text, error);
                case "errors[].type", "errors[].code", "errors[].extensions.code" -> error = code(text, error);
                case "data.rateLimit.cost" -> cost = BodyText.count(text);
                default -> answered |= path.startsWith("data.") && !path.startsWith("data.rateLimit.");
            }
        }

        @Override
        public void other(String path) {
            answered |= path.startsWith("data.") && !path.startsWith("data.rateLimit");
        }

        private static @Nullable String why(String text, @Nullable String before) {
            if (BodyText.has(text, "secondary rate limit") || BodyText.has(text, "abuse detection")) {
                return HINTLESS;
            }
            boolean primary =
                    BodyText.has(text, "rate limit exceeded") || BodyText.has(text, "rate limit already exceeded");
            return primary && before == null ? PRIMARY : before;
        }

        private static @Nullable String code(String text, @Nullable String before) {
            for (String code : CODES) {
                if (before == null && HeaderName.same(text, code)) {
                    return PRIMARY;
                }
            }
            return before;
        }
    }
}
