package io.github.reactorratelimit.spring;

import java.nio.charset.StandardCharsets;
import java.util.BitSet;
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
        return matches(sent) || matches(decoded(sent));
    }

    /** What is literal in a template may be encoded in what is sent. A slash in a value stays what it is. */
    private static String decoded(String sent) {
        try {
            return StringUtils.uriDecode(ENCODED_SLASH.matcher(sent).replaceAll("%252F"), StandardCharsets.UTF_8);
        } catch (IllegalArgumentException e) {
            return sent;
        }
    }

    /** Goes on from all that the values so far may reach, so that no path takes long, however it is made. */
    private boolean matches(String sent) {
        BitSet reached = new BitSet(sent.length() + 1);
        reached.set(0, open ? sent.length() + 1 : 1);
        int at = 0;
        while (at < path.length() && !reached.isEmpty()) {
            int variable = path.indexOf('{', at);
            int to = variable < 0 ? path.length() : variable == at ? endOf(variable) : variable;
            String piece = path.substring(at, to);
            reached = variable == at ? anything(reached, sent, piece.contains(":")) : literally(reached, sent, piece);
            at = to;
        }
        return reached.get(sent.length());
    }

    private static BitSet literally(BitSet from, String sent, String piece) {
        BitSet to = new BitSet(sent.length() + 1);
        for (int i = from.nextSetBit(0); i >= 0; i = from.nextSetBit(i + 1)) {
            if (sent.startsWith(piece, i)) {
                to.set(i + piece.length());
            }
        }
        return to;
    }

    /** Up to the next slash, or over any. */
    private static BitSet anything(BitSet from, String sent, boolean slashes) {
        BitSet to = new BitSet(sent.length() + 1);
        boolean within = false;
        for (int i = 0; i <= sent.length(); i++) {
            within |= from.get(i);
            to.set(i, within);
            within &= slashes || i == sent.length() || sent.charAt(i) != '/';
        }
        return to;
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
