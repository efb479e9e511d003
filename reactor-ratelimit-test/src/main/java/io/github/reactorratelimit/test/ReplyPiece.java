package io.github.reactorratelimit.test;

import java.time.Duration;
import java.util.List;

/** A piece of a body, and how long it lets wait for it. */
final class ReplyPiece {

    private final byte[] bytes;
    private final Duration pause;

    ReplyPiece(byte[] bytes, Duration pause) {
        this.bytes = bytes;
        this.pause = pause;
    }

    byte[] bytes() {
        return bytes;
    }

    Duration pause() {
        return pause;
    }

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
