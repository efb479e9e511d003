package io.github.reactorratelimit.signal;

import org.jspecify.annotations.Nullable;

/**
 * Anthropic: a quota per dimension with RFC 3339 resets, which the standard reads; the subscription's "unified" windows,
 * whose resets count only when the status is {@code rejected}; and the spend limit, which no wait cures.
 */
final class AnthropicDialect implements Dialect {

    private static final String UNIFIED = "anthropic-ratelimit-unified-";
    private static final int BODY = 8 * 1024;

    private final Dialect standard = StandardDialect.INSTANCE;

    @Override
    public RateLimitSignal read(int status, Headers headers, long wallNowMillis) {
        Unified unified = new Unified();
        headers.forEach(unified::line);
        if (!unified.present) {
            return OpenAiDialect.shouldRetry(standard.read(status, headers, wallNowMillis), headers);
        }
        RateLimitSignal signal = standard.read(status, unified.standard(headers), wallNowMillis);
        double usage = StandardDialect.isStored(headers) ? Double.NaN : unified.usage;
        return OpenAiDialect.shouldRetry(signal.toBuilder().usage(usage).build(), headers);
    }

    @Override
    public int bodyBytes(int status, Headers headers) {
        return status == 429 && standard.read(status, headers, 0).hint() == null ? BODY : 0;
    }

    /**
     * The body of a refusal; or, for whoever reads a stream that began with 200, what came of it from an error event on. No
     * adapter asks for that: it would hold up every stream.
     */
    @Override
    public RateLimitSignal readBody(int status, Headers headers, byte[] body, long wallNowMillis) {
        RateLimitSignal signal = read(status, headers, wallNowMillis);
        Failure error = new Failure();
        if (status == 429) {
            BodyReader.present().walk(body, 0, error);
        } else if (status == 200 && StreamEvent.isStream(headers)) {
            // what comes behind the event is another one's
            BodyReader.present().walk(body, StreamEvent.dataOf(body, "error"), error);
            if (error.refused != null) {
                signal = signal.toBuilder()
                        .throttled(true)
                        .reason("an error event within the stream: " + error.refused)
                        .build();
            }
        }
        return error.spendLimit
                ? signal.toBuilder()
                        .terminal("the spend limit is reached, until the first of next month")
                        .build()
                : signal;
    }

    @Override
    public String toString() {
        return "Anthropic";
    }

    /** The subscription's headers. */
    private static final class Unified {

        private boolean present;
        private boolean rejected;
        private double usage = Double.NaN;

        void line(String name, String value) {
            if (!isUnified(name)) {
                return;
            }
            present = true;
            if (HeaderName.same(name, UNIFIED + "status")) {
                rejected |= HeaderName.same(BodyText.plain(value), "rejected");
            } else if (name.length() > UNIFIED.length() + 11
                    && HeaderName.same(name.substring(name.length() - 11), "utilization")) {
                double figure = BodyText.share(BodyText.plain(value));
                usage = Double.isNaN(usage) || figure > usage ? figure : usage;
            }
        }

        // a rejected subscription is an empty quota until its one overall reset; the windows' own resets hold nothing
        Headers standard(Headers headers) {
            return line -> headers.forEach((name, value) -> {
                if (!isUnified(name)) {
                    line.accept(name, value);
                } else if (rejected && HeaderName.same(name, UNIFIED + "reset")) {
                    line.accept(name, value);
                    line.accept(UNIFIED + "remaining", "0");
                }
            });
        }

        private static boolean isUnified(String name) {
            return name.length() > UNIFIED.length() && HeaderName.same(name.subSequence(0, UNIFIED.length()), UNIFIED);
        }
    }

    /** What matters of an error body. */
    private static final class Failure implements BodyReader.Leaves {

        private boolean spendLimit;
        /** The kind of an error that is a refusal for a limit. */
        private @Nullable String refused;

        @Override
        public void leaf(String path, String text) {
            if (path.equals("error.details.error_code")) {
                spendLimit = text.equals("enforced_spend_limit_reached");
            } else if (path.equals("error.type")) {
                refused = text.equals("overloaded_error") || text.equals("rate_limit_error") ? text : refused;
            }
        }
    }
}
