package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.Headers;
import java.util.Collection;
import java.util.List;

/**
 * How {@link BatchRetry} sees the parts of a batch. Called on the thread that subscribes or that emits the answer; must not
 * block. If it throws on an answer, the parts that are left without one fail with that.
 *
 * @param <P> a part as it is asked
 * @param <S> a part as it is answered
 */
public interface BatchReader<P, S> {

    /**
     * What tells a part from the others of its batch.
     *
     * @param part the part as it is asked
     * @return its id
     */
    Object id(P part);

    /**
     * Which part an answer belongs to; answers may come in any order. One that belongs to none is heard and left out; of
     * two to one part the one counts that is no refusal and no failure.
     *
     * @param answer the part as it is answered
     * @return the id of the part
     */
    Object idOf(S answer);

    /**
     * The part's own status.
     *
     * @param answer the part as it is answered
     * @return its HTTP status
     */
    int status(S answer);

    /**
     * The part's own header lines.
     *
     * @param answer the part as it is answered
     * @return a view of its headers
     */
    Headers headers(S answer);

    /**
     * Whether a part may be repeated although the server may have acted on it. Default: no.
     *
     * @param part the part as it is asked
     * @return true if it may
     */
    default boolean isIdempotent(P part) {
        return false;
    }

    /**
     * The parts of the same call that have to succeed first; they may be asked in any order. Default: none.
     *
     * @param part the part as it is asked
     * @return their ids
     */
    default Collection<?> dependsOn(P part) {
        return List.of();
    }
}
