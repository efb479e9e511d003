package io.github.reactorratelimit.test;

import io.github.reactorratelimit.test.ChatAccount.Refusal;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** How a chat service words what it counted. Fields that a reply has already are left as they are. */
final class ChatHeaders {

    private static final long THOUSAND = 1_000;

    private ChatHeaders() {}

    /** Tells of both limits per minute, as they stand. */
    static Reply quota(Reply reply, ChatDialect dialect, ChatAccount account, long nowMillis) {
        if (!reply.hasHead()) {
            return reply;
        }
        ChatMeter requests = account.meter(ChatLimit.REQUESTS_PER_MINUTE);
        ChatMeter tokens = account.meter(ChatLimit.TOKENS_PER_MINUTE);
        HeaderLines lines = of(reply.lines(), dialect, "requests", requests, nowMillis);
        return reply.withHeaders(of(lines, dialect, "tokens", tokens, nowMillis));
    }

    private static HeaderLines of(
            HeaderLines lines, ChatDialect dialect, String what, @Nullable ChatMeter meter, long nowMillis) {
        if (meter == null) {
            return lines;
        }
        long left = meter.remaining(nowMillis);
        long fullMillis = meter.fullAt(nowMillis);
        if (dialect == ChatDialect.OPENAI) {
            return lines.withIfAbsent("x-ratelimit-limit-" + what, Long.toString(meter.limit()))
                    .withIfAbsent("x-ratelimit-remaining-" + what, Long.toString(left))
                    .withIfAbsent("x-ratelimit-reset-" + what, goDuration(fullMillis - nowMillis));
        }
        String prefix = "anthropic-ratelimit-" + what;
        long told = what.equals("tokens") ? Math.min(meter.limit(), nearestThousand(left)) : left;
        return lines.withIfAbsent(prefix + "-limit", Long.toString(meter.limit()))
                .withIfAbsent(prefix + "-remaining", Long.toString(told))
                .withIfAbsent(
                        prefix + "-reset",
                        Instant.ofEpochSecond(ceilSeconds(fullMillis)).toString());
    }

    /** A 429 that says which limit, and how long to wait where that is known and may be told. */
    static Reply refusal(Refusal refusal, ChatRules rules, String model, String account) {
        boolean told = rules.hints() && refusal.waitMillis() > 0;
        String message = "Rate limit reached for " + model + " in organization " + account + " on "
                + refusal.limit().words() + ": Limit " + refusal.size() + ", Used " + refusal.used() + ", Requested "
                + refusal.asked() + "."
                + (told ? " Please try again in " + goDuration(refusal.waitMillis()) + "." : "");
        Reply reply = ChatError.RATE_LIMIT_EXCEEDED.reply(
                rules.dialect(), refusal.limit().type(), message);
        if (!told) {
            return reply;
        }
        Reply hinted = reply.header("retry-after", Long.toString(ceilSeconds(refusal.waitMillis())));
        return rules.dialect() == ChatDialect.OPENAI
                ? hinted.header("retry-after-ms", Long.toString(refusal.waitMillis()))
                : hinted;
    }

    /** As Go writes a duration, which is what this header holds: {@code 120ms}, {@code 1.5s}, {@code 6m0s}. */
    static String goDuration(long millis) {
        if (millis < THOUSAND) {
            return millis == 0 ? "0s" : millis + "ms";
        }
        long hours = millis / 3_600_000;
        long minutes = millis / 60_000 % 60;
        long rest = millis % 60_000;
        String fraction = rest % THOUSAND == 0
                ? ""
                : "." + Long.toString(THOUSAND + rest % THOUSAND).substring(1).replaceAll("0+$", "");
        String seconds = rest / THOUSAND + fraction + "s";
        return (hours > 0 ? hours + "h" : "") + (hours > 0 || minutes > 0 ? minutes + "m" : "") + seconds;
    }

    private static long ceilSeconds(long millis) {
        return -Math.floorDiv(-millis, THOUSAND);
    }

    private static long nearestThousand(long tokens) {
        return (tokens + THOUSAND / 2) / THOUSAND * THOUSAND;
    }
}
