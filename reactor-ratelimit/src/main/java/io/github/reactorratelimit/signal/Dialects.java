package io.github.reactorratelimit.signal;

/** The dialects that ship with the library. */
public final class Dialects {

    private Dialects() {}

    /**
     * The standard dialect: RFC 9110, the X-RateLimit families and the IETF draft. Needs no configuration.
     *
     * @return the standard dialect
     */
    public static Dialect standard() {
        return StandardDialect.INSTANCE;
    }
}
