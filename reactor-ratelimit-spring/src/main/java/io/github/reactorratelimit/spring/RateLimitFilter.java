package io.github.reactorratelimit.spring;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Exchange;
import io.github.reactorratelimit.FailureReader;
import io.github.reactorratelimit.RateLimitContext;
import io.github.reactorratelimit.RateLimitOperator;
import io.github.reactorratelimit.RateLimiter;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;
import org.springframework.web.reactive.function.client.ClientRequest;
import org.springframework.web.reactive.function.client.ClientResponse;
import org.springframework.web.reactive.function.client.ExchangeFilterFunction;
import org.springframework.web.reactive.function.client.ExchangeFunction;
import reactor.core.publisher.Mono;
import reactor.util.context.Context;
import reactor.util.context.ContextView;

/**
 * Spring's {@code WebClient} under a limiter: one permit per request on the wire, the response heard at its head, and what is
 * safe to try again tried again. Works for {@code @HttpExchange} interfaces as well, which go through a {@code WebClient}.
 *
 * <pre>{@code
 * WebClient client = WebClient.builder().filter(RateLimitFilter.of(api)).build();
 * }</pre>
 *
 * <p><b>Add it as the last filter.</b> Every filter before it, such as one that renews a token and sends again, then takes a
 * permit for whatever it sends, and the credentials it adds are seen here.
 *
 * <p>Each request tells the limiter these attributes: {@code host} without port, {@code method}, {@code endpoint} (the path
 * of the URI template as it was given, {@code /users/{id}}; the path as it is sent where that is of no template), and
 * {@code token}, a hash of the {@code Authorization} header, or {@code anon} without one. {@link #demand} and
 * {@link #demandInContext} change what is asked.
 *
 * <p>A call is idempotent by its method (RFC 9110, 9.2.2), by an {@code Idempotency-Key} header, or if
 * {@link #idempotent} says so. A body that may be sent once only is recognised, and its outcome handed on: a
 * {@code Publisher} other than a {@code Mono} of a value or of a supplier, a {@code DataBuffer}, a {@code Resource} that is
 * an open stream, a reader or an iterator, what an inserter of your own writes; {@link #replayable} overrules that.
 * Inserters of filters before ours that pass a body on change nothing.
 *
 * <p>The response that is handed on is untouched, and the permit stays with it until its body is consumed, cancelled or
 * released. A response that is not handed on is released before the call waits: read away up to 2 MiB and 1 s, and its
 * connection closed beyond.
 *
 * <p>The request counts as sent when its body is written. That is told through the body's inserter, so a stub in place of
 * an HTTP client that never writes the request has no attempt timeout. Connect timeouts, and a client's own retries, are
 * those of the client: switch the latter off, as with Reactor Netty's {@code disableRetry(true)}. So are redirects: one that
 * the client follows by itself takes no permit of its own, and only the last response is heard. Have that off where limits
 * count, as it is in Reactor Netty and the JDK's client unless set, other than in Jetty's and Apache's; a 3xx is handed on.
 *
 * <p>Within {@link io.github.reactorratelimit.PermitSource#use} a request is sent under the permit that is there already:
 * {@link #under}.
 *
 * <p>A call fails with a {@link io.github.reactorratelimit.RateLimitException} that says why, if there is no permit in time,
 * no answer, or none but refusals; every other failure is the client's own.
 *
 * <p>Immutable and thread-safe; nothing happens before a response is subscribed, and every subscription is a call of its
 * own. One that waited goes on on the thread that made room for it, or on the limiter's scheduler. Cancelling cancels the
 * request that is under way, and gives its permit back.
 */
public final class RateLimitFilter implements ExchangeFilterFunction {

    /**
     * The name of the request attribute that holds a {@code UnaryOperator<Demand>}, for {@code @RequestAttribute} parameters
     * of {@code @HttpExchange} methods.
     */
    public static final String DEMAND = "io.github.reactorratelimit.demand";

    /**
     * The name of the request attribute that holds the {@link Exchange} a request is sent {@link #under}, for
     * {@code @RequestAttribute} parameters of {@code @HttpExchange} methods.
     */
    public static final String ATTEMPT = "io.github.reactorratelimit.attempt";

    static final String IDEMPOTENT = "io.github.reactorratelimit.idempotent";
    private static final String REPLAYABLE = "io.github.reactorratelimit.replayable";

    private final Calls calls;
    private final Told told;

    private RateLimitFilter(Calls calls, Told told) {
        this.calls = calls;
        this.told = told;
    }

    /** What a request tells the server of its way here. */
    @FunctionalInterface
    interface Told {
        void to(HttpHeaders headers, ContextView context);

        /** This and then the other. */
        default Told and(Told other) {
            return (headers, context) -> {
                to(headers, context);
                other.to(headers, context);
            };
        }
    }

    /**
     * A filter with the limiter's own operator.
     *
     * @param limiter what the client stays under
     * @return the filter, to be added last
     */
    public static RateLimitFilter of(RateLimiter limiter) {
        return of(limiter.calls());
    }

    /**
     * A filter with retries of your own.
     *
     * @param operator how calls are limited and tried again
     * @return the filter, to be added last
     */
    public static RateLimitFilter of(RateLimitOperator operator) {
        return new RateLimitFilter(
                new Calls.Limited(Objects.requireNonNull(operator, "operator")), (headers, context) -> {});
    }

    /**
     * A filter for the one attempt of a call that has its permit: what {@link io.github.reactorratelimit.PermitSource#use}
     * hands out. It says of every request what {@link #under} says of one.
     *
     * @param attempt what the requests belong to
     * @return the filter, to be added last
     */
    public static RateLimitFilter of(Exchange attempt) {
        return new RateLimitFilter(
                new Calls.Permitted(Objects.requireNonNull(attempt, "attempt")), (headers, context) -> {});
    }

    /**
     * Tells the server which attempt of its call a request is, from 1, in place of what a request has under that name. Not
     * told unless said.
     *
     * @param name the header to tell it in
     * @return the changed filter
     */
    public RateLimitFilter attemptHeader(String name) {
        return telling(name, context -> Integer.toString(RateLimitContext.attempt(context)));
    }

    /**
     * Tells the server how long a request waited for its permit, backoff included, in whole milliseconds, in place of what a
     * request has under that name. Not told unless said.
     *
     * @param name the header to tell it in
     * @return the changed filter
     */
    public RateLimitFilter waitedHeader(String name) {
        return telling(
                name, context -> Long.toString(RateLimitContext.waited(context).toMillis()));
    }

    private RateLimitFilter telling(String name, Function<ContextView, String> value) {
        Objects.requireNonNull(name, "name");
        return new RateLimitFilter(calls, told.and((headers, context) -> headers.set(name, value.apply(context))));
    }

    /**
     * What the exceptions of a {@code WebClient} mean, for {@link RateLimitOperator#failures} around calls without this
     * filter, which knows them anyway.
     *
     * @return the reader; a {@code WebClientResponseException} is its response, a {@code WebClientRequestException} is what
     *     its cause says
     */
    public static FailureReader failures() {
        return SpringFailures.INSTANCE;
    }

    /**
     * Changes what one request asks of the limiter: cost, lane, longest wait, attributes of your own. Several changes are
     * made one after another, those of the Context before.
     *
     * @param change from the demand with the request's attributes to the one that holds; must not block
     * @return a function for {@code attributes(...)} of a request
     */
    public static Consumer<Map<String, Object>> demand(UnaryOperator<Demand> change) {
        Objects.requireNonNull(change, "demand");
        return attributes ->
                attributes.merge(DEMAND, change, (before, now) -> Calls.then(Calls.asChange(before), change));
    }

    /**
     * As {@link #demand}, for all requests upstream. A lane alone is said by
     * {@link RateLimitContext#lane} as well, for every kind of call.
     *
     * @param change from the demand with the request's attributes to the one that holds; must not block
     * @return a function for {@code contextWrite}
     */
    public static Function<Context, Context> demandInContext(UnaryOperator<Demand> change) {
        Objects.requireNonNull(change, "demand");
        return context -> context.put(
                DEMAND,
                context.hasKey(DEMAND) ? Calls.then(Calls.asChange(context.<Object>get(DEMAND)), change) : change);
    }

    /**
     * Sends a request under a permit that is there already, that of an attempt which
     * {@link io.github.reactorratelimit.PermitSource#use} hands out. The filter takes none then, whatever limiter it has, and
     * does not try again: whoever made the attempt hears the response, and tries again. What else is said of the request's
     * demand and of its being idempotent does not count: the demand is that of the call, and its operator knows what may be
     * repeated.
     *
     * <pre>{@code
     * models.use(demand, attempt -> client.post()
     *         .uri("/chat")
     *         .attributes(RateLimitFilter.under(attempt))
     *         .bodyValue(promptFor(attempt.source()))
     *         .retrieve()
     *         .bodyToMono(Answer.class)
     *         .doOnNext(answer -> attempt.settle("tokens", answer.tokens())));
     * }</pre>
     *
     * <p>One request per attempt. The permit is held to the end of the attempt, so read the body within, and let errors pass:
     * what tries again or resumes within would do so without a permit.
     *
     * @param attempt what the request belongs to
     * @return a function for {@code attributes(...)} of a request
     */
    public static Consumer<Map<String, Object>> under(Exchange attempt) {
        Objects.requireNonNull(attempt, "attempt");
        return attributes -> attributes.put(ATTEMPT, attempt);
    }

    /**
     * Says whether a request may be repeated although the server may have acted on it. It overrules method and headers.
     *
     * @param repeatable true if it may
     * @return a function for {@code attributes(...)} of a request
     */
    public static Consumer<Map<String, Object>> idempotent(boolean repeatable) {
        return attributes -> attributes.put(IDEMPOTENT, repeatable);
    }

    /**
     * Says whether the body of a request can be sent again, where it is not recognised rightly.
     *
     * @param again true if each subscription gives the same body
     * @return a function for {@code attributes(...)} of a request
     */
    public static Consumer<Map<String, Object>> replayable(boolean again) {
        return attributes -> attributes.put(REPLAYABLE, again);
    }

    @Override
    public Mono<ClientResponse> filter(ClientRequest request, ExchangeFunction next) {
        return Mono.deferContextual(context -> {
            Object attempt = request.attributes().get(ATTEMPT);
            Calls under = attempt == null ? calls : new Calls.Permitted(Calls.asAttempt(attempt));
            return under.send(
                    request, context, (exchange, lends) -> new Dispatch(exchange, request, told, lends).through(next));
        });
    }

    /** What was said of the body: true, false, or null. */
    static @Nullable Object replayable(ClientRequest request) {
        return request.attributes().get(REPLAYABLE);
    }
}
