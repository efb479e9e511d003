package io.github.reactorratelimit.signal;

/**
 * The words that header names of quotas are made of. A word of up to twelve letters is packed into one long, five bits a
 * letter, so that each character is read once and comparing is comparing numbers.
 */
final class HeaderWord {

    static final int UNKNOWN = 0;
    /** Says nothing by itself, such as {@code time} in {@code reset-time}. */
    static final int FILLER = 1;

    static final int MILLIS = 2;
    static final int AFTER = 3;

    // from here on roles, the weaker ones first: in "quota-remaining" the role is "remaining"
    private static final int WINDOW = 10;
    private static final int POLICY = 11;
    private static final int RESOURCE = 12;
    private static final int BUCKET = 13;
    private static final int SCOPE = 14;
    private static final int GLOBAL = 15;
    private static final int WEAK_LIMIT = 16;
    private static final int WEAK_USED = 17;
    private static final int WEAK_REMAINING = 18;
    private static final int STRONG = 20;
    private static final int LIMIT = 20;
    private static final int USED = 21;
    private static final int REMAINING = 22;
    private static final int RESET = 23;
    private static final int RETRY = 24;
    private static final int RESET_AFTER = 25;

    private static final String[] WORDS = {
        "ms",
        "in",
        "size",
        "at",
        "max",
        "next",
        "left",
        "used",
        "name",
        "time",
        "date",
        "reset",
        "limit",
        "usage",
        "quota",
        "retry",
        "after",
        "scope",
        "policy",
        "bucket",
        "window",
        "global",
        "period",
        "millis",
        "seconds",
        "resource",
        "observed",
        "interval",
        "remaining",
        "resettime",
        "resetdate",
        "retryafter",
        "resetafter",
        "milliseconds"
    };
    private static final int[] MEANINGS = {
        MILLIS, AFTER, FILLER, FILLER, WEAK_LIMIT, RESET, WEAK_REMAINING, USED, RESOURCE, FILLER, FILLER, RESET, LIMIT,
        WEAK_USED, WEAK_LIMIT, RETRY, AFTER, SCOPE, POLICY, BUCKET, WINDOW, GLOBAL, WINDOW, MILLIS, FILLER, RESOURCE,
        WEAK_USED, WINDOW, REMAINING, RESET, RESET, RETRY, RESET_AFTER, MILLIS
    };

    private static final int SLOTS = 128;
    private static final long[] CODES = new long[SLOTS];
    private static final byte[] TABLE = new byte[SLOTS];

    static {
        for (int i = 0; i < WORDS.length; i++) {
            long code = code(WORDS[i]);
            int slot = slot(code);
            while (CODES[slot] != 0) {
                slot = (slot + 1) % SLOTS;
            }
            CODES[slot] = code;
            TABLE[slot] = (byte) MEANINGS[i];
        }
    }

    private HeaderWord() {}

    /**
     * Appends a lower-case character to a packed word. What is longer than twelve letters or has other characters is still
     * told apart, as by a hash, but is no word: another character leaves the sign set for good.
     */
    static long append(long code, char c) {
        long shifted = (((code << 5) ^ (code >>> 58)) & Long.MAX_VALUE) | (code & Long.MIN_VALUE);
        return c >= 'a' && c <= 'z' ? shifted ^ (c - 'a' + 1) : (shifted ^ (c << 8)) | Long.MIN_VALUE;
    }

    static int of(long code, int length) {
        if (code >>> 60 != 0 || code == 0 || length > 12) {
            return UNKNOWN;
        }
        int slot = slot(code);
        while (CODES[slot] != 0) {
            if (CODES[slot] == code) {
                return TABLE[slot];
            }
            slot = (slot + 1) % SLOTS;
        }
        return UNKNOWN;
    }

    static boolean isRole(int word) {
        return word >= WINDOW;
    }

    /** The first role wins, unless it is a weak one and a strong one follows. */
    static boolean outranks(int word, int role) {
        return role == UNKNOWN || (role < STRONG && word >= STRONG);
    }

    static Role role(int word, boolean millis, boolean after) {
        return switch (word) {
            case RETRY -> millis ? Role.HINT_MILLIS : Role.HINT;
            case LIMIT, WEAK_LIMIT -> Role.LIMIT;
            case REMAINING, WEAK_REMAINING -> Role.REMAINING;
            case USED, WEAK_USED -> Role.USED;
            case RESET -> after ? role(RESET_AFTER, millis, true) : millis ? Role.RESET_MILLIS : Role.RESET;
            case RESET_AFTER -> millis ? Role.RESET_AFTER_MILLIS : Role.RESET_AFTER;
            case WINDOW -> millis ? Role.WINDOW_MILLIS : Role.WINDOW;
            case POLICY -> Role.POLICY;
            case RESOURCE -> Role.RESOURCE;
            case BUCKET -> Role.BUCKET;
            case SCOPE -> Role.SCOPE;
            case GLOBAL -> Role.GLOBAL;
            default -> Role.NONE;
        };
    }

    private static long code(String word) {
        long code = 0;
        for (int i = 0; i < word.length(); i++) {
            code = append(code, word.charAt(i));
        }
        return code;
    }

    private static int slot(long code) {
        return (int) ((code * 0x9E3779B97F4A7C15L) >>> 57);
    }
}
