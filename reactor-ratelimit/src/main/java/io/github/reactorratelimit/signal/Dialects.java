package io.github.reactorratelimit.signal;

/** The dialects that ship with the library. */
public final class Dialects {

    private Dialects() {}

    /**
     * The standard dialect: RFC 9110, the X-RateLimit families and the IETF draft. Needs no configuration.
     *
     * @return the standard dialect
     */
    public static Dialect standard() {
        return StandardDialect.INSTANCE;
    }

    /**
     * GitHub's REST and GraphQL interfaces: primary limits, secondary limits (a minute without a hint, doubling), a refusal
     * inside a 200, and the authorised 304, which costs nothing. Reads bodies of 403s that the headers do not explain, and
     * of GraphQL answers.
     *
     * @return the dialect of GitHub
     */
    public static Dialect gitHub() {
        return new GitHubDialect();
    }

    /**
     * Microsoft Graph: the scope of a refusal, the usage figure, the cost in resource units, SharePoint's {@code
     * RateLimit-*}. Reads no bodies.
     *
     * @return the dialect of Microsoft Graph
     * @see <a href="https://learn.microsoft.com/graph/throttling">Microsoft Graph throttling guidance</a>
     */
    public static Dialect microsoftGraph() {
        return new MicrosoftGraphDialect(false);
    }

    /**
     * Microsoft Graph for a client that sends {@code $batch} requests only. The answer to a batch is a 200 even if parts of
     * it were refused; this dialect reads it, up to 256 KiB, and tells the longest wait of the refused parts. Such a signal
     * is {@linkplain RateLimitSignal#throttled() throttled} although other parts were acted on: resend the refused parts
     * only.
     *
     * @return the dialect of Microsoft Graph's batches
     * @see <a href="https://learn.microsoft.com/graph/json-batching">JSON batching</a>
     */
    public static Dialect microsoftGraphBatch() {
        return new MicrosoftGraphDialect(true);
    }

    /**
     * OpenAI and compatible gateways: a quota for each dimension (requests, tokens), {@code x-should-retry: false} and an
     * insufficient quota as {@linkplain RateLimitSignal#terminal() terminal}. Reads the bodies of 429s.
     *
     * @return the dialect of OpenAI
     */
    public static Dialect openAi() {
        return new OpenAiDialect();
    }

    /**
     * Anthropic: a quota for each dimension, the unified windows of subscriptions with their usage figure, the spend limit
     * as {@linkplain RateLimitSignal#terminal() terminal}. Reads the bodies of 429s without a hint.
     *
     * @return the dialect of Anthropic
     */
    public static Dialect anthropic() {
        return new AnthropicDialect();
    }

    /**
     * Discord from API version 8 on: the bucket as the quota's {@linkplain Quota#partition() partition}, the scope {@code
     * global}, and the body's {@code retry_after} with its fractions. Reads the bodies of 429s.
     *
     * @return the dialect of Discord
     */
    public static Dialect discord() {
        return new DiscordDialect();
    }
}
