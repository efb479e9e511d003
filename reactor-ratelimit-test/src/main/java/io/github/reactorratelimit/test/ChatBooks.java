package io.github.reactorratelimit.test;

import io.github.reactorratelimit.test.ChatAccount.Refusal;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.PriorityQueue;
import org.jspecify.annotations.Nullable;

/**
 * The decisions of a chat service. How long a call takes and what it uses is drawn when it arrives, so its end is known
 * then, and is booked before whatever comes after it: no timer is needed.
 */
final class ChatBooks {

    /**
     * What was decided.
     *
     * @param reply head and body, but for an answer that is still to be written
     * @param draw what that answer is, or null if the reply has its body
     * @param broken the error that a stream ends with, or null
     */
    record Decided(
            ChatOutcome outcome,
            Reply reply,
            @Nullable ChatDraw draw,
            @Nullable Reply broken) {}

    private record Ending(
            long atMillis, ChatAccount account, String name, long tokensBack, long takenMillis, long microDollars) {}

    private record Counted(String account, String model) {}

    private final ChatRules rules;
    private final ChatLedger ledger;
    private final Map<Counted, ChatAccount> accounts = new HashMap<>();
    private final Map<String, Long> balances;
    private final PriorityQueue<Ending> endings = new PriorityQueue<>(Comparator.comparingLong(Ending::atMillis));
    private long arrived;
    private long admitted;
    private long streams;

    ChatBooks(ChatRules rules, ChatLedger ledger) {
        this.rules = rules;
        this.ledger = ledger;
        this.balances = new HashMap<>(rules.balances());
    }

    synchronized Decided decide(ChatCall call, long nowMillis) {
        settle(nowMillis);
        String account = rules.account(call.key());
        ChatModel model = rules.model(call.model());
        long maxTokens = call.maxTokens() != null ? call.maxTokens() : model == null ? 0 : model.maxTokens();
        Decided decided = decide(call, account, model, maxTokens, nowMillis);
        ledger.add(new ChatLedger.Call(
                Instant.ofEpochMilli(nowMillis),
                call.key(),
                account == null ? call.key() : account,
                call.model(),
                call.promptTokens(),
                maxTokens,
                decided.outcome));
        return decided;
    }

    private Decided decide(
            ChatCall call, @Nullable String name, @Nullable ChatModel model, long maxTokens, long nowMillis) {
        Reply struck = fault(true, ++arrived);
        if (struck != null) {
            return struck(struck);
        }
        if (name == null) {
            return error(ChatError.INVALID_API_KEY, null);
        }
        if (model == null) {
            return error(ChatError.MODEL_NOT_FOUND, null);
        }
        ChatAccount account =
                accounts.computeIfAbsent(new Counted(name, call.model()), counted -> new ChatAccount(model));
        long tokens = call.promptTokens() + maxTokens;
        ChatMeter most = account.meter(ChatLimit.TOKENS_PER_MINUTE);
        if (most != null && tokens > most.limit()) {
            return error(
                    ChatError.INVALID_REQUEST,
                    "Request too large for " + call.model() + " on tokens per min (TPM): Limit " + most.limit()
                            + ", Requested " + tokens + ".");
        }
        if (balance(name) <= 0) {
            return refused(ChatError.INSUFFICIENT_QUOTA.reply(rules.dialect()), ChatLimit.BALANCE);
        }
        Refusal refusal = account.refusal(tokens, nowMillis);
        if (refusal != null) {
            Reply reply = ChatHeaders.refusal(refusal, rules, call.model(), name);
            return refused(ChatHeaders.quota(reply, rules.dialect(), account, nowMillis), refusal.limit());
        }
        account.take(tokens, nowMillis);
        return admitted(call, name, account, model, maxTokens, nowMillis);
    }

    private Decided admitted(
            ChatCall call, String name, ChatAccount account, ChatModel model, long maxTokens, long nowMillis) {
        Reply struck = fault(false, ++admitted);
        long tokens = call.promptTokens() + maxTokens;
        if (struck != null) {
            end(nowMillis, struck.delay(), account, name, tokens, 0);
            return struck(ChatHeaders.quota(struck, rules.dialect(), account, nowMillis));
        }
        ChatDraw draw = ChatDraw.of(rules, model, maxTokens, call.stream(), admitted);
        Reply broken = null;
        if (call.stream()) {
            streams++;
            for (ChatRules.InStream fault : rules.inStreams()) {
                broken = fault.fault().on(streams);
                if (broken != null) {
                    draw = draw.first(fault.afterChunks());
                    break;
                }
            }
        }
        ChatUsage usage = new ChatUsage(call.promptTokens(), draw.tokens());
        long cost = model.cost(usage);
        end(nowMillis, draw.latency(), account, name, tokens - usage.totalTokens(), cost);
        Reply head = ChatHeaders.quota(Reply.ok(), rules.dialect(), account, nowMillis);
        ChatOutcome outcome = new ChatOutcome(200, head.headers(), null, null, usage, cost, draw.latency());
        return new Decided(outcome, head, draw, broken);
    }

    private @Nullable Reply fault(boolean beforeLimits, long count) {
        for (Fault fault : rules.faults()) {
            Reply reply = fault.standsBeforeLimits() == beforeLimits ? fault.on(count) : null;
            if (reply != null) {
                return reply;
            }
        }
        return null;
    }

    private Decided error(ChatError error, @Nullable String about) {
        Reply reply = about == null ? error.reply(rules.dialect()) : error.reply(rules.dialect(), about);
        return unserved(reply, error, null);
    }

    private static Decided refused(Reply reply, ChatLimit by) {
        ChatError error = by == ChatLimit.BALANCE ? ChatError.INSUFFICIENT_QUOTA : ChatError.RATE_LIMIT_EXCEEDED;
        return unserved(reply, error, by);
    }

    private static Decided struck(Reply reply) {
        return unserved(reply, null, null);
    }

    private static Decided unserved(Reply reply, @Nullable ChatError error, @Nullable ChatLimit by) {
        return new Decided(
                new ChatOutcome(reply.status(), reply.headers(), error, by, ChatUsage.NONE, 0, reply.delay()),
                reply,
                null,
                null);
    }

    // ------------------------------------------------------------------------------------------------------ endings

    private long balance(String name) {
        return balances.getOrDefault(name, Long.MAX_VALUE);
    }

    private void end(
            long nowMillis, Duration after, ChatAccount account, String name, long tokensBack, long microDollars) {
        endings.add(new Ending(nowMillis + after.toMillis(), account, name, tokensBack, nowMillis, microDollars));
    }

    private void settle(long nowMillis) {
        for (Ending next = endings.peek(); next != null && next.atMillis <= nowMillis; next = endings.peek()) {
            endings.remove();
            next.account.end(next.tokensBack, next.takenMillis, next.atMillis);
            long cost = next.microDollars;
            balances.computeIfPresent(next.name, (name, left) -> left - cost);
        }
    }
}
