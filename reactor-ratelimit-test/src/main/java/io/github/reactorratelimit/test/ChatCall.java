package io.github.reactorratelimit.test;

import org.jspecify.annotations.Nullable;

/**
 * One call as a chat service understands it.
 *
 * @param model the model's name
 * @param key whose it is
 * @param promptTokens the tokens of the prompt
 * @param maxTokens the most that the answer may have, or null if it doesn't say
 * @param stream whether it wants the answer in chunks
 */
record ChatCall(
        String model,
        String key,
        long promptTokens,
        @Nullable Long maxTokens,
        boolean stream) {}
