package io.github.reactorratelimit.signal;

import java.util.Objects;

/** A dialect that reads one header under another name. */
final class AliasDialect implements Dialect {

    private final Dialect dialect;
    private final String theirs;
    private final String ours;

    AliasDialect(Dialect dialect, String theirs, String ours) {
        this.dialect = dialect;
        this.theirs = name("theirs", theirs);
        this.ours = name("ours", ours);
    }

    @Override
    public RateLimitSignal read(int status, Headers headers, long wallNowMillis) {
        return dialect.read(status, renamed(headers), wallNowMillis);
    }

    @Override
    public int bodyBytes(int status, Headers headers) {
        return dialect.bodyBytes(status, renamed(headers));
    }

    @Override
    public RateLimitSignal readBody(int status, Headers headers, byte[] body, long wallNowMillis) {
        return dialect.readBody(status, renamed(headers), body, wallNowMillis);
    }

    @Override
    public String toString() {
        return dialect + ", " + theirs + " as " + ours;
    }

    private static String name(String parameter, String name) {
        Objects.requireNonNull(name, parameter);
        if (!HeaderName.isToken(name)) {
            throw new IllegalArgumentException(parameter + " must be the name of a header, was \"" + name + '"');
        }
        return name;
    }

    private Headers renamed(Headers headers) {
        return line ->
                headers.forEach((name, value) -> line.accept(HeaderName.same(name, theirs) ? ours : name, value));
    }
}
