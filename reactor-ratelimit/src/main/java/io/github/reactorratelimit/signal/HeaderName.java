package io.github.reactorratelimit.signal;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Tells what a header is about by its name alone. Most names of a response are none of ours: they are left after two or
 * three characters, by their length and by a skipping search for {@code ratelimit}.
 *
 * <p>A name of a quota family is {@code <prefix>rate[-]limit[-<words>]}; one of the words is the role, the others are the
 * dimension ({@code requests} in {@code x-ratelimit-remaining-requests}), in either order.
 */
final class HeaderName {

    private static final int LONGEST = 128;
    private static final int SHORTEST = "ratelimit".length();
    /** How far the search may go on from a character; {@link #LAST_T} only at the letter that both names end in. */
    private static final byte[] SHIFTS = shifts();

    private static final int LAST_T = 6;
    private static final int LONGEST_DIRECT = "x-ms-retry-after-ms".length();
    private static final int SLOTS = 32;
    private static final long SPREAD = 0x9E3779B97F4A7C15L;

    /** Which family: what stands before the role, and how it is spelled. */
    long prefix;
    /** Which of the family's quotas, 0 if it has just one. */
    long dimension;
    /** Where the dimension's words are; equal if there are none. */
    int dimensionFrom;

    int dimensionTo;

    /** The names of quota families met last: servers repeat theirs with every response. */
    private final @Nullable Known[] known = new @Nullable Known[SLOTS];

    Role classify(CharSequence name) {
        int length = name.length();
        Role direct = length > LONGEST_DIRECT ? Role.NONE : direct(name, length);
        if (direct != Role.NONE || length < SHORTEST || length > LONGEST) {
            return direct;
        }
        int behind = behindLimit(name, length);
        if (behind < 0 || (behind < length && name.charAt(behind) != '-')) {
            return Role.NONE;
        }
        return name instanceof String text ? remembered(text, behind, length) : family(name, behind, length);
    }

    /** As {@link #family}, but for a name that was met before it is enough to be the same. */
    private Role remembered(String name, int behind, int length) {
        int slot = (length * 7 + name.charAt(length - 1) * 3 + name.charAt(length - 3)) & (SLOTS - 1);
        Known before = known[slot];
        if (before != null && before.name.equals(name)) {
            prefix = before.prefix;
            dimension = before.dimension;
            dimensionFrom = before.dimensionFrom;
            dimensionTo = before.dimensionTo;
            return before.role;
        }
        Role role = family(name, behind, length);
        known[slot] = new Known(name, role, prefix, dimension, dimensionFrom, dimensionTo);
        return role;
    }

    private static Role direct(CharSequence name, int length) {
        return switch (length) {
            case 3 -> is(name, "age") ? Role.AGE : Role.NONE;
            case 4 -> is(name, "date") ? Role.DATE : Role.NONE;
            case 10 -> is(name, "retryafter") || is(name, "x-retry-in") ? Role.HINT : Role.NONE;
            case 11 -> is(name, "retry-after") ? Role.HINT : Role.NONE;
            case 13 -> is(name, "x-retry-after") ? Role.HINT : Role.NONE;
            case 14 -> is(name, "retry-after-ms") ? Role.HINT_MILLIS : Role.NONE;
            case 17 -> is(name, "x-amz-retry-after") ? Role.HINT_MILLIS : Role.NONE;
            case 19 -> is(name, "x-ms-retry-after-ms") ? Role.HINT_MILLIS : Role.NONE;
            default -> Role.NONE;
        };
    }

    /** Whether a header can have this name (RFC 9110, section 5.6.2). */
    static boolean isToken(String name) {
        for (int i = 0; i < name.length(); i++) {
            char c = name.charAt(i);
            if (c <= ' ' || c > '~' || "\"(),/:;<=>?@[\\]{}".indexOf(c) >= 0) {
                return false;
            }
        }
        return !name.isEmpty();
    }

    /** Whether two names are the same in ASCII's cases. */
    static boolean same(CharSequence one, CharSequence other) {
        int length = one.length();
        if (length != other.length()) {
            return false;
        }
        for (int i = 0; i < length; i++) {
            if (lower(one.charAt(i)) != lower(other.charAt(i))) {
                return false;
            }
        }
        return true;
    }

    // Horspool's search for "ratelimit" and "rate-limit" at once: most names are left after a look at every ninth
    // character
    private static int behindLimit(CharSequence name, int length) {
        int i = SHORTEST - 1;
        while (i < length) {
            char c = name.charAt(i);
            int shift = c < SHIFTS.length ? SHIFTS[c] : SHORTEST;
            if (shift == LAST_T && endsWith(name, i, "limi") && isRate(name, i - 5)) {
                return i + 1;
            }
            i += shift;
        }
        return -1;
    }

    private static byte[] shifts() {
        byte[] shifts = new byte[128];
        Arrays.fill(shifts, (byte) SHORTEST);
        for (String name : new String[] {"ratelimit", "rate-limit"}) {
            for (int i = 0; i < name.length() - 1; i++) {
                char c = name.charAt(i);
                byte shift = (byte) Math.min(shifts[c], name.length() - 1 - i);
                shifts[c] = shift;
                shifts[Character.toUpperCase(c)] = shift;
            }
        }
        return shifts;
    }

    private static boolean isRate(CharSequence name, int last) {
        int end = name.charAt(last) == '-' ? last : last + 1;
        if (!endsWith(name, end, "rate")) {
            return false;
        }
        int before = end - 5;
        return before < 0 || name.charAt(before) == '-' || name.charAt(before) == '_';
    }

    private static boolean endsWith(CharSequence name, int end, String text) {
        int from = end - text.length();
        if (from < 0) {
            return false;
        }
        for (int i = text.length() - 1; i >= 0; i--) {
            if ((name.charAt(from + i) | 0x20) != text.charAt(i)) {
                return false;
            }
        }
        return true;
    }

    private Role family(CharSequence name, int behind, int length) {
        // all prefixes end alike: what differs is what comes before, and whether there is a hyphen
        boolean hyphen = name.charAt(behind - 6) == '-';
        int before = behind - (hyphen ? 10 : 9);
        long hash = hyphen ? 2 : 1;
        for (int i = 0; i < before; i++) {
            hash = HeaderWord.append(hash, lower(name.charAt(i)));
        }
        prefix = hash * SPREAD;
        dimension = 0;
        dimensionFrom = behind;
        dimensionTo = behind;
        if (behind == length) {
            // a bare RateLimit is the IETF field, a bare X-RateLimit is the limit
            return length == 9 ? Role.IETF : Role.LIMIT;
        }
        return words(name, behind, length);
    }

    private Role words(CharSequence name, int behind, int length) {
        int role = HeaderWord.UNKNOWN;
        boolean millis = false;
        boolean after = false;
        int at = behind + 1;
        while (at <= length) {
            long code = 0;
            int from = at;
            for (; at < length; at++) {
                char c = lower(name.charAt(at));
                if (c == '-') {
                    break;
                }
                code = HeaderWord.append(code, c);
            }
            int word = HeaderWord.of(code, at - from);
            if (word == HeaderWord.MILLIS) {
                millis = true;
            } else if (word == HeaderWord.AFTER) {
                after = true;
            } else if (HeaderWord.isRole(word) && HeaderWord.outranks(word, role)) {
                role = word;
            } else if (word != HeaderWord.FILLER) {
                dimension = (dimension + code) * SPREAD + at - from;
                dimensionFrom = dimensionFrom == behind ? from : dimensionFrom;
                dimensionTo = at;
            }
            at++;
        }
        return HeaderWord.role(role, millis, after);
    }

    private static char lower(char c) {
        return c >= 'A' && c <= 'Z' ? (char) (c | 0x20) : c;
    }

    /** Whether {@code name} is {@code lowerCase} in any ASCII case; of the same length. */
    private static boolean is(CharSequence name, String lowerCase) {
        for (int i = 0; i < lowerCase.length(); i++) {
            if (lower(name.charAt(i)) != lowerCase.charAt(i)) {
                return false;
            }
        }
        return true;
    }

    /** What was found out about a name. */
    private record Known(String name, Role role, long prefix, long dimension, int dimensionFrom, int dimensionTo) {}
}
