package io.github.reactorratelimit.test;

import io.github.reactorratelimit.signal.Headers;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What became of one chat call.
 *
 * @param status 200, the status of an error, or 0 if a fault left it without an answer
 * @param headers the header lines of the answer, empty if there was none
 * @param error what the service said went wrong, or null if nothing did or a fault struck
 * @param refusedBy the limit that refused it, or null if none did
 * @param usage the tokens that it used, 0 if it was not served
 * @param microDollars what it cost
 * @param latency from its arrival to the end of its answer
 */
public record ChatOutcome(
        int status,
        Headers headers,
        @Nullable ChatError error,
        @Nullable ChatLimit refusedBy,
        ChatUsage usage,
        long microDollars,
        Duration latency) {

    /**
     * Whether it was answered.
     *
     * @return whether the status is 200
     */
    public boolean served() {
        return status == 200;
    }

    /**
     * A header of the answer.
     *
     * @param name the name in any case
     * @return its first value, or null if there is none
     */
    public @Nullable String header(String name) {
        return headers.first(name);
    }
}
