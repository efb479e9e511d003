package io.github.reactorratelimit.signal;

/**
 * Reads a point of the calendar: ISO-8601 instants, the three HTTP-dates (RFC 9110, section 5.6.7) and JavaScript's date
 * text. Lenient where servers are wrong but clear (weekday, case, {@code UTC}), strict where the calendar is (30
 * February). Leaves the time since the epoch in {@link #seconds} and {@link #nanos}.
 */
final class CalendarText {

    private static final long DAY = 86_400;
    private static final long SECONDS_PER_YEAR = 31_556_952;

    long seconds;
    int nanos;
    /** Whether it came without a fraction of a second. */
    boolean wholeSeconds;

    private final Scan scan;
    /** The receipt of the response, by which two-digit years are understood. */
    private long wallNowMillis;

    private int year;
    private int month;
    private int day;
    private int secondOfDay;

    CalendarText(Scan scan) {
        this.scan = scan;
    }

    /** Tells the receipt of the response, by which two-digit years are understood. */
    void near(long receiptMillis) {
        wallNowMillis = receiptMillis;
    }

    // 2021-05-10T11:30Z, 2023-11-14 22:13:50 UTC, 2025-08-21T12:40:59.1234567+02:00
    boolean iso() {
        year = scan.number(4, 4);
        scan.position++;
        month = scan.number(2, 2);
        boolean wellFormed = scan.skip('-');
        day = scan.number(2, 2);
        wellFormed &= scan.skip('T') || scan.skip('t') || scan.skip(' ');
        int hour = scan.number(2, 2);
        wellFormed &= scan.skip(':');
        int minute = scan.number(2, 2);
        int second = scan.skip(':') ? scan.number(2, 2) : 0;
        scan.whole = 0;
        scan.fraction = 0;
        boolean fraction = scan.skip('.');
        wellFormed &= !fraction || scan.fraction();
        if (!wellFormed || !clock(hour, minute, second)) {
            return false;
        }
        int carry = (int) scan.whole;
        int below = scan.fraction;
        int end = scan.position;
        scan.skipBlanks();
        int offset = 0;
        if (!isUtc(scan.threeLetters())) {
            scan.position = end;
            offset = offset();
        }
        if (offset == Integer.MIN_VALUE || !epoch(offset)) {
            return false;
        }
        seconds += carry;
        nanos = below;
        wholeSeconds = !fraction;
        return true;
    }

    /** Seconds east of Greenwich; 0 if nothing is said, {@link Integer#MIN_VALUE} if it cannot be read. */
    private int offset() {
        char c = scan.peek();
        if (c == 'Z' || c == 'z') {
            scan.position++;
            return 0;
        }
        if (c != '+' && c != '-') {
            return 0;
        }
        scan.position++;
        int hours = scan.number(2, 4);
        int minutes = scan.skip(':') ? scan.number(2, 2) : hours > 99 ? hours % 100 : 0;
        hours = hours > 99 ? hours / 100 : hours;
        if (hours < 0 || hours > 18 || minutes < 0 || minutes > 59) {
            return Integer.MIN_VALUE;
        }
        int east = hours * 3600 + minutes * 60;
        return c == '-' ? -east : east;
    }

    boolean httpDate() {
        if (!isWeekday(scan.letters())) {
            return false;
        }
        boolean read = scan.skip(',') ? afterComma() : scan.skip(' ') && asctimeOrScript();
        nanos = 0;
        wholeSeconds = true;
        return read;
    }

    // 29 Sep 2023 16:26:57 GMT, 06-Nov-94 08:49:37 GMT
    private boolean afterComma() {
        int comma = scan.position - 1;
        scan.skipBlanks();
        day = scan.number(1, 2);
        char separator = scan.peek();
        boolean isDay = day >= 1 && day <= 31 && (scan.atEnd() || " -,".indexOf(separator) >= 0);
        if (!isDay) {
            // a word and another member, as in "Tue, 40"
            scan.position = comma;
            return false;
        }
        if (!scan.skip(' ') && !scan.skip('-')) {
            return false;
        }
        month = month(scan.threeLetters());
        boolean wellFormed = scan.skip(separator);
        int start = scan.position;
        year = scan.number(2, 4);
        boolean twoDigits = scan.position - start == 2;
        wellFormed &= twoDigits || scan.position - start == 4;
        scan.skipBlanks();
        wellFormed &= time();
        scan.skipBlanks();
        return wellFormed && isUtc(scan.threeLetters()) && (twoDigits ? closestCentury() : epoch(0));
    }

    // Nov  6 08:49:37 1994, Feb 16 2021 09:02:42 GMT+0100 (Central European Standard Time)
    private boolean asctimeOrScript() {
        month = month(scan.threeLetters());
        scan.skipBlanks();
        day = scan.number(1, 2);
        scan.skipBlanks();
        int start = scan.position;
        year = scan.number(2, 4);
        if (scan.position - start == 4) {
            scan.skipBlanks();
            boolean wellFormed = time() && scan.skip(' ') && isUtc(scan.threeLetters());
            int offset = offset();
            scan.skipBlanks();
            wellFormed &= comment();
            return wellFormed && offset != Integer.MIN_VALUE && epoch(offset);
        }
        scan.position = start;
        boolean wellFormed = time();
        scan.skipBlanks();
        year = scan.number(4, 4);
        return wellFormed && epoch(0);
    }

    /** Steps over what is in brackets; false if they are not closed before the member ends. */
    private boolean comment() {
        if (!scan.skip('(')) {
            return true;
        }
        char c = scan.peek();
        while (c != ')' && c != ',' && c != Scan.END) {
            scan.position++;
            c = scan.peek();
        }
        return scan.skip(')');
    }

    private boolean time() {
        int hour = scan.number(2, 2);
        boolean wellFormed = scan.skip(':');
        int minute = scan.number(2, 2);
        wellFormed &= scan.skip(':');
        return clock(hour, minute, scan.number(2, 2)) && wellFormed;
    }

    private boolean clock(int hour, int minute, int second) {
        secondOfDay = hour * 3600 + minute * 60 + second;
        // a leap second is the first second of the next minute
        return hour >= 0 && hour <= 23 && minute >= 0 && minute <= 59 && second >= 0 && second <= 60;
    }

    /** The latest year of these two digits in which the date is not more than 50 years ahead (RFC 9110, section 5.6.7). */
    private boolean closestCentury() {
        int lastDigits = year;
        long nowSeconds = Math.floorDiv(wallNowMillis, 1000L);
        long next = 1970 + nowSeconds / SECONDS_PER_YEAR + 100;
        int century = (int) Math.max(0, Math.min(9999, next)) / 100 * 100;
        for (; century >= 0; century -= 100) {
            year = century + lastDigits;
            if (epoch(0) && fiftyYearsBefore() <= nowSeconds) {
                return true;
            }
        }
        return false;
    }

    private long fiftyYearsBefore() {
        return epochDay(year - 50) * DAY + secondOfDay;
    }

    /** Computes the epoch second of the fields, false if they are no date of the calendar. */
    private boolean epoch(int offset) {
        if (year < 0 || month < 1 || month > 12 || day < 1 || day > daysOfMonth()) {
            return false;
        }
        seconds = epochDay(year) * DAY + secondOfDay - offset;
        return true;
    }

    private long epochDay(int ofYear) {
        int y = month <= 2 ? ofYear - 1 : ofYear;
        int shifted = month > 2 ? month - 3 : month + 9;
        long dayOfYear = (153L * shifted + 2) / 5 + day - 1;
        return 365L * y + Math.floorDiv(y, 4) - Math.floorDiv(y, 100) + Math.floorDiv(y, 400) + dayOfYear - 719_468;
    }

    private int daysOfMonth() {
        if (month == 2) {
            return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28;
        }
        return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
    }

    private static boolean isUtc(int letters) {
        return letters == (('g' << 16) | ('m' << 8) | 't') || letters == (('u' << 16) | ('t' << 8) | 'c');
    }

    private static boolean isWeekday(int letters) {
        return switch (letters) {
            case ('m' << 16) | ('o' << 8) | 'n',
                    ('t' << 16) | ('u' << 8) | 'e',
                    ('w' << 16) | ('e' << 8) | 'd',
                    ('t' << 16) | ('h' << 8) | 'u',
                    ('f' << 16) | ('r' << 8) | 'i',
                    ('s' << 16) | ('a' << 8) | 't',
                    ('s' << 16) | ('u' << 8) | 'n' -> true;
            default -> false;
        };
    }

    private static int month(int letters) {
        return switch (letters) {
            case ('j' << 16) | ('a' << 8) | 'n' -> 1;
            case ('f' << 16) | ('e' << 8) | 'b' -> 2;
            case ('m' << 16) | ('a' << 8) | 'r' -> 3;
            case ('a' << 16) | ('p' << 8) | 'r' -> 4;
            case ('m' << 16) | ('a' << 8) | 'y' -> 5;
            case ('j' << 16) | ('u' << 8) | 'n' -> 6;
            case ('j' << 16) | ('u' << 8) | 'l' -> 7;
            case ('a' << 16) | ('u' << 8) | 'g' -> 8;
            case ('s' << 16) | ('e' << 8) | 'p' -> 9;
            case ('o' << 16) | ('c' << 8) | 't' -> 10;
            case ('n' << 16) | ('o' << 8) | 'v' -> 11;
            case ('d' << 16) | ('e' << 8) | 'c' -> 12;
            default -> 0;
        };
    }
}
