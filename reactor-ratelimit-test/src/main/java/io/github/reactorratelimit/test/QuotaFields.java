package io.github.reactorratelimit.test;

import io.github.reactorratelimit.test.ServerLimit.Standing;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Locale;

/** How the service words what it counted. Fields that a reply has already are left as they are. */
final class QuotaFields {

    // RFC 1123's formatter writes days of one digit; HTTP (RFC 9110, 5.6.7) wants two.
    private static final DateTimeFormatter HTTP_DATE = DateTimeFormatter.ofPattern(
                    "EEE, dd MMM yyyy HH:mm:ss 'GMT'", Locale.US)
            .withZone(ZoneOffset.UTC);

    private QuotaFields() {}

    static Reply refusal(Standing standing, long nowMillis) {
        long seconds = Math.max(1, -Math.floorDiv(nowMillis - standing.retryMillis(), 1000L));
        Reply refusal = Reply.status(429)
                .header("Retry-After", Long.toString(seconds))
                .body("{\"error\":\"too many requests\",\"retryAfter\":" + seconds + "}");
        return quota(refusal, standing);
    }

    static Reply quota(Reply reply, Standing standing) {
        if (!reply.hasHead() || standing.limit() == ServerLimit.UNTOLD) {
            return reply;
        }
        return reply.withHeaders(reply.lines()
                .withIfAbsent("X-RateLimit-Limit", Long.toString(standing.limit()))
                .withIfAbsent("X-RateLimit-Remaining", Long.toString(standing.remaining()))
                .withIfAbsent("X-RateLimit-Reset", Long.toString(Math.floorDiv(standing.resetMillis(), 1000L))));
    }

    static Reply date(Reply reply, long nowMillis) {
        if (!reply.hasHead()) {
            return reply;
        }
        String date = HTTP_DATE.format(Instant.ofEpochMilli(nowMillis));
        return reply.withHeaders(reply.lines().withIfAbsent("Date", date));
    }
}
