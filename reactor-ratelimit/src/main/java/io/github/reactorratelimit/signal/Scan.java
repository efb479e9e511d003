package io.github.reactorratelimit.signal;

/**
 * A cursor over the ASCII of one header value. It reads forward, knows no regular expression and no number or date
 * parser of the JDK: those accept signs, exponents, {@code NaN} and foreign digits, which a header must not.
 *
 * <p>A number is left in {@link #whole} and {@link #fraction}, rounded up to a billionth and saturated.
 */
final class Scan {

    /** The longest value that is looked at. */
    static final int MAX_VALUE = 1024;

    /** The longest structured list that is looked at. */
    static final int MAX_LIST = 8192;

    static final int BILLION = 1_000_000_000;

    private static final long TENTH = Long.MAX_VALUE / 10;

    /** What {@link #peek()} gives at the end. */
    static final char END = 0;

    int position;
    int end;
    long whole;
    int fraction;
    /** Whether rounding the fraction up has made the number a whole one larger. */
    boolean carried;
    /** Whether the whole number is more than a long can hold. */
    boolean saturated;

    private CharSequence text = "";
    /** Within the quotes of a list member. */
    private boolean quoted;

    /**
     * Puts the cursor on a value, without the blanks around it and without one pair of double quotes.
     *
     * @return false if the value is too long to be looked at
     */
    boolean over(CharSequence value, int longest) {
        if (value.length() > longest) {
            return false;
        }
        raw(value);
        if (end - position >= 2 && text.charAt(position) == '"' && isQuotedAsAWhole()) {
            position++;
            end--;
            trim();
        }
        return true;
    }

    // "5", "120" is a list of two that are quoted
    private boolean isQuotedAsAWhole() {
        int at = position + 1;
        while (at < end && text.charAt(at) != '"') {
            at++;
        }
        return at == end - 1;
    }

    /** The same without a look at quotes, which structured fields need themselves. */
    boolean overList(CharSequence value) {
        if (value.length() > MAX_LIST) {
            return false;
        }
        raw(value);
        return true;
    }

    /** Lets go of the text. */
    void release() {
        text = "";
        position = 0;
        end = 0;
    }

    boolean atEnd() {
        return position >= end;
    }

    /** The character under the cursor, {@link #END} at the end. */
    char peek() {
        return position < end ? text.charAt(position) : END;
    }

    /** Steps over {@code expected} if it is there. */
    boolean skip(char expected) {
        if (position < end && text.charAt(position) == expected) {
            position++;
            return true;
        }
        return false;
    }

    void skipBlanks() {
        while (position < end && isBlank(text.charAt(position))) {
            position++;
        }
    }

    /** Steps over spaces, and over no tabs. */
    void skipSpaces() {
        while (position < end && text.charAt(position) == ' ') {
            position++;
        }
    }

    /** Goes to the text of a list member, which may be in quotes. */
    void memberBegins() {
        skipBlanks();
        quoted = skip('"');
    }

    /** Whether nothing but the closing quote and blanks is left of this list member; steps over them. */
    boolean memberEnds() {
        if (quoted && !skip('"')) {
            return false;
        }
        quoted = false;
        skipBlanks();
        return position >= end || text.charAt(position) == ',';
    }

    /**
     * Goes on to the member after the next comma.
     *
     * @return false if there is none
     */
    boolean nextMember() {
        while (position < end) {
            if (text.charAt(position++) == ',') {
                return true;
            }
        }
        return false;
    }

    /** Reads {@code 1*DIGIT [ "." 1*DIGIT ]}. */
    boolean decimal() {
        if (!digits()) {
            return false;
        }
        fraction = 0;
        carried = false;
        return !skip('.') || fraction();
    }

    /** Reads {@code 1*DIGIT} into {@link #whole}, saturated. */
    boolean digits() {
        int start = position;
        int at = start;
        long value = 0;
        saturated = false;
        for (; at < end; at++) {
            int digit = text.charAt(at) - '0';
            if (digit < 0 || digit > 9) {
                break;
            }
            saturated |= value > TENTH || (value == TENTH && digit > 7);
            value = value * 10 + digit;
        }
        position = at;
        whole = saturated ? Long.MAX_VALUE : value;
        return at > start;
    }

    /** Reads the digits after the point; what is below a billionth rounds up. */
    boolean fraction() {
        int start = position;
        int value = 0;
        int scale = BILLION / 10;
        boolean more = false;
        while (position < end) {
            int digit = text.charAt(position) - '0';
            if (digit < 0 || digit > 9) {
                break;
            }
            more |= scale == 0 && digit > 0;
            value += digit * scale;
            scale /= 10;
            position++;
        }
        fraction = value;
        if (more && ++fraction == BILLION) {
            fraction = 0;
            carried = whole != Long.MAX_VALUE;
            whole = whole == Long.MAX_VALUE ? whole : whole + 1;
        }
        return position > start;
    }

    /**
     * Reads a number of at most {@code most} digits.
     *
     * @return the number, or -1 if there are fewer than {@code least} digits or another one follows
     */
    int number(int least, int most) {
        int value = 0;
        int count = 0;
        while (position < end) {
            int digit = text.charAt(position) - '0';
            if (digit < 0 || digit > 9) {
                break;
            }
            if (++count > most) {
                return -1;
            }
            value = value * 10 + digit;
            position++;
        }
        return count < least ? -1 : value;
    }

    /**
     * Reads a run of three ASCII letters.
     *
     * @return the three in lower case, packed, or -1 if there are fewer or more
     */
    int threeLetters() {
        int start = position;
        int packed = letters();
        return position - start == 3 ? packed : -1;
    }

    /**
     * Reads a run of ASCII letters, at least three of them.
     *
     * @return the first three in lower case, packed, or -1
     */
    int letters() {
        int start = position;
        int packed = 0;
        while (position < end) {
            int letter = text.charAt(position) | 0x20;
            if (letter < 'a' || letter > 'z') {
                break;
            }
            if (position - start < 3) {
                packed = (packed << 8) | letter;
            }
            position++;
        }
        return position - start < 3 ? -1 : packed;
    }

    String substring(int from, int to) {
        return text.subSequence(from, to).toString();
    }

    static boolean isBlank(char c) {
        return c == ' ' || c == '\t';
    }

    private void raw(CharSequence value) {
        text = value;
        quoted = false;
        position = 0;
        end = value.length();
        trim();
    }

    private void trim() {
        skipBlanks();
        while (end > position && isBlank(text.charAt(end - 1))) {
            end--;
        }
    }
}
