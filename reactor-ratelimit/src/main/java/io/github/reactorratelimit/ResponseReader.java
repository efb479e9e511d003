package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.Headers;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Mono;

/**
 * How the operator sees the response in a {@code T}. Called on the thread that emits the response; must not block.
 *
 * <pre>{@code
 * ResponseReader<Reply> reader = ResponseReader.of(Reply::status, reply -> Headers.of(reply.headers()));
 * }</pre>
 *
 * @param <T> the client's type of response
 */
public interface ResponseReader<T> {

    /**
     * The status.
     *
     * @param response the response
     * @return its HTTP status
     */
    int status(T response);

    /**
     * The header lines.
     *
     * @param response the response
     * @return a view of its headers
     */
    Headers headers(T response);

    /**
     * The body, if the response has it in memory already. Asked for only where the dialect wants to see it. Default: it has
     * not, so the head alone decides.
     *
     * @param response the response
     * @param most how many of its first bytes are looked at
     * @return the bytes, which are not changed and not kept; null if there is no body in memory
     */
    default byte @Nullable [] body(T response, int most) {
        return null;
    }

    /**
     * Frees what a response holds that is not handed on, such as a connection, before the call waits to be tried again.
     * Bounded by the drain timeout of 1 s, after which it is cancelled. Default: nothing to free.
     *
     * @param response the response
     * @return completes when it is freed
     */
    default Publisher<Void> discard(T response) {
        return Mono.empty();
    }

    /**
     * A reader of status and headers, for responses whose body no dialect has to see and that hold nothing.
     *
     * @param status the HTTP status of a response
     * @param headers a view of its headers
     * @param <T> the client's type of response
     * @return the reader
     */
    static <T> ResponseReader<T> of(ToIntFunction<? super T> status, Function<? super T, ? extends Headers> headers) {
        Objects.requireNonNull(status, "status");
        Objects.requireNonNull(headers, "headers");
        return new ResponseReader<>() {
            @Override
            public int status(T response) {
                return status.applyAsInt(response);
            }

            @Override
            public Headers headers(T response) {
                return headers.apply(response);
            }
        };
    }
}
