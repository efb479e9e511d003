package io.github.reactorratelimit.signal;

import org.jspecify.annotations.Nullable;

/**
 * A bare item of a structured field, read to the letter of RFC 9651, section 4.2.3.1: what that algorithm fails on is no
 * item. Booleans, dates and display strings are checked and stepped over.
 */
final class BareItem {

    enum Kind {
        NONE,
        INTEGER,
        DECIMAL,
        STRING,
        TOKEN,
        BYTES,
        OTHER
    }

    private static final int MOST_DIGITS = 15;
    private static final int MOST_WHOLE_DIGITS = 12;
    private static final int MOST_FRACTION_DIGITS = 3;
    private static final String TOKEN_MARKS = "!#$%&'*+-.^_`|~:/";

    /** The kind of the item read last. */
    Kind kind = Kind.NONE;

    private final Scan scan;
    private final Utf8 utf8 = new Utf8();
    private boolean negative;
    private int from;
    private int to;
    private boolean escaped;

    BareItem(Scan scan) {
        this.scan = scan;
    }

    /** Reads the item under the cursor; false, and of no kind, if there is none that is well-formed. */
    boolean read() {
        char c = scan.peek();
        negative = false;
        escaped = false;
        from = scan.position;
        boolean wellFormed = switch (c) {
            case '"' -> string();
            case ':' -> bytes();
            case '?' -> flag();
            case '@' -> date();
            case '%' -> displayString();
            default -> plain(c);
        };
        kind = wellFormed ? kind : Kind.NONE;
        return wellFormed;
    }

    /** Takes a member that is no bare item, an inner list or the true that is not written, as one of another kind. */
    void other() {
        kind = Kind.OTHER;
    }

    void none() {
        kind = Kind.NONE;
    }

    /** The value of a non-negative integer, or -1 for anything else. */
    long count() {
        return kind == Kind.INTEGER && !negative ? scan.whole : -1;
    }

    /** The text of a string, a token or a byte sequence (still in base64), or null. */
    @Nullable
    String text() {
        if (kind != Kind.STRING && kind != Kind.TOKEN && kind != Kind.BYTES) {
            return null;
        }
        String text = scan.substring(from, to);
        return escaped ? unescaped(text) : text;
    }

    private boolean plain(char c) {
        if (isDigit(c) || c == '-') {
            return number();
        }
        return (c == '*' || isAlpha(c)) && token();
    }

    private boolean number() {
        negative = scan.skip('-');
        int start = scan.position;
        if (!scan.digits()) {
            return false;
        }
        int digits = scan.position - start;
        kind = Kind.INTEGER;
        if (!scan.skip('.')) {
            return digits <= MOST_DIGITS;
        }
        kind = Kind.DECIMAL;
        start = scan.position;
        return digits <= MOST_WHOLE_DIGITS && scan.fraction() && scan.position - start <= MOST_FRACTION_DIGITS;
    }

    private boolean string() {
        scan.position++;
        from = scan.position;
        kind = Kind.STRING;
        while (!scan.atEnd()) {
            char c = scan.peek();
            if (c == '"') {
                to = scan.position++;
                return true;
            }
            if (c == '\\') {
                escaped = true;
                scan.position++;
                c = scan.peek();
                if (c != '"' && c != '\\') {
                    return false;
                }
            } else if (c < ' ' || c > '~') {
                return false;
            }
            scan.position++;
        }
        return false;
    }

    private boolean token() {
        kind = Kind.TOKEN;
        char c = scan.peek();
        while (isAlpha(c) || isDigit(c) || TOKEN_MARKS.indexOf(c) >= 0) {
            scan.position++;
            c = scan.peek();
        }
        to = scan.position;
        return true;
    }

    // padding may be missing, but nothing comes behind it
    private boolean bytes() {
        scan.position++;
        from = scan.position;
        kind = Kind.BYTES;
        char c = scan.peek();
        while (isAlpha(c) || isDigit(c) || c == '+' || c == '/') {
            scan.position++;
            c = scan.peek();
        }
        int digits = scan.position - from;
        int padding = 0;
        while (scan.skip('=')) {
            padding++;
        }
        to = scan.position;
        boolean whole = digits % 4 != 1;
        if (padding > 0) {
            whole = padding <= 2 && (digits + padding) % 4 == 0;
        }
        return scan.skip(':') && whole;
    }

    private boolean flag() {
        scan.position++;
        kind = Kind.OTHER;
        return scan.skip('0') || scan.skip('1');
    }

    private boolean date() {
        scan.position++;
        boolean integer = number() && kind == Kind.INTEGER;
        kind = Kind.OTHER;
        return integer;
    }

    // %"f%c3%bc": any character as the bytes of its UTF-8, in hexadecimal digits in lower case
    private boolean displayString() {
        scan.position++;
        kind = Kind.OTHER;
        if (!scan.skip('"')) {
            return false;
        }
        utf8.start();
        char c = scan.peek();
        while (c >= ' ' && c <= '~' && c != '"') {
            scan.position++;
            if (!utf8.next(c == '%' ? hexDigit() * 16 + hexDigit() : c)) {
                return false;
            }
            c = scan.peek();
        }
        return scan.skip('"') && utf8.isWhole();
    }

    /** The value of the digit under the cursor; so far below zero that no pair with it is a byte if it is none. */
    private int hexDigit() {
        char c = scan.peek();
        scan.position++;
        return isDigit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -256;
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

    private static boolean isAlpha(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    }

    private static boolean isDigit(char c) {
        return c >= '0' && c <= '9';
    }
}
