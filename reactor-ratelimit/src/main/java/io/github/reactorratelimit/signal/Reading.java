package io.github.reactorratelimit.signal;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Collects what the header lines of one response say. Times stay what they are, durations or instants, until all lines
 * are seen: only then the server's clock is known.
 *
 * <p>One reading serves a thread for one response after the other, so that nothing is allocated for a response without
 * our headers.
 */
final class Reading implements BiConsumer<String, String> {

    private static final ThreadLocal<@Nullable Reading> IDLE = new ThreadLocal<>();

    private static final int MOST_LINES = 128;
    private static final int MOST_MEMBERS = 16;
    private static final int LONGEST_TEXT = 256;
    private static final int IMF_FIXDATE = 29;
    private static final String GLOBAL = "global";

    final Meters meters = new Meters();
    final List<Policy> policies = new ArrayList<>();
    final Span hintMillis = new Span();
    final Span hintAfter = new Span();
    final Span hintAt = new Span();
    long ageSeconds;
    /** Which family named its quota, and how. */
    long namedPrefix;

    @Nullable
    String resource;

    @Nullable
    String bucket;

    @Nullable
    String scope;
    /** How many lines were ours, {@code Date} and {@code Age} aside. */
    int lines;

    private final Scan scan = new Scan();
    private final TimeText time = new TimeText(scan);
    private final HeaderName name = new HeaderName();
    private final Verdict verdict = new Verdict(meters);
    private final IetfFields ietf = new IetfFields(scan, new StructuredField(scan), meters);
    private @Nullable CharSequence date;
    /** The Date that was read last and what it is; before the first any that belong together. */
    private String lastDate = "Thu, 01 Jan 1970 00:00:00 GMT";

    private long lastNowMillis;
    private long wallNowMillis;
    private boolean busy;

    private Reading() {}

    /** The thread's reading, or a new one if that is in use further up the stack. */
    static Reading begin(long receiptMillis) {
        Reading reading = IDLE.get();
        if (reading == null || reading.busy) {
            reading = new Reading();
            IDLE.set(reading);
        }
        reading.start(receiptMillis);
        return reading;
    }

    RateLimitSignal signal(int status) {
        return lines == 0 ? Verdict.hintless(status) : verdict.decide(status, this);
    }

    /** Lets go of the response. */
    void end() {
        busy = false;
        date = null;
        scan.release();
        if (lines == 0) {
            return;
        }
        meters.truncate(0);
        policies.clear();
        resource = null;
        bucket = null;
        scope = null;
    }

    @Override
    public void accept(@Nullable String header, @Nullable String value) {
        if (header != null && value != null) {
            line(header, value);
        }
    }

    /** Takes one header line. */
    void line(CharSequence header, CharSequence value) {
        Role role = name.classify(header);
        switch (role) {
            case NONE -> {}
            case DATE -> date = date == null || !isReadable(date) ? value : date;
            case AGE -> readAge(value);
            default -> {
                if (lines < MOST_LINES || role == Role.HINT || role == Role.HINT_MILLIS) {
                    lines++;
                    ours(role, header, value);
                }
            }
        }
    }

    /** The server's clock in milliseconds since the epoch: its {@code Date} if readable, else ours. */
    long serverNow() {
        if (date == null) {
            return wallNowMillis;
        }
        if (lastDate.contentEquals(date)) {
            return lastNowMillis;
        }
        if (!isReadable(date)) {
            return wallNowMillis;
        }
        long now = time.seconds * 1000 + time.nanos / 1_000_000;
        if (date.length() == IMF_FIXDATE) {
            // under load most responses are of the same second
            lastDate = date.toString();
            lastNowMillis = now;
        }
        return now;
    }

    /** Reads the first instant of a list, which proxies make of two lines. */
    private boolean isReadable(CharSequence value) {
        if (!scan.over(value, Scan.MAX_VALUE)) {
            return false;
        }
        do {
            scan.memberBegins();
            if (time.read() == TimeText.Kind.INSTANT && scan.memberEnds()) {
                return true;
            }
        } while (scan.nextMember());
        return false;
    }

    private void start(long receiptMillis) {
        busy = true;
        wallNowMillis = receiptMillis;
        time.near(receiptMillis);
        hintMillis.clear();
        hintAfter.clear();
        hintAt.clear();
        ageSeconds = 0;
        namedPrefix = 0;
        lines = 0;
    }

    private void ours(Role role, CharSequence header, CharSequence value) {
        switch (role) {
            case HINT, HINT_MILLIS -> hints(value, role == Role.HINT_MILLIS);
            case IETF -> ietf.limits(value, name.prefix);
            case POLICY -> ietf.policies(value, name.prefix, policies);
            case RESOURCE -> {
                resource = text(value, resource);
                namedPrefix = name.prefix;
            }
            case BUCKET -> {
                bucket = text(value, bucket);
                namedPrefix = name.prefix;
            }
            // who is refused everywhere is refused here too, whatever the order
            case SCOPE -> scope = GLOBAL.equals(scope) ? scope : scope(value);
            case GLOBAL -> scope = isTrue(value) ? GLOBAL : scope;
            default -> numbers(role, header, value);
        }
    }

    private void readAge(CharSequence value) {
        if (scan.over(value, Scan.MAX_VALUE) && scan.digits() && scan.memberEnds()) {
            ageSeconds = Math.max(ageSeconds, scan.whole);
        }
    }

    private @Nullable String text(CharSequence value, @Nullable String before) {
        if (!scan.over(value, LONGEST_TEXT) || scan.atEnd()) {
            return before;
        }
        return scan.substring(scan.position, scan.end);
    }

    private @Nullable String scope(CharSequence value) {
        String text = text(value, scope);
        if (text == null || text.length() < GLOBAL.length()) {
            return text;
        }
        for (String member : text.split(",", MOST_MEMBERS)) {
            if (HeaderName.same(member.trim(), GLOBAL)) {
                return GLOBAL;
            }
        }
        return text;
    }

    private boolean isTrue(CharSequence value) {
        String text = text(value, null);
        return text != null && HeaderName.same(text, "true");
    }

    private void hints(CharSequence value, boolean millis) {
        if (!scan.over(value, Scan.MAX_VALUE)) {
            return;
        }
        do {
            scan.memberBegins();
            TimeText.Kind kind = time.read();
            if (kind == TimeText.Kind.NONE || !scan.memberEnds()) {
                continue;
            }
            if (millis) {
                if (kind == TimeText.Kind.NUMBER) {
                    time.millis();
                    hintMillis.longest(time.seconds, time.nanos, false);
                }
            } else if (kind == TimeText.Kind.INSTANT) {
                hintAt.longest(time.seconds, time.nanos, time.wholeSeconds);
            } else {
                hintAfter.longest(time.seconds, time.nanos, false);
            }
        } while (scan.nextMember());
    }

    private void numbers(Role role, CharSequence header, CharSequence value) {
        Meter first = scan.over(value, Scan.MAX_VALUE) ? meters.of(name.prefix, name.dimension, 0) : null;
        if (first == null) {
            return;
        }
        first.words(header, name.dimensionFrom, name.dimensionTo);
        int index = first.members(role);
        do {
            Meter meter = index == 0 ? first : meters.of(name.prefix, name.dimension, index);
            if (meter == null || index == MOST_MEMBERS) {
                break;
            }
            meter.words(header, name.dimensionFrom, name.dimensionTo);
            scan.memberBegins();
            if (role == Role.LIMIT || role == Role.REMAINING || role == Role.USED) {
                count(role, meter);
            } else {
                time(role, meter);
            }
            index++;
        } while (scan.nextMember());
        first.members(role, index);
    }

    private void count(Role role, Meter meter) {
        if (!scan.decimal() || !numberEnds()) {
            return;
        }
        long whole = scan.whole;
        if (role == Role.REMAINING) {
            meter.remaining = scan.carried ? whole - 1 : whole;
        } else if (role == Role.USED) {
            meter.used = whole;
        } else if (whole > 0 || scan.fraction == 0) {
            // a limit of 0.0167 is a rate in disguise (x-amzn-RateLimit-Limit)
            meter.limit = whole;
        }
        if (scan.peek() == ';') {
            ietf.window(meter);
        }
    }

    private void time(Role role, Meter meter) {
        TimeText.Kind kind = time.read();
        if (kind == TimeText.Kind.NONE || !numberEnds()) {
            return;
        }
        boolean window = role == Role.WINDOW || role == Role.WINDOW_MILLIS;
        if (kind == TimeText.Kind.INSTANT) {
            if (!window) {
                meter.at.longest(time.seconds, time.nanos, time.wholeSeconds);
            }
            return;
        }
        if (kind == TimeText.Kind.NUMBER) {
            if (role == Role.RESET || (role == Role.RESET_MILLIS && Magnitude.isEpochMillis(time.seconds))) {
                Magnitude.weigh(meter, time.seconds, time.nanos);
                return;
            }
            if (role == Role.RESET_MILLIS || role == Role.RESET_AFTER_MILLIS || role == Role.WINDOW_MILLIS) {
                time.millis();
            }
        }
        boolean after = role == Role.RESET_AFTER || role == Role.RESET_AFTER_MILLIS;
        (window ? meter.window : after ? meter.after : meter.delta).longest(time.seconds, time.nanos, false);
    }

    // a number may be followed by parameters, 100;w=21600
    private boolean numberEnds() {
        return scan.memberEnds() || scan.peek() == ';';
    }
}
