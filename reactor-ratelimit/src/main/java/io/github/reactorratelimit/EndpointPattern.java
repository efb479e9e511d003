package io.github.reactorratelimit;

/** A path with {@code {name}} for any one segment. */
final class EndpointPattern {

    private final String pattern;
    private final String[] segments;

    EndpointPattern(String pattern) {
        this.pattern = pattern;
        this.segments = pattern.split("/", -1);
    }

    static boolean isPattern(String text) {
        return text.indexOf('{') >= 0 && text.indexOf('}') > text.indexOf('{');
    }

    /** Whether no segment has braces around a part of it, which would match nothing but itself. */
    static boolean isWhole(String text) {
        for (String segment : text.split("/", -1)) {
            if (isPattern(segment) && !isPlaceholder(segment)) {
                return false;
            }
        }
        return true;
    }

    private static boolean isPlaceholder(String segment) {
        return segment.startsWith("{") && segment.indexOf('}') == segment.length() - 1;
    }

    boolean matches(String value) {
        int from = 0;
        for (int i = 0; i < segments.length; i++) {
            int slash = value.indexOf('/', from);
            int to = slash < 0 ? value.length() : slash;
            if ((slash < 0) != (i == segments.length - 1) || !matches(segments[i], value, from, to)) {
                return false;
            }
            from = to + 1;
        }
        return true;
    }

    private static boolean matches(String segment, String value, int from, int to) {
        if (isPlaceholder(segment)) {
            return to > from;
        }
        return segment.length() == to - from && value.startsWith(segment, from);
    }

    @Override
    public String toString() {
        return pattern;
    }
}
