package io.github.reactorratelimit.signal;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads {@code RateLimit} and {@code RateLimit-Policy} of draft-ietf-httpapi-ratelimit-headers in all their shapes: the
 * structured lists of 08 and later, the dictionary of 07, the policies of 04 to 06.
 */
final class IetfFields {

    private static final long LIMIT = word("limit");
    private static final long REMAINING = word("remaining");
    private static final long RESET = word("reset");
    private static final long WINDOW = word("window");
    private static final long Q = word("q");
    private static final long R = word("r");
    private static final long T = word("t");
    private static final long W = word("w");
    private static final long PK = word("pk");
    private static final long QU = word("qu");
    /** Sets the members of one list apart from the families of single headers. */
    private static final long LISTED = 7;
    /** Sets dictionaries apart from the families of single headers, which may tell of another quota. */
    static final long DICTIONARY = 8;

    private static final int MOST_POLICIES = 32;

    private final Scan scan;
    private final StructuredField field;
    private final Meters meters;

    IetfFields(Scan scan, StructuredField field, Meters meters) {
        this.scan = scan;
        this.field = field;
        this.meters = meters;
    }

    /** Reads one line of {@code RateLimit}; a line that breaks the grammar leaves nothing behind. */
    void limits(CharSequence value, long prefix) {
        if (!scan.overList(value) || scan.atEnd()) {
            return;
        }
        field.start();
        int start = scan.position;
        boolean paired = field.key() && scan.peek() == '=';
        scan.position = start;
        if (paired) {
            dictionary(prefix);
            return;
        }
        int mark = meters.size();
        do {
            listed(prefix);
        } while (!field.broken && field.nextMember());
        if (field.broken) {
            meters.truncate(mark);
            // a dictionary may begin with a key that has no value
            scan.position = start;
            field.start();
            dictionary(prefix);
        }
    }

    private void listed(long prefix) {
        if (!field.member()) {
            return;
        }
        String name = field.name();
        long remaining = -1;
        long afterSeconds = -1;
        String partition = null;
        while (field.parameter()) {
            if (field.keyIs(R)) {
                remaining = field.count();
            } else if (field.keyIs(T)) {
                afterSeconds = field.count();
            } else if (field.keyIs(PK)) {
                partition = field.text();
            }
        }
        if (field.broken || name == null || remaining < 0) {
            return;
        }
        Meter meter = meters.add(prefix, LISTED);
        if (meter != null) {
            meter.name = name;
            meter.partition = partition;
            meter.remaining = remaining;
            if (afterSeconds >= 0) {
                meter.after.set(afterSeconds, 0, false);
            }
        }
    }

    // limit=100, remaining=50, reset=5; how a number is to be taken as a reset, its size tells
    private void dictionary(long prefix) {
        long limit = -1;
        long remaining = -1;
        long reset = -1;
        do {
            if (!field.key()) {
                return;
            }
            boolean isLimit = field.keyIs(LIMIT);
            boolean isRemaining = field.keyIs(REMAINING);
            boolean isReset = field.keyIs(RESET);
            if (!field.value()) {
                return;
            }
            long count = field.count();
            field.skipParameters();
            limit = isLimit ? count : limit;
            remaining = isRemaining ? count : remaining;
            reset = isReset ? count : reset;
        } while (!field.broken && field.nextMember());
        if (!field.broken) {
            merge(prefix, limit, remaining, reset);
        }
    }

    // a second line goes on with the first, as RFC 9651 has it, unless it says otherwise: then it is another quota's
    private void merge(long prefix, long limit, long remaining, long reset) {
        Meter meter = latest(prefix);
        if (meter == null || differs(limit, meter.limit) || differs(remaining, meter.remaining)) {
            meter = meters.add(prefix, DICTIONARY);
        }
        if (meter == null) {
            return;
        }
        meter.limit = limit >= 0 ? limit : meter.limit;
        meter.remaining = remaining >= 0 ? remaining : meter.remaining;
        if (reset >= 0) {
            Magnitude.weigh(meter, reset, 0);
        }
    }

    /** Whether two figures are said and are not the same. */
    static boolean differs(long said, long before) {
        return said >= 0 && before >= 0 && said != before;
    }

    private @Nullable Meter latest(long prefix) {
        for (int i = meters.size() - 1; i >= 0; i--) {
            if (meters.get(i).is(prefix, DICTIONARY, 0)) {
                return meters.get(i);
            }
        }
        return null;
    }

    /** Reads one line of a policy list. */
    void policies(CharSequence value, long prefix, List<Policy> into) {
        if (!scan.overList(value) || scan.atEnd()) {
            return;
        }
        field.start();
        int mark = into.size();
        do {
            Policy policy = policy(prefix);
            if (policy != null && into.size() < MOST_POLICIES) {
                into.add(policy);
            }
        } while (!field.broken && field.nextMember());
        if (field.broken) {
            into.subList(mark, into.size()).clear();
        }
    }

    private @Nullable Policy policy(long prefix) {
        if (!field.member()) {
            return null;
        }
        String name = field.name();
        long limit = field.count();
        long windowSeconds = -1;
        String partition = null;
        String unit = null;
        while (field.parameter()) {
            if (field.keyIs(Q)) {
                limit = field.count();
            } else if (field.keyIs(W) || field.keyIs(WINDOW)) {
                windowSeconds = field.count();
            } else if (field.keyIs(PK)) {
                partition = field.text();
            } else if (field.keyIs(QU)) {
                unit = field.text();
            }
        }
        return field.broken || limit < 0 ? null : new Policy(prefix, name, partition, unit, limit, windowSeconds);
    }

    /** Reads the parameters behind a plain number, {@code ;w=21600} or {@code ;window=60}, for a window. */
    void window(Meter meter) {
        field.start();
        int start = scan.position;
        while (field.parameter()) {
            if ((field.keyIs(W) || field.keyIs(WINDOW)) && field.count() >= 0) {
                meter.window.set(field.count(), 0, false);
            }
        }
        if (field.broken) {
            // a quote that is never closed hides none of the members behind it
            scan.position = start;
        }
    }

    private static long word(String text) {
        long code = 0;
        for (int i = 0; i < text.length(); i++) {
            code = HeaderWord.append(code, text.charAt(i));
        }
        return code;
    }
}
