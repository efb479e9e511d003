package io.github.reactorratelimit.test;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Every call that a chat service has understood, in the order in which it decided them, with what it used and cost. Usage
 * and cost of a call are in it from its arrival on, also while it is in flight. Safe for use from any thread; what it
 * returns are copies.
 */
public final class ChatLedger {

    /**
     * One call and what became of it.
     *
     * @param at when it reached the service, in whole milliseconds
     * @param key whose call it was
     * @param account the key's organisation, or the key itself
     * @param model the model it asked for
     * @param promptTokens the tokens of its prompt
     * @param maxTokens the most that its answer might have; 0 if neither it nor a model says
     * @param outcome what became of it
     */
    public record Call(
            Instant at,
            String key,
            String account,
            String model,
            long promptTokens,
            long maxTokens,
            ChatOutcome outcome) {}

    /**
     * How tokens were used until a time, since the first call.
     *
     * @param until the time, exclusive
     * @param used those of the calls that came before it
     * @param allowed the most that the limit could have let through
     */
    public record Progress(Instant until, long used, long allowed) {}

    private final ChatRules rules;
    private final List<Call> calls = new ArrayList<>();

    ChatLedger(ChatRules rules) {
        this.rules = rules;
    }

    synchronized void add(Call call) {
        calls.add(call);
    }

    /**
     * Everything so far.
     *
     * @return the calls, oldest first
     */
    public synchronized List<Call> calls() {
        return List.copyOf(calls);
    }

    /**
     * Everything so far about one model.
     *
     * @param model its name
     * @return its calls, oldest first
     */
    public List<Call> calls(String model) {
        return calls().stream().filter(call -> call.model().equals(model)).toList();
    }

    /**
     * How many calls came, refused ones included.
     *
     * @return the number of calls
     */
    public synchronized int count() {
        return calls.size();
    }

    /**
     * How many calls were answered with this status.
     *
     * @param status the status, or 0 for those that got no answer
     * @return the number of calls
     */
    public int count(int status) {
        return (int) calls().stream()
                .filter(call -> call.outcome().status() == status)
                .count();
    }

    /**
     * How often each limit refused.
     *
     * @return the counts of those that did
     */
    public Map<ChatLimit, Integer> refusals() {
        Map<ChatLimit, Integer> counts = new EnumMap<>(ChatLimit.class);
        for (Call call : calls()) {
            ChatLimit limit = call.outcome().refusedBy();
            if (limit != null) {
                counts.merge(limit, 1, Integer::sum);
            }
        }
        return counts;
    }

    /**
     * The tokens that a model has used, of all accounts.
     *
     * @param model its name
     * @return prompts and answers together
     */
    public long tokensUsed(String model) {
        return tokens(calls(model));
    }

    /**
     * The most tokens that the limit of a model can let through for one account in a span that starts with nothing used:
     * the bucket that is full then, and what refills; or for a sliding window its limit once for each minute that is begun.
     * What comes back because calls used less than they asked for is not in it.
     *
     * @param model its name
     * @param span not negative
     * @return the tokens, or {@link Long#MAX_VALUE} for a model that has no such limit
     */
    public long tokensAllowed(String model, Duration span) {
        Checks.notNegative("a span", span);
        ChatModel found = rules.model(model);
        ChatMeter tokens = found == null ? null : found.newMeters().get(ChatLimit.TOKENS_PER_MINUTE);
        return tokens == null ? Long.MAX_VALUE : tokens.mostIn(span.toMillis());
    }

    /**
     * How a model's tokens were used over time, from its first call on, all accounts together.
     *
     * @param model its name
     * @param step the distance of the times, at least 1 ms
     * @return sums from the first call on, the last one with all calls; empty if there was none
     */
    public List<Progress> tokensOverTime(String model, Duration step) {
        Checks.atLeastOneMilli("a step", step);
        List<Call> found = calls(model);
        List<Progress> sums = new ArrayList<>();
        if (found.isEmpty()) {
            return sums;
        }
        Instant start = found.get(0).at();
        long accounts = found.stream().map(Call::account).distinct().count();
        long used = 0;
        int next = 0;
        for (Instant until = start.plus(step); next < found.size(); until = until.plus(step)) {
            while (next < found.size() && found.get(next).at().isBefore(until)) {
                used += found.get(next++).outcome().usage().totalTokens();
            }
            long each = tokensAllowed(model, Duration.between(start, until));
            sums.add(new Progress(until, used, each == Long.MAX_VALUE ? each : each * accounts));
        }
        return sums;
    }

    /**
     * What all calls cost.
     *
     * @return the micro-dollars
     */
    public long microDollars() {
        return calls().stream().mapToLong(call -> call.outcome().microDollars()).sum();
    }

    /**
     * What the calls of each model cost.
     *
     * @return the micro-dollars by the names of the models that were asked for
     */
    public SortedMap<String, Long> microDollarsByModel() {
        SortedMap<String, Long> costs = new TreeMap<>();
        calls().forEach(call -> costs.merge(call.model(), call.outcome().microDollars(), Long::sum));
        return costs;
    }

    private static long tokens(List<Call> some) {
        return some.stream()
                .mapToLong(call -> call.outcome().usage().totalTokens())
                .sum();
    }

    @Override
    public String toString() {
        return "ChatLedger[" + count() + " calls, refused " + refusals() + ", " + microDollars() + " micro-dollars]";
    }
}
