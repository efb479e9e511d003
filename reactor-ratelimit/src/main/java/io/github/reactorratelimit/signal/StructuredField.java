package io.github.reactorratelimit.signal;

import org.jspecify.annotations.Nullable;

/**
 * As much of structured fields (RFC 9651) as rate limits need: bare items and their parameters, in lists and in
 * dictionaries. Inner lists and display strings are stepped over. A field that breaks the grammar is {@link #broken}, and then nothing of it
 * counts.
 */
final class StructuredField {

    enum Item {
        NONE,
        INTEGER,
        DECIMAL,
        STRING,
        TOKEN,
        BYTES,
        OTHER
    }

    boolean broken;

    /** The kind of the item read last. */
    Item item = Item.NONE;

    private final Scan scan;
    private boolean negative;
    private int from;
    private int to;
    private boolean escaped;
    private int keyFrom;
    private int keyTo;
    private long key;

    StructuredField(Scan scan) {
        this.scan = scan;
    }

    /** Starts on a field line. */
    void start() {
        broken = false;
        item = Item.NONE;
    }

    /** Reads a key such as {@code limit}; false, and the cursor where it was, if there is none. */
    boolean key() {
        int start = scan.position;
        char c = scan.peek();
        if (!isLowerAlpha(c) && c != '*') {
            return false;
        }
        key = 0;
        while (isLowerAlpha(c) || isDigit(c) || c == '_' || c == '-' || c == '.' || c == '*') {
            key = HeaderWord.append(key, c);
            scan.position++;
            c = scan.peek();
        }
        keyFrom = start;
        keyTo = scan.position;
        return true;
    }

    /** Whether the key read last is {@code word}, of at most twelve letters. */
    boolean keyIs(long word) {
        return key == word && keyTo - keyFrom <= 12;
    }

    /** Reads one bare item. */
    boolean bareItem() {
        char c = scan.peek();
        negative = false;
        from = scan.position;
        if (c == '"') {
            return string();
        }
        if (c == ':') {
            return bytes();
        }
        if (isDigit(c) || c == '-') {
            return numeric();
        }
        if (c == '%') {
            return displayString();
        }
        if (c == '?' || c == '@') {
            scan.position++;
            scan.skip('-');
            item = Item.OTHER;
            return scan.digits() || broke();
        }
        return (c == '*' || isLowerAlpha((char) (c | 0x20))) ? token() : broke();
    }

    /** Reads one member of a list: a bare item, or an inner list, which is stepped over. */
    boolean member() {
        if (!scan.skip('(')) {
            return bareItem();
        }
        scan.skipBlanks();
        while (!scan.skip(')')) {
            if (!bareItem() || " \t;)".indexOf(scan.peek()) < 0) {
                return broke();
            }
            skipParameters();
            if (broken) {
                return false;
            }
        }
        item = Item.OTHER;
        return true;
    }

    /** Reads {@code =value} behind the key of a dictionary; without one the value is true. */
    boolean value() {
        if (scan.skip('=')) {
            return member();
        }
        item = Item.OTHER;
        return true;
    }

    /** Reads the next {@code ;key=value}; false if there are no more, or if it is broken. */
    boolean parameter() {
        scan.skipBlanks();
        if (!scan.skip(';')) {
            return false;
        }
        scan.skipBlanks();
        if (!key()) {
            return broke();
        }
        if (!scan.skip('=')) {
            item = Item.OTHER;
            return true;
        }
        return bareItem();
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

    /** The value of a non-negative integer, saturated, or -1 for anything else. */
    long count() {
        return item == Item.INTEGER && !negative ? scan.whole : -1;
    }

    /** The text of a string, a token or a byte sequence (still in base64), or null. */
    @Nullable
    String text() {
        if (item != Item.STRING && item != Item.TOKEN && item != Item.BYTES) {
            return null;
        }
        String text = scan.substring(from, to);
        return escaped ? unescaped(text) : text;
    }

    boolean broke() {
        broken = true;
        item = Item.NONE;
        return false;
    }

    private boolean string() {
        scan.position++;
        from = scan.position;
        escaped = false;
        while (!scan.atEnd()) {
            char c = scan.peek();
            if (c == '"') {
                to = scan.position++;
                item = Item.STRING;
                return true;
            }
            if (c == '\\') {
                escaped = true;
                scan.position++;
                c = scan.peek();
                if (c != '"' && c != '\\') {
                    return broke();
                }
            } else if (c < ' ' || c > '~') {
                return broke();
            }
            scan.position++;
        }
        return broke();
    }

    // %"f%c3%bc": any character in UTF-8, and in lower case
    private boolean displayString() {
        scan.position++;
        if (!scan.skip('"')) {
            return broke();
        }
        char c = scan.peek();
        while (c >= ' ' && c <= '~' && c != '"') {
            scan.position++;
            boolean wellFormed = c != '%' || hexDigit();
            if (!wellFormed || (c == '%' && !hexDigit())) {
                return broke();
            }
            c = scan.peek();
        }
        item = Item.OTHER;
        return scan.skip('"') || broke();
    }

    private boolean hexDigit() {
        char c = scan.peek();
        scan.position++;
        return isDigit(c) || (c >= 'a' && c <= 'f');
    }

    private boolean bytes() {
        scan.position++;
        from = scan.position;
        escaped = false;
        while (!scan.atEnd()) {
            char c = scan.peek();
            if (c == ':') {
                to = scan.position++;
                item = Item.BYTES;
                return true;
            }
            if (!isLowerAlpha((char) (c | 0x20)) && !isDigit(c) && c != '+' && c != '/' && c != '=') {
                return broke();
            }
            scan.position++;
        }
        return broke();
    }

    private boolean numeric() {
        negative = scan.skip('-');
        if (!scan.digits()) {
            return broke();
        }
        item = Item.INTEGER;
        if (scan.skip('.')) {
            item = Item.DECIMAL;
            return scan.fraction() || broke();
        }
        return true;
    }

    private boolean token() {
        escaped = false;
        char c = scan.peek();
        while (c > ' ' && c <= '~' && c != ';' && c != ',' && c != '=' && c != '"' && c != '(' && c != ')') {
            scan.position++;
            c = scan.peek();
        }
        to = scan.position;
        item = Item.TOKEN;
        return true;
    }

    private static String unescaped(String text) {
        StringBuilder plain = new StringBuilder(text.length());
        for (int i = 0; i < text.length(); i++) {
            if (text.charAt(i) == '\\') {
                i++;
            }
            plain.append(text.charAt(i));
        }
        return plain.toString();
    }

    private static boolean isLowerAlpha(char c) {
        return c >= 'a' && c <= 'z';
    }

    private static boolean isDigit(char c) {
        return c >= '0' && c <= '9';
    }
}
