package io.github.reactorratelimit.signal;

import java.time.Duration;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** One quota while it is being read, as numbers: -1 is "not said". */
final class Meter {

    private static final String REQUESTS = "requests";
    private static final String CONCURRENT = "concurrent-requests";

    long prefix;
    long dimension;
    /** Its place in parallel lists. */
    int index;

    @Nullable
    String name;

    @Nullable
    String partition;

    String unit = REQUESTS;
    long limit;
    long remaining;
    long used;
    /** The reset where the name says that it is a time from now: {@code Reset-After}, {@code t}. */
    final Span after = new Span();
    /** A reset that by its value is a time from now. */
    final Span delta = new Span();
    /** The absolute form of the reset, since the epoch. */
    final Span at = new Span();
    /** What is left until the reset; once the reading is done. */
    final Span reset = new Span();

    final Span window = new Span();
    /** Of the first of a family: how many members its headers had. */
    int limits;

    int remainings;
    int resets;
    int afters;
    int uses;
    int windows;
    boolean dropped;

    private CharSequence header = "";
    private int wordsFrom;
    private int wordsTo;

    void start(long newPrefix, long newDimension, int newIndex) {
        prefix = newPrefix;
        dimension = newDimension;
        index = newIndex;
        name = null;
        partition = null;
        unit = REQUESTS;
        limit = -1;
        remaining = -1;
        used = -1;
        clearReset();
        reset.clear();
        window.clear();
        limits = 0;
        remainings = 0;
        resets = 0;
        afters = 0;
        uses = 0;
        windows = 0;
        dropped = false;
        header = "";
        wordsFrom = 0;
        wordsTo = 0;
    }

    /** Lets go of what belongs to the response. */
    void release() {
        name = null;
        partition = null;
        unit = REQUESTS;
        header = "";
    }

    /** Names the quota by the words of a header's name. */
    void words(CharSequence of, int from, int to) {
        header = of;
        wordsFrom = from;
        wordsTo = to;
    }

    /** How many members the headers of this family had so far in a role. */
    int members(Role role) {
        return switch (role) {
            case LIMIT -> limits;
            case REMAINING -> remainings;
            case USED -> uses;
            case RESET_AFTER, RESET_AFTER_MILLIS -> afters;
            case WINDOW, WINDOW_MILLIS -> windows;
            default -> resets;
        };
    }

    void members(Role role, int count) {
        switch (role) {
            case LIMIT -> limits = count;
            case REMAINING -> remainings = count;
            case USED -> uses = count;
            case RESET_AFTER, RESET_AFTER_MILLIS -> afters = count;
            case WINDOW, WINDOW_MILLIS -> windows = count;
            default -> resets = count;
        }
    }

    boolean countsNothing() {
        return limit < 0 && remaining < 0 && used < 0;
    }

    boolean hasReset() {
        return after.known || delta.known || at.known;
    }

    boolean is(long otherPrefix, long otherDimension, int otherIndex) {
        return prefix == otherPrefix && dimension == otherDimension && index == otherIndex;
    }

    /** A quota of calls in flight: it is cured by a call that ends, not by the clock. */
    boolean timeless() {
        return CONCURRENT.equals(unit);
    }

    void takeResetOf(Meter other) {
        after.longest(other.after);
        delta.longest(other.delta);
        at.longest(other.at);
    }

    void clearReset() {
        after.clear();
        delta.clear();
        at.clear();
    }

    Quota quota() {
        String words = words();
        Duration left = reset.duration();
        return new Quota(
                name != null ? name : words,
                unit(words),
                limit,
                remaining,
                used,
                left,
                window.duration(),
                partition,
                reset.known && reset.coarse);
    }

    private String words() {
        return wordsFrom >= wordsTo
                ? ""
                : header.subSequence(wordsFrom, wordsTo).toString().toLowerCase(Locale.ROOT);
    }

    // "tokens", "project-tokens", "tokens_usage_based" count tokens; a provider with two kinds says which
    private String unit(String words) {
        if (words.isEmpty()) {
            return unit;
        }
        if (words.contains("token")) {
            return words.endsWith("input-tokens")
                    ? "input-tokens"
                    : words.endsWith("output-tokens") ? "output-tokens" : "tokens";
        }
        return words.endsWith("complexity") ? "complexity" : unit;
    }
}
