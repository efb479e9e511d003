package io.github.reactorratelimit.redis;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * How things are called in Redis: {@code prefix:1:{limiter}:scope:attribute=value:…} is the state of one scope key, and
 * {@code prefix:1:{limiter}:process:id} what is known of a process. 1 is the format's version. The limiter's name is the
 * hash tag, so that all its keys are in one slot, whatever a user's key contains.
 *
 * <p>Values that are short, plain and no credentials stay readable; of all others half the SHA-256 of the whole value
 * stands there, after a {@code #}.
 */
final class KeyNames {

    static final int VERSION = 1;

    /** Words of names of attributes, as a limiter knows them that shows its keys to people. */
    private static final Set<String> CREDENTIALS = Set.of(
            "token",
            "authorization",
            "auth",
            "bearer",
            "jwt",
            "apikey",
            "key",
            "password",
            "secret",
            "credential",
            "credentials",
            "cookie",
            "session");

    private static final Pattern WORDS = Pattern.compile("[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])");
    private static final Pattern PLAIN = Pattern.compile("[A-Za-z0-9/_.~{}-]{1,64}");
    private static final Pattern PLAIN_TAG = Pattern.compile("[A-Za-z0-9/_.~-]{1,64}");

    private final String start;

    /**
     * @throws IllegalArgumentException if the prefix has a brace, which would take the hash tag's place
     */
    KeyNames(String prefix, String limiter) {
        checkPrefix(prefix);
        String tag = PLAIN_TAG.matcher(limiter).matches() ? limiter : hashed(limiter);
        start = prefix + ":" + VERSION + ":{" + tag + "}:";
    }

    static void checkPrefix(String prefix) {
        if (prefix.isBlank() || prefix.indexOf('{') >= 0 || prefix.indexOf('}') >= 0) {
            throw new IllegalArgumentException(
                    "a key prefix must not be blank or contain braces, was '" + prefix + "'");
        }
    }

    String process(String id) {
        return start + "process:" + id;
    }

    /** The key of the scope that is counted by these attributes; of the root, if there are none. */
    String scope(Map<String, String> attributes) {
        StringBuilder name = new StringBuilder(start).append("scope");
        attributes.forEach((attribute, value) -> name.append(':')
                .append(written(attribute, false))
                .append('=')
                .append(written(value, isCredential(attribute))));
        return name.toString();
    }

    private static boolean isCredential(String attribute) {
        return WORDS.splitAsStream(attribute).anyMatch(word -> CREDENTIALS.contains(word.toLowerCase(Locale.ROOT)));
    }

    /** A word that may stand in a key or a field. */
    static String written(String value, boolean secret) {
        return !secret && PLAIN.matcher(value).matches() ? value : hashed(value);
    }

    private static String hashed(String value) {
        byte[] hash = DecideScript.digest("SHA-256").digest(bytes(value));
        return "#" + HexFormat.of().formatHex(hash, 0, 16);
    }

    /** In UTF-8; what that can't tell apart, halves of surrogate pairs, char by char. */
    private static byte[] bytes(String value) {
        if (StandardCharsets.UTF_8.newEncoder().canEncode(value)) {
            return value.getBytes(StandardCharsets.UTF_8);
        }
        ByteBuffer chars = ByteBuffer.allocate(2 * value.length());
        chars.asCharBuffer().put(value);
        return chars.array();
    }
}
