package io.github.reactorratelimit.test;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What one account has counted of one model. */
final class ChatAccount {

    /**
     * Why a call is refused.
     *
     * @param limit the limit, of several the one with the longest wait
     * @param size how many it allows
     * @param used how many of them are used
     * @param asked what the call asks of it
     * @param waitMillis until it would pass, at least 1, or 0 if that isn't known
     */
    record Refusal(ChatLimit limit, long size, long used, long asked, long waitMillis) {}

    private final Map<ChatLimit, ChatMeter> meters;
    private final long mostInFlight;
    private long inFlight;

    ChatAccount(ChatModel model) {
        this.meters = model.newMeters();
        this.mostInFlight = model.mostInFlight();
    }

    @Nullable
    ChatMeter meter(ChatLimit limit) {
        return meters.get(limit);
    }

    /** What stands against a call, or null if nothing does. */
    @Nullable
    Refusal refusal(long tokens, long nowMillis) {
        Refusal longest = null;
        for (Map.Entry<ChatLimit, ChatMeter> each : meters.entrySet()) {
            ChatMeter meter = each.getValue();
            long asked = cost(each.getKey(), tokens);
            long wait = meter.passesAt(asked, nowMillis) - nowMillis;
            if (wait > 0 && (longest == null || wait > longest.waitMillis)) {
                long used = meter.limit() - meter.remaining(nowMillis);
                longest = new Refusal(each.getKey(), meter.limit(), used, asked, wait);
            }
        }
        return longest == null && inFlight >= mostInFlight
                ? new Refusal(ChatLimit.IN_FLIGHT, mostInFlight, inFlight, 1, 0)
                : longest;
    }

    void take(long tokens, long nowMillis) {
        meters.forEach((limit, meter) -> meter.take(cost(limit, tokens), nowMillis));
        inFlight++;
    }

    /** A call that was let through then has ended and used so many tokens less than were taken for it. */
    void end(long tokensBack, long takenMillis, long nowMillis) {
        inFlight--;
        assert inFlight >= 0 : "a call ended twice";
        ChatMeter tokens = meters.get(ChatLimit.TOKENS_PER_MINUTE);
        if (tokens != null) {
            tokens.giveBack(tokensBack, takenMillis, nowMillis);
        }
    }

    private static long cost(ChatLimit limit, long tokens) {
        return limit == ChatLimit.TOKENS_PER_MINUTE ? tokens : 1;
    }
}
