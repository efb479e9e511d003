package io.github.reactorratelimit.test;

import java.time.Instant;
import java.time.InstantSource;

/**
 * An OpenAI-compatible chat completion service for tests, built from {@link ChatRules}: called directly in a simulation's
 * own time, in virtual time by {@link #simulate()}, or over a socket by {@link #start()}. All three decide alike and, of
 * one service, count together; what it counted is in its {@link #ledger()}.
 *
 * <pre>{@code
 * ChatService service = ChatRules.create()
 *         .model(ChatModel.named("large").requestsPerMinute(60).tokensPerMinute(100_000))
 *         .service();
 * ChatOutcome outcome = service.request("large", "key", 1_200, 800, Instant.now());
 * try (RateLimitedServer server = service.start()) {
 *     // POST server.baseUrl() + "/v1/chat/completions", then assert on service.ledger()
 * }
 * }</pre>
 *
 * <ul>
 *   <li>A call is refused, in this order, as 401 for an unknown key, 404 for an unknown model, 400 for more tokens than the
 *       limit ever has, 429 {@code insufficient_quota} for a used up balance, and 429 {@code rate_limit_exceeded} if a
 *       limit has no room; of several limits, the one with the longest wait is named. A refused call counts in none.
 *   <li>Every other answer, and a refusal for a rate limit, has the headers of its {@link ChatDialect}, as the account
 *       stood when the call was let in: tokens that come back later are not in them.
 *   <li>Over HTTP, it serves {@code POST} to every path that ends with {@code /chat/completions}; the key is the bearer
 *       token. A prompt has a token for every four characters, rounded up. The answer has the form of {@code
 *       chat.completion}, and its words are filler, four characters for each token.
 *   <li>With {@code "stream": true} the answer comes as server-sent events, a role first, then chunks of 1 to 8 tokens,
 *       the reason for the end, on {@code stream_options.include_usage} the usage, and {@code [DONE]}.
 *   <li>A call that its caller gave up goes on, and is paid.
 * </ul>
 *
 * <p>Over HTTP it needs jackson-core on the class path. Safe for use from any thread: calls are decided one after the
 * other. Time must not step back between calls.
 */
public final class ChatService {

    private final ChatLedger ledger;
    private final ChatBooks books;
    private final RateLimitedService http;

    ChatService(ChatRules rules) {
        this.ledger = new ChatLedger(rules);
        this.books = new ChatBooks(rules, ledger);
        this.http = new RateLimitedService(new ChatDecisions(rules, books));
    }

    /**
     * Decides one call without HTTP, as for an answer in one piece. Nothing waits: what the call takes is a figure.
     *
     * @param model the model's name
     * @param key whose call it is
     * @param promptTokens the tokens of the prompt, not negative
     * @param maxTokens the most that the answer may have, at least 1
     * @param at when it arrives, counted in whole milliseconds
     * @return what becomes of it
     */
    public ChatOutcome request(String model, String key, long promptTokens, long maxTokens, Instant at) {
        Checks.notNegative("prompt tokens", promptTokens);
        Checks.atLeastOne("max tokens", maxTokens);
        return books.decide(new ChatCall(model, key, promptTokens, maxTokens, false), at.toEpochMilli())
                .outcome();
    }

    /**
     * The decisions over HTTP alone, without a clock and without sockets.
     *
     * @return the same service
     */
    public RateLimitedService http() {
        return http;
    }

    /**
     * Runs over HTTP in the time of the scheduler in force, without sockets.
     *
     * @return the same service, at no distance
     */
    public SimulatedService simulate() {
        return SimulatedService.of(http);
    }

    /**
     * Starts a real server on a free port of 127.0.0.1 and the system's clock. Blocks until it listens.
     *
     * @return the running server of the same service
     */
    public RateLimitedServer start() {
        return start(InstantSource.system());
    }

    /**
     * Starts a real server whose counting follows a clock of the test. Only that follows it; the time that answers take is
     * real. Blocks until it listens.
     *
     * @param clock tells the server's time
     * @return the running server of the same service
     */
    public RateLimitedServer start(InstantSource clock) {
        return RateLimitedServer.start(http, clock, false);
    }

    /**
     * The calls that it understood, whichever way they came. Over HTTP the {@link RequestLog} has all requests.
     *
     * @return the live ledger
     */
    public ChatLedger ledger() {
        return ledger;
    }
}
