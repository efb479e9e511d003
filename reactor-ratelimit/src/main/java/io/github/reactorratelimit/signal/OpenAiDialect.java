package io.github.reactorratelimit.signal;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * OpenAI and the gateways that speak like it. The headers are the standard's (a quota per dimension, requests and tokens);
 * the body tells what no wait cures, and has the time where a gateway has no headers.
 */
final class OpenAiDialect implements Dialect {

    private static final int BODY = 8 * 1024;

    private final Dialect standard = StandardDialect.INSTANCE;

    @Override
    public RateLimitSignal read(int status, Headers headers, long wallNowMillis) {
        return shouldRetry(standard.read(status, headers, wallNowMillis), headers);
    }

    /** {@code x-should-retry: false}, which overrules the status in this family's own clients. */
    static RateLimitSignal shouldRetry(RateLimitSignal signal, Headers headers) {
        return signal.throttled() && says(headers, "x-should-retry", "false")
                ? signal.toBuilder().terminal("x-should-retry: false").build()
                : signal;
    }

    private static boolean says(Headers headers, String name, String word) {
        boolean[] found = new boolean[1];
        headers.forEach((each, value) ->
                found[0] |= HeaderName.same(each, name) && HeaderName.same(BodyText.plain(value), word));
        return found[0];
    }

    @Override
    public int bodyBytes(int status, Headers headers) {
        return status == 429 && read(status, headers, 0).terminal() == null ? BODY : 0;
    }

    /**
     * The body of a refusal; or, for whoever reads a stream that began with 200, a piece of it, whose first error that tells
     * of a limit counts. No adapter asks for that: it would hold up every stream.
     */
    @Override
    public RateLimitSignal readBody(int status, Headers headers, byte[] body, long wallNowMillis) {
        RateLimitSignal signal = read(status, headers, wallNowMillis);
        if (status == 200 && StreamEvent.isStream(headers)) {
            return readStream(signal, body);
        }
        Failure error = new Failure();
        if (status != 429 || !BodyReader.present().walk(body, 0, error)) {
            return signal;
        }
        if (error.terminal != null) {
            return signal.toBuilder().terminal(error.terminal).build();
        }
        if (signal.delay() != null) {
            return signal;
        }
        if (!error.headers.isEmpty()) {
            error.headers.addAll(DateLines.of(headers)); // The provider's clock is not told; the gateway's is close.
            RateLimitSignal told = read(status, Headers.of(error.headers.toArray(new String[0])), wallNowMillis);
            signal = told.quotas().isEmpty() && told.delay() == null ? signal : told;
        }
        return error.wait == null || signal.delay() != null
                ? signal
                : signal.toBuilder()
                        .hint(error.wait)
                        .delay(error.wait)
                        .reason("the message says when to try again")
                        .build();
    }

    private static RateLimitSignal readStream(RateLimitSignal signal, byte[] piece) {
        for (int at = StreamEvent.nextData(piece, 0); at < piece.length; at = StreamEvent.nextData(piece, at)) {
            Failure error = new Failure();
            BodyReader.present().walk(piece, at, error);
            if (error.terminal != null || error.refused != null) {
                RateLimitSignal.Builder told = signal.toBuilder()
                        .throttled(true)
                        .reason("an error event within the stream: "
                                + (error.terminal != null ? error.terminal : error.refused));
                if (error.wait != null) {
                    told.hint(error.wait).delay(error.wait);
                }
                return error.terminal == null
                        ? told.build()
                        : told.terminal(error.terminal).build();
            }
        }
        return signal;
    }

    @Override
    public String toString() {
        return "OpenAI";
    }

    /** What matters of an error body. */
    private static final class Failure implements BodyReader.Leaves {

        /** OpenRouter repeats the provider's headers in the body. */
        private static final String HEADER = "error.metadata.headers.";

        /** Codes and types of errors that are limits; gateways put the status there. */
        private static final Set<String> LIMITS = Set.of(
                "rate_limit_exceeded",
                "rate_limit_error",
                "overloaded_error",
                "server_overloaded",
                "slow_down",
                "429",
                "529");

        private final List<String> headers = new ArrayList<>();
        private @Nullable String terminal;
        /** The kind of an error that is a refusal for a limit, where no status tells. */
        private @Nullable String refused;

        private @Nullable Duration wait;

        @Override
        public void leaf(String path, String text) {
            switch (path) {
                case "error.code", "error.type" -> {
                    if (text.equals("insufficient_quota") || text.equals("billing_hard_limit_reached")) {
                        terminal = text;
                    } else if (LIMITS.contains(text)) {
                        refused = text;
                    }
                }
                case "error.message" -> wait = BodyText.durationBehind(text, "try again in ");
                default -> {
                    if (path.startsWith(HEADER) && headers.size() < BodyReader.MOST_LINES) {
                        headers.add(path.substring(HEADER.length()));
                        headers.add(text);
                    }
                }
            }
        }
    }
}
