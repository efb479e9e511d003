package io.github.reactorratelimit;

import org.jspecify.annotations.Nullable;

/**
 * Recognises exceptions of one client or SDK. Called on the thread that failed; must not block.
 */
@FunctionalInterface
public interface FailureReader {

    /**
     * Reads an exception.
     *
     * @param error what the call failed with
     * @return what it says, or null if this reader does not know it; an exception that nobody knows is never tried again
     */
    @Nullable
    Failure read(Throwable error);
}
