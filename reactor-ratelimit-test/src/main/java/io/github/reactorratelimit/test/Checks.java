package io.github.reactorratelimit.test;

import java.time.Duration;
import java.util.Locale;
import java.util.Objects;

/** The rules for values that enter the kit, each failing with the rule and the value. */
final class Checks {

    /** What a count of milliseconds can hold. */
    private static final Duration LONGEST = Duration.ofMillis(Long.MAX_VALUE);

    private Checks() {}

    static int atLeastOne(String name, int value) {
        if (value < 1) {
            throw new IllegalArgumentException(name + " must be at least 1, was " + value);
        }
        return value;
    }

    static long atLeastOne(String name, long value) {
        if (value < 1) {
            throw new IllegalArgumentException(name + " must be at least 1, was " + value);
        }
        return value;
    }

    static long notNegative(String name, long value) {
        if (value < 0) {
            throw new IllegalArgumentException(name + " must not be negative, was " + value);
        }
        return value;
    }

    static Duration atLeastOneMilli(String name, Duration value) {
        if (Objects.requireNonNull(value, name).compareTo(Duration.ofMillis(1)) < 0) {
            throw new IllegalArgumentException(name + " must be at least 1 ms, was " + value);
        }
        if (value.compareTo(LONGEST) > 0) {
            throw new IllegalArgumentException(name + " must be at most " + LONGEST + ", was " + value);
        }
        return value;
    }

    static Duration notNegative(String name, Duration value) {
        if (value.isNegative()) {
            throw new IllegalArgumentException(name + " must not be negative, was " + value);
        }
        return value;
    }

    /** Methods are case-sensitive, and nobody means another one than the usual. */
    static String method(String value) {
        if (!value.equals(value.toUpperCase(Locale.ROOT)) || value.isEmpty()) {
            throw new IllegalArgumentException("a method must be in upper case, was '" + value + "'");
        }
        return value;
    }

    static String path(String value) {
        if (!value.startsWith("/") || value.indexOf('?') >= 0) {
            throw new IllegalArgumentException("a path must start with / and have no query, was " + value);
        }
        return value;
    }
}
