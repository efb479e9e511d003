package io.github.reactorratelimit.test;

import java.time.InstantSource;
import java.util.List;
import reactor.core.publisher.Mono;

/**
 * An API that plays a script: each request to an endpoint gets the next reply that was written for it, and what is asked
 * beyond that fails the test.
 *
 * <pre>{@code
 * ScriptedApi api = ScriptedApi.create()
 *         .script("/search", Reply.status(429).retryAfter(ofSeconds(2)), Reply.ok().body("found"))
 *         .script("POST /items", Reply.reset(), Reply.ok().after(ofMillis(300)));
 * // call it: api.call(SimulatedRequest.get("/search")), or over HTTP at api.start().baseUrl(), or from a WebClient by
 * // WebClient.builder().exchangeFunction(SimulatedExchange.to(api.simulate()))
 * api.checkPlayed();
 * }</pre>
 *
 * <p>An endpoint is a path, or a method and a path; a segment in braces matches any one segment. The first that matches a
 * request plays. It has no limits, counts nothing and adds no header but {@code Date}; a service that does is {@link
 * ServiceRules}, which can be scripted too.
 *
 * <p>A request that is not in the script fails its call with an {@link AssertionError} that says so; over HTTP it is
 * answered with 501, which no client repeats, and the sentence as its body. {@link #checkPlayed()} tells of it as well, for
 * code that swallows errors.
 *
 * <p>The script belongs to one test: all its forms share one place in it and one log. Safe for use from any thread.
 */
public final class ScriptedApi {

    private final ScriptDecisions script = new ScriptDecisions();
    private final RateLimitedService service = new RateLimitedService(script);

    private ScriptedApi() {}

    /**
     * An API with an empty script.
     *
     * @return the API
     */
    public static ScriptedApi create() {
        return new ScriptedApi();
    }

    /**
     * Adds replies to the script of an endpoint, behind those that it has.
     *
     * @param endpoint {@code /search}, for any method, or {@code POST /search}
     * @param replies the replies in the order in which they are given
     * @return this API
     * @throws IllegalArgumentException if the endpoint has no path, or a method that is not in upper case, or already
     *     answers always
     */
    public ScriptedApi script(String endpoint, Reply... replies) {
        script.add(endpoint, List.of(replies));
        return this;
    }

    /**
     * Answers everything beyond the script of an endpoint with one reply, as often as it is asked for, which may be never.
     *
     * @param endpoint {@code /search}, for any method, or {@code POST /search}
     * @param reply the reply
     * @return this API
     * @throws IllegalArgumentException if the endpoint has no path, or a method that is not in upper case, or already
     *     answers always
     */
    public ScriptedApi always(String endpoint, Reply reply) {
        script.always(endpoint, reply);
        return this;
    }

    /**
     * The script as a function, in the time of {@code Schedulers.parallel()}, virtual or real. Each subscription is one
     * request.
     *
     * @param request what is asked
     * @return the head of the reply, whatever its status; or an {@link AssertionError} if it is not in the script, or the
     *     failure that the reply is
     */
    public Mono<SimulatedResponse> call(SimulatedRequest request) {
        return simulate().call(request);
    }

    /**
     * The script as a service without sockets, whose distance and scheduler can be set.
     *
     * @return a service that plays this script
     */
    public SimulatedService simulate() {
        return SimulatedService.of(service);
    }

    /**
     * The script as a real server on a free port of 127.0.0.1, in real time. Blocks until it listens.
     *
     * @return the running server, to be closed by the test
     */
    public RateLimitedServer start() {
        return RateLimitedServer.start(service, InstantSource.system(), false);
    }

    /**
     * What was asked so far, in the script or not.
     *
     * @return the live log
     */
    public RequestLog log() {
        return service.log();
    }

    /**
     * Fails unless exactly the script was played: every reply was asked for, and nothing else.
     *
     * @throws AssertionError if something is left of the script, or was asked beyond it; it names endpoint and replies
     */
    public void checkPlayed() {
        List<String> wrong = script.wrong();
        if (!wrong.isEmpty()) {
            throw new AssertionError(
                    "The script was not played as it is written:" + System.lineSeparator() + Lines.indented(wrong));
        }
    }

    @Override
    public String toString() {
        return "ScriptedApi" + script;
    }
}
