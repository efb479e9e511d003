package io.github.reactorratelimit.test;

/** In whose words a simulated chat service tells its limits and its errors. The answers' JSON is the same in both. */
public enum ChatDialect {
    /**
     * {@code x-ratelimit-limit-requests}, {@code -remaining-requests}, {@code -reset-requests} and the same with {@code
     * -tokens}; a reset is the time until all of the limit is there again, as {@code 1s}, {@code 6m0s} or {@code 120ms}.
     * A refusal has {@code retry-after} and {@code retry-after-ms}. Errors are {@code {"error":{"message", "type",
     * "param", "code"}}}.
     */
    OPENAI,

    /**
     * {@code anthropic-ratelimit-requests-limit}, {@code -remaining}, {@code -reset} and the same with {@code tokens}; a
     * reset is a time of RFC 3339 in whole seconds, rounded up, and the tokens that remain are rounded to the nearest
     * thousand. A refusal has {@code retry-after}. Errors are {@code {"type":"error","error":{"type", "message"}}}.
     */
    ANTHROPIC
}
