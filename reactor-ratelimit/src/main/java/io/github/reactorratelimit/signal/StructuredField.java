package io.github.reactorratelimit.signal;

import org.jspecify.annotations.Nullable;

/**
 * As much of structured fields (RFC 9651, section 4.2) as rate limits need: bare items and their parameters, in lists and in
 * dictionaries. Inner lists are stepped over. A field that breaks the grammar is {@link #broken}, and then nothing of it
 * counts.
 */
final class StructuredField {

    boolean broken;

    private final Scan scan;
    private final BareItem item;
    private int keyLength;
    private long key;

    StructuredField(Scan scan) {
        this.scan = scan;
        this.item = new BareItem(scan);
    }

    /** Starts on a field line. */
    void start() {
        broken = false;
        item.none();
    }

    /** Reads a key such as {@code limit}; false, and the cursor where it was, if there is none. */
    boolean key() {
        int start = scan.position;
        char c = scan.peek();
        if (!isLowerAlpha(c) && c != '*') {
            return false;
        }
        key = 0;
        while (isLowerAlpha(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' || c == '*') {
            key = HeaderWord.append(key, c);
            scan.position++;
            c = scan.peek();
        }
        keyLength = scan.position - start;
        return true;
    }

    /** Whether the key read last is {@code word}, of at most twelve letters. */
    boolean keyIs(long word) {
        return key == word && keyLength <= 12;
    }

    /** Reads one member of a list without its parameters: a bare item, or an inner list, which is stepped over. */
    boolean member() {
        if (scan.peek() != '(') {
            return item.read() || broke();
        }
        scan.position++;
        scan.skipSpaces();
        while (!scan.skip(')')) {
            if (!item.read()) {
                return broke();
            }
            skipParameters();
            if (broken || (scan.peek() != ' ' && scan.peek() != ')')) {
                return broke();
            }
            scan.skipSpaces();
        }
        item.other();
        return true;
    }

    /** Reads {@code =value} behind the key of a dictionary; without one the value is true. */
    boolean value() {
        if (scan.skip('=')) {
            return member();
        }
        item.other();
        return true;
    }

    /** Reads the next {@code ;key=value}, before which no blank is; false if there are no more, or if it is broken. */
    boolean parameter() {
        if (!scan.skip(';')) {
            return false;
        }
        scan.skipSpaces();
        if (!key()) {
            return broke();
        }
        if (!scan.skip('=')) {
            item.other();
            return true;
        }
        return item.read() || broke();
    }

    void skipParameters() {
        boolean more = parameter();
        while (more) {
            more = parameter();
        }
    }

    /** Steps over the comma to the next member; false at the end, or if it is broken. */
    boolean nextMember() {
        scan.skipBlanks();
        if (scan.atEnd()) {
            return false;
        }
        if (!scan.skip(',')) {
            return broke();
        }
        scan.skipBlanks();
        return !scan.atEnd() || broke();
    }

    /** The value of the item read last if it is a non-negative integer, else -1. */
    long count() {
        return item.count();
    }

    /** The text of the item read last if it is a string, a token or a byte sequence (still in base64), else null. */
    @Nullable
    String text() {
        return item.text();
    }

    /** As {@link #text()}, but of no byte sequence. */
    @Nullable
    String name() {
        return item.kind == BareItem.Kind.BYTES ? null : item.text();
    }

    private boolean broke() {
        broken = true;
        item.none();
        return false;
    }

    private static boolean isLowerAlpha(char c) {
        return c >= 'a' && c <= 'z';
    }
}
