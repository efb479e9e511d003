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
        if (segment.startsWith("{") && segment.endsWith("}")) {
            return to > from;
        }
        return segment.length() == to - from && value.startsWith(segment, from);
    }

    @Override
    public String toString() {
        return pattern;
    }
}
