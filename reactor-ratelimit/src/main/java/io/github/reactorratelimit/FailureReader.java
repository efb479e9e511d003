package io.github.reactorratelimit;

import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Recognises exceptions of one client or SDK. Called on the thread that failed; must not block.
 *
 * <pre>{@code
 * FailureReader grpc = FailureReader.of(StatusRuntimeException.class, error ->
 *         error.getStatus().getCode() == Status.Code.RESOURCE_EXHAUSTED ? Failure.throttled(null) : null);
 * }</pre>
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

    /**
     * A reader of one type of exception, which may be the error itself or lie behind it as a cause: the first one is read.
     *
     * @param type the client's exception
     * @param failure what one of them says, or null if it is to be handed on as it is
     * @param <E> the client's exception
     * @return the reader
     */
    static <E extends Throwable> FailureReader of(
            Class<E> type, Function<? super E, ? extends @Nullable Failure> failure) {
        Objects.requireNonNull(type, "type");
        Objects.requireNonNull(failure, "failure");
        return error -> {
            Throwable cause = error;
            for (int i = 0; cause != null && i < Failure.MOST_CAUSES; i++) {
                if (type.isInstance(cause)) {
                    return failure.apply(type.cast(cause));
                }
                cause = cause.getCause();
            }
            return null;
        };
    }
}
