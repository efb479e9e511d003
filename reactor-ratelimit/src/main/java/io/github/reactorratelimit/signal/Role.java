package io.github.reactorratelimit.signal;

/** What a header line is about. */
enum Role {
    NONE,
    DATE,
    AGE,
    /** An explicit hint in seconds: {@code Retry-After} and its kin. */
    HINT,
    HINT_MILLIS,
    /** The {@code RateLimit} field of the IETF drafts from 07 on. */
    IETF,
    POLICY,
    LIMIT,
    REMAINING,
    USED,
    RESET,
    RESET_AFTER,
    RESET_AFTER_MILLIS,
    RESET_MILLIS,
    WINDOW,
    WINDOW_MILLIS,
    /** A server's name of the quota: {@code X-RateLimit-Resource}, {@code RateLimit-Name}. */
    RESOURCE,
    BUCKET,
    SCOPE,
    GLOBAL
}
