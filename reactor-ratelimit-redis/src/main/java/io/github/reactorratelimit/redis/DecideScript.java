package io.github.reactorratelimit.redis;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** The script that decides a batch; its header says what it is told and what it answers. */
final class DecideScript {

    static final String TEXT = load();
    /** What Redis calls it, once it has seen it. */
    static final String SHA = HexFormat.of().formatHex(digest("SHA-1").digest(TEXT.getBytes(StandardCharsets.UTF_8)));

    private DecideScript() {}

    private static String load() {
        try (InputStream script = DecideScript.class.getResourceAsStream("decide.lua")) {
            if (script == null) {
                throw new IllegalStateException("decide.lua is not beside " + DecideScript.class.getName());
            }
            return new String(script.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static MessageDigest digest(String algorithm) {
        try {
            return MessageDigest.getInstance(algorithm);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has " + algorithm, e);
        }
    }
}
