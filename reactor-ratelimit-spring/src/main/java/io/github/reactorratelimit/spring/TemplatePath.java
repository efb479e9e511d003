package io.github.reactorratelimit.spring;

import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;
import org.springframework.util.StringUtils;

/**
 * The path of a URI template: from the slash after the host to the query, none of which is looked for within braces.
 */
final class TemplatePath {

    private static final Pattern ENCODED_SLASH = Pattern.compile("%2[Ff]");

    private final String path;
    /** Whether a variable stands before it, which may hold a path too. */
    private final boolean open;

    private TemplatePath(String path, boolean open) {
        this.path = path;
        this.open = open;
    }

    static TemplatePath of(String template) {
        int first = find("/?#", template, 0);
        int from = first;
        boolean open = false;
        if (first > 0 && template.startsWith("://", first - 1)) {
            from = find("/?#", template, first + "//".length());
        } else if (template.startsWith("//")) {
            from = find("/?#", template, "//".length());
        } else if (template.startsWith("{")) {
            open = true;
        } else {
            from = 0;
        }
        int to = find("?#", template, from);
        return new TemplatePath(from == to ? "/" : template.substring(from, to), open);
    }

    private static int find(String any, String template, int from) {
        int depth = 0;
        for (int i = from; i < template.length(); i++) {
            char c = template.charAt(i);
            if (c == '{') {
                depth++;
            } else if (c == '}') {
                depth--;
            } else if (depth == 0 && any.indexOf(c) >= 0) {
                return i;
            }
        }
        return template.length();
    }

    /** Whether it gives this path with some values, none of which has a slash unless its variable is a regular expression. */
    boolean isOf(String sent) {
        Pattern pattern = pattern();
        return pattern.matcher(sent).matches() || pattern.matcher(decoded(sent)).matches();
    }

    /** What is literal in a template may be encoded in what is sent. A slash in a value stays what it is. */
    private static String decoded(String sent) {
        try {
            return StringUtils.uriDecode(ENCODED_SLASH.matcher(sent).replaceAll("%252F"), StandardCharsets.UTF_8);
        } catch (IllegalArgumentException e) {
            return sent;
        }
    }

    private Pattern pattern() {
        StringBuilder pattern = new StringBuilder(open ? ".*" : "");
        int at = 0;
        while (at < path.length()) {
            int variable = path.indexOf('{', at);
            int literalEnd = variable < 0 ? path.length() : variable;
            if (literalEnd > at) {
                pattern.append(Pattern.quote(path.substring(at, literalEnd)));
            }
            at = literalEnd;
            if (variable >= 0) {
                at = endOf(variable);
                pattern.append(path.substring(variable, at).contains(":") ? ".*" : "[^/]*");
            }
        }
        return Pattern.compile(pattern.toString(), Pattern.DOTALL);
    }

    private int endOf(int variable) {
        int depth = 0;
        for (int i = variable; i < path.length(); i++) {
            char c = path.charAt(i);
            depth += c == '{' ? 1 : c == '}' ? -1 : 0;
            if (depth == 0) {
                return i + 1;
            }
        }
        return path.length();
    }

    @Override
    public String toString() {
        return path;
    }
}
