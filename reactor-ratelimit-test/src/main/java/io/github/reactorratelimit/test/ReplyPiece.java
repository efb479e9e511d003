package io.github.reactorratelimit.test;

import java.time.Duration;
import java.util.List;

/**
 * A piece of a body.
 *
 * @param bytes what it holds
 * @param pause how long it lets wait for it
 */
record ReplyPiece(byte[] bytes, Duration pause) {

    static byte[] join(List<ReplyPiece> pieces) {
        byte[] all =
                new byte[pieces.stream().mapToInt(piece -> piece.bytes.length).sum()];
        int at = 0;
        for (ReplyPiece piece : pieces) {
            System.arraycopy(piece.bytes, 0, all, at, piece.bytes.length);
            at += piece.bytes.length;
        }
        return all;
    }
}
