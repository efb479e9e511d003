package io.github.reactorratelimit.test;

/**
 * The tokens that a chat call really used.
 *
 * @param promptTokens those of its prompt
 * @param completionTokens those of its answer
 */
public record ChatUsage(long promptTokens, long completionTokens) {

    /** What a call that was not served has used. */
    static final ChatUsage NONE = new ChatUsage(0, 0);

    /**
     * Both together.
     *
     * @return their sum
     */
    public long totalTokens() {
        return promptTokens + completionTokens;
    }
}
