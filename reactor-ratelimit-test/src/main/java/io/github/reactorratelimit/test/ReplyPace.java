package io.github.reactorratelimit.test;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;

/**
 * In what pieces a body comes.
 *
 * @param chunks into how many pieces of one size it is cut
 * @param pause how long each lets wait for it
 * @param pieces the pieces themselves, in place of both, or null
 */
record ReplyPace(int chunks, Duration pause, @Nullable List<ReplyPiece> pieces) {

    static final ReplyPace AT_ONCE = new ReplyPace(1, Duration.ZERO, null);

    static ReplyPace of(List<ReplyPiece> pieces) {
        return new ReplyPace(1, Duration.ZERO, List.copyOf(pieces));
    }

    /** Pieces of its own are one body, and no other's. */
    ReplyPace forAnother() {
        return pieces == null ? this : AT_ONCE;
    }

    Flux<ReplyPiece> of(byte[] body) {
        if (pieces != null) {
            return Flux.fromIterable(pieces);
        }
        int size = Math.max(1, (body.length + chunks - 1) / chunks);
        return Flux.range(0, chunks)
                .map(i -> Arrays.copyOfRange(
                        body, Math.min(body.length, i * size), Math.min(body.length, (i + 1) * size)))
                .map(bytes -> new ReplyPiece(bytes, pause));
    }
}
