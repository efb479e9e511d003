package io.github.reactorratelimit.test;

/** What a simulated chat service may refuse a call for. */
public enum ChatLimit {
    /** {@link ChatModel#requestsPerMinute}. */
    REQUESTS_PER_MINUTE("requests", "requests per min (RPM)"),
    /** {@link ChatModel#tokensPerMinute}. */
    TOKENS_PER_MINUTE("tokens", "tokens per min (TPM)"),
    /** {@link ChatModel#requestsPerSecond}. */
    REQUESTS_PER_SECOND("requests", "requests per sec (RPS)"),
    /** {@link ChatModel#inFlight}. */
    IN_FLIGHT("requests", "concurrent requests"),
    /** {@link ChatRules#balance}. */
    BALANCE("insufficient_quota", "prepaid balance");

    private final String type;
    private final String words;

    ChatLimit(String type, String words) {
        this.type = type;
        this.words = words;
    }

    /** The type of the error, which says whether it is the requests or the tokens. */
    String type() {
        return type;
    }

    /** How the message of a refusal names it. */
    String words() {
        return words;
    }
}
