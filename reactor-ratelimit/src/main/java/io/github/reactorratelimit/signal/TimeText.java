package io.github.reactorratelimit.signal;

/**
 * Reads a time in any of the forms that servers send: a bare number, a Go duration ({@code 6m0s}), an ISO-8601 instant,
 * the three HTTP-dates (RFC 9110, section 5.6.7) and JavaScript's date text.
 *
 * <p>The time is left in {@link #seconds} and {@link #nanos}: since the epoch for {@link Kind#INSTANT}, from now on for
 * {@link Kind#DURATION}; a {@link Kind#NUMBER} is for the caller to weigh. Never rounded down.
 */
final class TimeText {

    enum Kind {
        NONE,
        NUMBER,
        DURATION,
        INSTANT
    }

    long seconds;
    int nanos;
    /** Whether an instant came without a fraction of a second. */
    boolean wholeSeconds;

    private final Scan scan;
    private final CalendarText calendar;

    TimeText(Scan scan) {
        this.scan = scan;
        this.calendar = new CalendarText(scan);
    }

    /** Tells the receipt of the response, by which two-digit years are understood. */
    void near(long wallNowMillis) {
        calendar.near(wallNowMillis);
    }

    /** Reads the time under the cursor and stays behind it, or anywhere within it if there is none. */
    Kind read() {
        int start = scan.position;
        char first = scan.peek();
        if (first >= '0' && first <= '9') {
            if (!scan.decimal()) {
                return Kind.NONE;
            }
            seconds = scan.whole;
            nanos = scan.fraction;
            char next = scan.peek();
            if (next == '-' && scan.position - start == 4) {
                scan.position = start;
                return instant(calendar.iso());
            }
            return next == 'h' || next == 'm' || next == 's' || next == 'u' || next == 'n' || next > 127
                    ? duration()
                    : Kind.NUMBER;
        }
        return (first | 0x20) >= 'a' && (first | 0x20) <= 'z' ? instant(calendar.httpDate()) : Kind.NONE;
    }

    /** Takes the number just read as milliseconds. */
    void millis() {
        long whole = seconds;
        int rest = nanos;
        seconds = 0;
        nanos = 0;
        add(whole, rest, 1_000_000);
    }

    // Go's time.ParseDuration without a sign: the first number is already read
    private Kind duration() {
        seconds = 0;
        nanos = 0;
        boolean wellFormed = true;
        while (wellFormed) {
            long whole = scan.whole;
            int rest = scan.fraction;
            long unit = unit();
            if (unit == 0) {
                return Kind.NONE;
            }
            add(whole, rest, unit);
            char next = scan.peek();
            if (next < '0' || next > '9') {
                return Kind.DURATION;
            }
            wellFormed = scan.decimal();
        }
        return Kind.NONE;
    }

    /** Nanoseconds of the unit under the cursor, 0 if there is none; a comma is no part of one and is left alone. */
    private long unit() {
        char c = scan.peek();
        if (c == ',') {
            return 0;
        }
        scan.position++;
        return switch (c) {
            case 'h' -> 3600L * Scan.BILLION;
            case 's' -> Scan.BILLION;
            case 'm' -> scan.skip('s') ? 1_000_000 : 60L * Scan.BILLION;
            case 'n' -> scan.skip('s') ? 1 : 0;
            // the UTF-8 bytes of a micro sign read as Latin-1, as HTTP clients do
            case '\u00c2' -> scan.skip('\u00b5') && scan.skip('s') ? 1_000 : 0;
            case '\u00ce' -> scan.skip('\u00bc') && scan.skip('s') ? 1_000 : 0;
            case 'u', '\u00b5', '\u03bc' -> scan.skip('s') ? 1_000 : 0;
            default -> 0;
        };
    }

    private void add(long whole, int billionths, long unitNanos) {
        boolean excessive = scan.saturated;
        long moreNanos;
        if (unitNanos >= Scan.BILLION) {
            long perUnit = unitNanos / Scan.BILLION;
            seconds = saturatedSum(seconds, whole > Long.MAX_VALUE / perUnit ? Long.MAX_VALUE : whole * perUnit);
            moreNanos = billionths * perUnit;
        } else {
            long perSecond = Scan.BILLION / unitNanos;
            seconds = excessive ? Long.MAX_VALUE : saturatedSum(seconds, whole / perSecond);
            moreNanos = whole % perSecond * unitNanos + (billionths + perSecond - 1) / perSecond;
        }
        moreNanos += nanos;
        seconds = saturatedSum(seconds, moreNanos / Scan.BILLION);
        nanos = (int) (moreNanos % Scan.BILLION);
    }

    private static long saturatedSum(long a, long b) {
        return a > Long.MAX_VALUE - b ? Long.MAX_VALUE : a + b;
    }

    private Kind instant(boolean read) {
        seconds = calendar.seconds;
        nanos = calendar.nanos;
        wholeSeconds = calendar.wholeSeconds;
        return read ? Kind.INSTANT : Kind.NONE;
    }
}
