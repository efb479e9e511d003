package io.github.reactorratelimit.signal;

import java.nio.charset.StandardCharsets;

/** Finds an event in a piece of a stream of server-sent events. */
final class StreamEvent {

    private static final byte[] EVENT = bytes("event:");
    private static final byte[] DATA = bytes("data:");

    private StreamEvent() {}

    static boolean isStream(Headers headers) {
        String type = headers.first("content-type");
        return type != null && BodyText.has(type, "text/event-stream");
    }

    /** Where the data of the first event of this name begins; the end of the piece if there is none. */
    static int dataOf(byte[] piece, String name) {
        byte[] wanted = bytes(name);
        int at = behind(piece, 0, EVENT);
        while (at < piece.length) {
            int from = at;
            while (from < piece.length && piece[from] == ' ') {
                from++;
            }
            int end = from + wanted.length;
            if (isAt(piece, from, wanted) && (end == piece.length || piece[end] <= ' ')) {
                return behind(piece, from, DATA);
            }
            at = behind(piece, from, EVENT);
        }
        return piece.length;
    }

    /** Where the data of the next event begins, by the lines from {@code from} on; the end of the piece if there is none. */
    static int nextData(byte[] piece, int from) {
        int at = behind(piece, from, DATA);
        // What a text speaks of is no line.
        for (int before = at - DATA.length - 1; before >= 0 && at < piece.length && piece[before] >= ' '; ) {
            at = behind(piece, at, DATA);
            before = at - DATA.length - 1;
        }
        return at;
    }

    private static int behind(byte[] piece, int from, byte[] word) {
        for (int at = from; at <= piece.length - word.length; at++) {
            if (isAt(piece, at, word)) {
                return at + word.length;
            }
        }
        return piece.length;
    }

    private static boolean isAt(byte[] piece, int at, byte[] word) {
        if (at > piece.length - word.length) {
            return false;
        }
        for (int i = 0; i < word.length; i++) {
            if (piece[at + i] != word[i]) {
                return false;
            }
        }
        return true;
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }
}
