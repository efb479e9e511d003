package io.github.reactorratelimit.test;

import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * An OpenAI-compatible chat completion service for tests: its models with their limits and prices, who may call it, and
 * what goes wrong. Immutable; every method that changes something returns a copy, so one set of rules can be started or
 * simulated many times, each with counts of its own.
 *
 * <pre>{@code
 * ChatService service = ChatRules.create()
 *         .model(ChatModel.named("large").requestsPerMinute(60).tokensPerMinute(100_000).price(8_000_000, 8_000_000))
 *         .balance("key", 1_000_000)
 *         .service();
 * }</pre>
 *
 * <p>What it answers is said in {@link ChatService}. The figures of a real provider depend on the account; where this
 * service needs one, as for the length of answers, it is this model's.
 */
public final class ChatRules {

    /** A fault that strikes a stream which has begun. */
    record InStream(int afterChunks, Fault fault) {}

    /** What a service has, and who may use it. */
    private record Offer(
            Map<String, ChatModel> models, Map<String, String> accounts, boolean open, Map<String, Long> balances) {}

    /** How it answers. */
    private record Manner(
            ChatDialect dialect,
            boolean hints,
            long seed,
            @Nullable LongUnaryOperator completions) {}

    /** What goes wrong. */
    private record Trouble(List<Fault> faults, List<InStream> inStreams) {}

    private static final ChatRules NONE = new ChatRules(
            new Offer(Map.of(), Map.of(), true, Map.of()),
            new Manner(ChatDialect.OPENAI, true, 1, null),
            new Trouble(List.of(), List.of()));

    private final Offer offer;
    private final Manner manner;
    private final Trouble trouble;

    private ChatRules(Offer offer, Manner manner, Trouble trouble) {
        this.offer = offer;
        this.manner = manner;
        this.trouble = trouble;
    }

    /**
     * A service that has no model yet, takes every key, and in which nothing goes wrong.
     *
     * @return the rules
     */
    public static ChatRules create() {
        return NONE;
    }

    /**
     * Adds a model, or replaces the one of that name.
     *
     * @param model its limits, price and speed
     * @return a copy that has it
     */
    public ChatRules model(ChatModel model) {
        return with(new Offer(plus(offer.models, model.name(), model), offer.accounts, offer.open, offer.balances));
    }

    /**
     * Lets only known keys in: this one, with limits of its own, and those that are said besides. A request with another
     * one is a 401. Unless said, every key is known; a request without one is a 401 in any case.
     *
     * @param key the key, which is what {@code Authorization: Bearer} holds
     * @return a copy that knows it
     */
    public ChatRules key(String key) {
        return organisation(key, key);
    }

    /**
     * Lets keys share limits and balance, and only known keys in, as {@link #key}.
     *
     * @param name the account's name
     * @param keys its keys
     * @return a copy that knows them
     */
    public ChatRules organisation(String name, String... keys) {
        Map<String, String> accounts = new HashMap<>(offer.accounts);
        for (String key : keys) {
            accounts.put(key, name);
        }
        return with(new Offer(offer.models, Map.copyOf(accounts), false, offer.balances));
    }

    /**
     * Gives an account a prepaid balance; without one it is never asked to pay. A call is charged when it ends. Once
     * nothing is left, calls are refused as {@link ChatError#INSUFFICIENT_QUOTA}; those in flight go on, so that the
     * balance may end below zero.
     *
     * @param account a key, or the name of an organisation
     * @param microDollars what it holds at the start, not negative
     * @return a copy with that balance
     */
    public ChatRules balance(String account, long microDollars) {
        Checks.notNegative("a balance", microDollars);
        return with(new Offer(offer.models, offer.accounts, offer.open, plus(offer.balances, account, microDollars)));
    }

    /**
     * Sets in whose words limits and errors are told; {@link ChatDialect#OPENAI} unless said.
     *
     * @param dialect the words
     * @return a copy that speaks so
     */
    public ChatRules dialect(ChatDialect dialect) {
        return with(new Manner(dialect, manner.hints, manner.seed, manner.completions));
    }

    /**
     * Lets refusals not say when to try again: neither in a {@code retry-after} nor in the message. The other headers stay.
     *
     * @return a copy without hints
     */
    public ChatRules withoutHints() {
        return with(new Manner(manner.dialect, false, manner.seed, manner.completions));
    }

    /**
     * Sets what all chance starts from; 1 unless said. The n-th call that is let through has the same length and latency in
     * every service of these rules.
     *
     * @param seed any
     * @return a copy with that seed
     */
    public ChatRules seed(long seed) {
        return with(new Manner(manner.dialect, manner.hints, seed, manner.completions));
    }

    /**
     * Says how many tokens answers have. Unless said it is drawn, with a heavy tail: from a Pareto distribution of index 1.5
     * that starts at a tenth of what was asked for and is cut there; the mean is 0.24 of it, and 3 in 100 answers are cut.
     *
     * @param completions from the most tokens that the request allows to those of the answer, which are brought into 1 to
     *     that most; called under the service's lock
     * @return a copy with that rule
     */
    public ChatRules completions(LongUnaryOperator completions) {
        return with(new Manner(manner.dialect, manner.hints, manner.seed, completions));
    }

    /**
     * Lets something go wrong. A fault sees the calls that the limits let through, those of all accounts and models
     * together, and costs a request, but neither tokens nor money; one {@linkplain Fault#beforeLimits() in front of the
     * limits} sees every call and costs nothing. A call that is struck is in flight for
     * as long as its reply is {@linkplain Reply#after delayed}. Of several that strike, the one added first does.
     *
     * @param fault what goes wrong and when; for a provider's own errors see {@link ChatError}
     * @return a copy with that fault
     */
    public ChatRules fault(Fault fault) {
        return with(new Trouble(plus(trouble.faults, fault), trouble.inStreams));
    }

    /**
     * Lets streams break that have begun with 200: after some chunks, or all if there are fewer, comes an error event with
     * the body of the fault's reply, and the stream ends without {@code [DONE]}. What was sent until then is paid.
     *
     * @param afterChunks how many chunks with text come before it, not negative
     * @param fault which streams it strikes, those of all accounts and models counted together, and with what
     * @return a copy with that fault
     */
    public ChatRules faultInStream(int afterChunks, Fault fault) {
        Checks.notNegative("the chunks before a fault", (long) afterChunks);
        return with(new Trouble(trouble.faults, plus(trouble.inStreams, new InStream(afterChunks, fault))));
    }

    /**
     * A service of these rules.
     *
     * @return the service with nothing counted
     */
    public ChatService service() {
        return new ChatService(this);
    }

    /**
     * Runs in the time of the scheduler in force, without sockets; the same as {@link #service()} and {@link
     * ChatService#simulate()}.
     *
     * @return a service with nothing counted and no latency
     */
    public SimulatedService simulate() {
        return service().simulate();
    }

    /**
     * Starts a real server on a free port of 127.0.0.1 and the system's clock; the same as {@link #service()} and {@link
     * ChatService#start()}. Blocks until it listens.
     *
     * @return the running server
     */
    public RateLimitedServer start() {
        return service().start(InstantSource.system());
    }

    @Nullable
    ChatModel model(String name) {
        return offer.models.get(name);
    }

    /** The account of a key, or null for one that is not known. */
    @Nullable
    String account(String key) {
        if (key.isEmpty() || key.equals(SimulatedRequest.ANONYMOUS)) {
            return null;
        }
        return offer.open ? key : offer.accounts.get(key);
    }

    Map<String, Long> balances() {
        return offer.balances;
    }

    ChatDialect dialect() {
        return manner.dialect;
    }

    boolean hints() {
        return manner.hints;
    }

    long seed() {
        return manner.seed;
    }

    @Nullable
    LongUnaryOperator completions() {
        return manner.completions;
    }

    List<Fault> faults() {
        return trouble.faults;
    }

    List<InStream> inStreams() {
        return trouble.inStreams;
    }

    private ChatRules with(Offer other) {
        return new ChatRules(other, manner, trouble);
    }

    private ChatRules with(Manner other) {
        return new ChatRules(offer, other, trouble);
    }

    private ChatRules with(Trouble other) {
        return new ChatRules(offer, manner, other);
    }

    private static <V> Map<String, V> plus(Map<String, V> some, String key, V value) {
        Map<String, V> more = new HashMap<>(some);
        more.put(key, value);
        return Map.copyOf(more);
    }

    private static <E> List<E> plus(List<E> some, E one) {
        List<E> more = new ArrayList<>(some);
        more.add(one);
        return List.copyOf(more);
    }
}
