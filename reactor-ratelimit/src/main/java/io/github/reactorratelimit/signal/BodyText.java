package io.github.reactorratelimit.signal;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Reads times out of the texts of a body, with the scanner of the headers. */
final class BodyText {

    // beyond these the number is more than any long, or less than a nanosecond
    private static final int MOST_SHIFT = 40;

    private BodyText() {}

    /** A number of seconds, JSON's exponents included; null if it is none or negative. */
    static @Nullable Duration seconds(String text) {
        Scan scan = decimal(text);
        return scan == null ? null : Duration.ofSeconds(scan.whole, scan.fraction);
    }

    private static @Nullable Scan decimal(String text) {
        int e = Math.max(text.indexOf('e'), text.indexOf('E'));
        String plain = e < 0 ? text : shifted(text.substring(0, e), text.substring(e + 1));
        Scan scan = new Scan();
        if (plain == null || !scan.over(plain, Scan.MAX_VALUE) || !scan.decimal() || !scan.atEnd()) {
            return null;
        }
        return scan;
    }

    /** A whole number, fractions cut off; -1 if it is none or negative. */
    static long count(String text) {
        Scan scan = decimal(text);
        return scan == null ? -1 : scan.carried ? scan.whole - 1 : scan.whole;
    }

    /** A share such as 0.8; NaN if it is none or negative. */
    static double share(String text) {
        Duration number = seconds(text);
        return number == null ? Double.NaN : number.toSeconds() + number.toNanosPart() / 1e9;
    }

    /** The duration behind {@code phrase} in a message such as "Please try again in 20s."; null if there is none. */
    static @Nullable Duration durationBehind(String message, String phrase) {
        int at = indexOf(message, phrase);
        if (at < 0) {
            return null;
        }
        int from = at + phrase.length();
        Scan scan = new Scan();
        TimeText time = new TimeText(scan);
        if (!scan.over(message.substring(from, Math.min(message.length(), from + 64)), Scan.MAX_VALUE)
                || time.read() != TimeText.Kind.DURATION) {
            return null;
        }
        return Duration.ofSeconds(time.seconds, time.nanos);
    }

    /** Whether a text has a phrase, given in lower case, in any ASCII case. */
    static boolean has(String text, String phrase) {
        return indexOf(text, phrase) >= 0;
    }

    // in ASCII only: a text in lower case by the rules of Unicode may be longer than it was
    private static int indexOf(String text, String phrase) {
        int last = text.length() - phrase.length();
        for (int at = 0; at <= last; at++) {
            if (text.regionMatches(true, at, phrase, 0, 1)
                    && HeaderName.same(text.substring(at, at + phrase.length()), phrase)) {
                return at;
            }
        }
        return -1;
    }

    /** A header's value without the blanks around it and without one pair of quotes; {@code ""} if it is too long. */
    static String plain(String value) {
        Scan scan = new Scan();
        return scan.over(value, Scan.MAX_VALUE) ? scan.substring(scan.position, scan.end) : "";
    }

    // moves the point of the mantissa, so that no number of a billion digits is ever built
    private static @Nullable String shifted(String mantissa, String exponent) {
        boolean negative = exponent.startsWith("-");
        Scan scan = new Scan();
        scan.over(negative || exponent.startsWith("+") ? exponent.substring(1) : exponent, Scan.MAX_VALUE);
        if (!scan.digits() || !scan.atEnd() || mantissa.length() > MOST_SHIFT) {
            return null;
        }
        int shift = (int) Math.min(scan.whole, MOST_SHIFT);
        if (!scan.over(mantissa, Scan.MAX_VALUE) || !scan.decimal() || !scan.atEnd()) {
            return null;
        }
        int point = mantissa.indexOf('.');
        String digits = point < 0 ? mantissa : mantissa.substring(0, point) + mantissa.substring(point + 1);
        int whole = point < 0 ? mantissa.length() : point;
        if (negative) {
            digits = "0".repeat(shift) + digits;
        } else {
            digits = digits + "0".repeat(shift);
            whole += shift;
        }
        return whole == digits.length() ? digits : digits.substring(0, whole) + "." + digits.substring(whole);
    }
}
