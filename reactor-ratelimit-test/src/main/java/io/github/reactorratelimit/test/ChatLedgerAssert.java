package io.github.reactorratelimit.test;

import io.github.reactorratelimit.test.ChatLedger.Call;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.function.Predicate;
import org.assertj.core.annotation.CheckReturnValue;
import org.assertj.core.api.AbstractAssert;
import org.assertj.core.api.Assertions;
import org.assertj.core.api.ListAssert;

/**
 * Assertions on the calls that a chat service has understood, in the order of their arrival; from {@link
 * RateLimitAssertions#assertThat(ChatLedger)}. Failures show the calls that they are about, with keys only as a short hash.
 *
 * <p>{@code noRefusals}, {@code neverMoreTokensThan} and {@code usedAtLeast} also fail where there was no call at all, so
 * that a misspelt model doesn't pass.
 */
public final class ChatLedgerAssert extends AbstractAssert<ChatLedgerAssert, List<Call>> {

    private final String whose;

    ChatLedgerAssert(List<Call> calls) {
        this(calls, "the service");
    }

    private ChatLedgerAssert(List<Call> calls, String whose) {
        super(calls.stream().sorted(Comparator.comparing(Call::at)).toList(), ChatLedgerAssert.class);
        this.whose = whose;
    }

    /**
     * Narrows to one model.
     *
     * @param model its name
     * @return assertions on its calls
     */
    @CheckReturnValue
    public ChatLedgerAssert forModel(String model) {
        return only(call -> call.model().equals(model), whose + ", model " + model);
    }

    /**
     * Narrows to one key.
     *
     * @param key the key
     * @return assertions on its calls
     */
    @CheckReturnValue
    public ChatLedgerAssert forKey(String key) {
        return only(call -> call.key().equals(key), whose + ", " + RequestLines.tag(key));
    }

    private ChatLedgerAssert only(Predicate<Call> wanted, String said) {
        ChatLedgerAssert narrowed =
                new ChatLedgerAssert(actual.stream().filter(wanted).toList(), said);
        narrowed.info.description(info.description());
        return narrowed;
    }

    /**
     * Hands the calls to AssertJ, for everything else.
     *
     * @return assertions on the list of them
     */
    @CheckReturnValue
    public ListAssert<Call> calls() {
        return Assertions.assertThat(actual);
    }

    /**
     * Exactly so many calls were served.
     *
     * @param expected their number
     * @return these assertions
     * @throws AssertionError if there were more or fewer; it shows the others
     */
    public ChatLedgerAssert served(int expected) {
        List<Call> others =
                actual.stream().filter(call -> !call.outcome().served()).toList();
        int found = actual.size() - others.size();
        if (found != expected) {
            fail("Expecting " + expected + " calls served by " + whose + ", but there were " + found, others);
        }
        return this;
    }

    /**
     * No call was refused for a limit or a balance.
     *
     * @return these assertions
     * @throws AssertionError if one was
     */
    public ChatLedgerAssert noRefusals() {
        seenAny();
        List<Call> refused = actual.stream()
                .filter(call -> call.outcome().refusedBy() != null)
                .toList();
        if (!refused.isEmpty()) {
            fail(
                    "Expecting no refusals by " + whose + ", but " + refused.size() + " of " + actual.size()
                            + " calls were refused",
                    refused);
        }
        return this;
    }

    /**
     * Exactly so many calls were refused by this limit.
     *
     * @param limit the limit
     * @param expected their number
     * @return these assertions
     * @throws AssertionError if there were more or fewer
     */
    public ChatLedgerAssert refusals(ChatLimit limit, int expected) {
        List<Call> refused = actual.stream()
                .filter(call -> call.outcome().refusedBy() == limit)
                .toList();
        if (refused.size() != expected) {
            fail(
                    "Expecting " + expected + " refusals for " + limit + " by " + whose + ", but there were "
                            + refused.size(),
                    refused);
        }
        return this;
    }

    /**
     * Says how many tokens may be used in one span, whose length is said next.
     *
     * @param tokens not negative
     * @return what takes the length; without it nothing is asserted
     * @throws IllegalArgumentException if the number is negative
     */
    @CheckReturnValue
    public AtMost neverMoreTokensThan(long tokens) {
        return new AtMost(Checks.notNegative("the most tokens", tokens));
    }

    /** The first half of {@code neverMoreTokensThan(100_000).inAny(ofMinutes(1))}. */
    public final class AtMost {

        private final long tokens;

        private AtMost(long tokens) {
            this.tokens = tokens;
        }

        /**
         * The calls that came in no span of this length, wherever it starts, have used more tokens. Spans are half open: two
         * calls exactly one period apart don't share one.
         *
         * @param period the length of the span, positive
         * @return the assertions that this came from
         * @throws AssertionError if those of one have; it shows the span with the most
         * @throws IllegalArgumentException if the period is not positive
         */
        public ChatLedgerAssert inAny(Duration period) {
            if (period.isZero() || period.isNegative()) {
                throw new IllegalArgumentException("a span must be positive, was " + period);
            }
            seenAny();
            List<Call> most = fullest(period);
            if (used(most) > tokens) {
                fail(
                        "Expecting no more than " + tokens + " tokens of " + whose + " in any " + period + ", but "
                                + used(most) + " were used from " + most.get(0).at() + " on",
                        most);
            }
            return ChatLedgerAssert.this;
        }
    }

    /** The calls of the first of the spans with the most tokens. */
    private List<Call> fullest(Duration period) {
        List<Call> fullest = List.of();
        long most = -1;
        int from = 0;
        long sum = 0;
        for (int to = 0; to < actual.size(); to++) {
            Instant end = actual.get(to).at();
            sum += used(actual.subList(to, to + 1));
            while (Duration.between(actual.get(from).at(), end).compareTo(period) >= 0) {
                sum -= used(actual.subList(from, from + 1));
                from++;
            }
            if (sum > most) {
                most = sum;
                fullest = actual.subList(from, to + 1);
            }
        }
        return fullest;
    }

    /**
     * All calls together used at least so many tokens.
     *
     * @param tokens the least
     * @return these assertions
     * @throws AssertionError if they used fewer
     */
    public ChatLedgerAssert usedAtLeast(long tokens) {
        seenAny();
        if (used(actual) < tokens) {
            fail(
                    "Expecting at least " + tokens + " tokens used of " + whose + ", but there were " + used(actual),
                    List.of());
        }
        return this;
    }

    /**
     * All calls together cost no more than this.
     *
     * @param microDollars the most
     * @return these assertions
     * @throws AssertionError if they cost more; it shows those from the one that passed it on
     */
    public ChatLedgerAssert spentAtMost(long microDollars) {
        Checks.notNegative("the most that may be spent", microDollars);
        long sum = 0;
        for (int i = 0; i < actual.size(); i++) {
            sum += actual.get(i).outcome().microDollars();
            if (sum > microDollars) {
                long all = actual.stream()
                        .mapToLong(call -> call.outcome().microDollars())
                        .sum();
                fail(
                        "Expecting no more than " + microDollars + " micro-dollars spent at " + whose + ", but it was "
                                + all,
                        actual.subList(i, actual.size()));
            }
        }
        return this;
    }

    private static long used(List<Call> some) {
        return some.stream()
                .mapToLong(call -> call.outcome().usage().totalTokens())
                .sum();
    }

    private void seenAny() {
        if (actual.isEmpty()) {
            fail("Expecting calls of " + whose + ", but none came", List.of());
        }
    }

    private void fail(String what, List<Call> shown) {
        if (shown.isEmpty()) {
            throw failure("%s", what + ".");
        }
        Instant first = actual.get(0).at();
        List<String> lines = shown.stream().map(call -> line(call, first)).toList();
        throw failure("%s", what + ":" + System.lineSeparator() + Lines.indented(lines));
    }

    private static String line(Call call, Instant first) {
        ChatOutcome outcome = call.outcome();
        return call.at() + " (+" + Duration.between(first, call.at()).toMillis() + " ms) "
                + (outcome.status() == 0 ? "no answer" : outcome.status())
                + (outcome.refusedBy() == null ? "" : " " + outcome.refusedBy()) + " " + call.model() + ", asked "
                + (call.promptTokens() + call.maxTokens()) + ", used "
                + outcome.usage().totalTokens() + " tokens, " + outcome.microDollars() + " micro-dollars, "
                + RequestLines.tag(call.key());
    }
}
