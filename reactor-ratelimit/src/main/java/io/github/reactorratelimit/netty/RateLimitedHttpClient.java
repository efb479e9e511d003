package io.github.reactorratelimit.netty;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Exchange;
import io.github.reactorratelimit.FailureReader;
import io.github.reactorratelimit.RateLimitContext;
import io.github.reactorratelimit.RateLimitOperator;
import io.github.reactorratelimit.RateLimiter;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelOption;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.ByteBufFlux;
import reactor.netty.ByteBufMono;
import reactor.netty.http.client.HttpClient;
import reactor.netty.http.client.HttpClientResponse;
import reactor.util.context.ContextView;

/**
 * Reactor Netty's {@code HttpClient} under a limiter: one permit per request on the wire, the response heard at its head,
 * and what is safe to try again tried again.
 *
 * <pre>{@code
 * Mono<String> body = RateLimitedHttpClient.of(HttpClient.create(), api)
 *         .get().uri("/search?q=reactor").responseSingle((response, content) -> content.asString());
 * }</pre>
 *
 * <p>Each request tells the limiter these attributes: {@code host} without port, {@code method}, {@code endpoint} (the
 * path as it is sent, without the query, unless {@link Request#endpoint} names one), and {@code token}, a hash of the
 * {@code Authorization} header, or {@code anon} without one. For limits that count by something else, see
 * {@link Request#demand}.
 *
 * <p>The client's own retry is switched off. A connect timeout of 5 s is set unless the client has one; the attempt timeout
 * is that of the retry policy. A body that is not handed on is read away, up to 2 MiB and 1 s, and its connection closed
 * beyond; no connection is held while a call waits.
 *
 * <p>A redirect that the client follows by itself ({@code followRedirect}, off unless set) is written within the same attempt:
 * it takes no permit of its own, nothing of the responses but the last is heard, and the limits do not know that more than
 * one request was sent. Leave it off where limits count, and send a request of its own to the {@code Location} of a 3xx,
 * which is handed on as it is.
 *
 * <p>Immutable and thread-safe; nothing happens before a result is subscribed, and every subscription is a call of its
 * own. Cancelling closes the connection of a request that is under way, and gives its permit back.
 */
public final class RateLimitedHttpClient {

    private static final int CONNECT_TIMEOUT_MILLIS = 5_000;

    private final HttpClient client;
    private final Calls calls;

    private RateLimitedHttpClient(HttpClient client, Calls calls) {
        this.client = client;
        this.calls = calls;
    }

    /**
     * A client under a limiter, with the limiter's own operator.
     *
     * @param client the client, set up as you like; it is not changed
     * @param limiter what it stays under
     * @return the limited client
     */
    public static RateLimitedHttpClient of(HttpClient client, RateLimiter limiter) {
        return of(client, limiter.calls());
    }

    /**
     * A client under a limiter, with retries of your own.
     *
     * @param client the client, set up as you like; it is not changed
     * @param operator how calls are limited and tried again
     * @return the limited client
     */
    public static RateLimitedHttpClient of(HttpClient client, RateLimitOperator operator) {
        return under(client, new Calls.Limited(Objects.requireNonNull(operator, "operator")));
    }

    /**
     * A client for the one attempt of a call that has its permit: what {@link io.github.reactorratelimit.PermitSource#use}
     * hands out. Its requests take no permit and are not tried again here; whoever made the attempt hears them, and tries
     * again. {@link Request#demand}, {@link Request#endpoint} and {@link Request#idempotent} say nothing then: the demand is
     * that of the call, and its operator knows what may be repeated.
     *
     * @param client the client, set up as you like; it is not changed
     * @param attempt what its requests belong to
     * @return the client
     */
    public static RateLimitedHttpClient of(HttpClient client, Exchange attempt) {
        return under(client, new Calls.Permitted(Objects.requireNonNull(attempt, "attempt")));
    }

    private static RateLimitedHttpClient under(HttpClient client, Calls calls) {
        HttpClient prepared =
                client.disableRetry(true).doOnRequest(Dispatch::begin).doAfterRequest(Dispatch::sent);
        boolean bounded = client.configuration().options().containsKey(ChannelOption.CONNECT_TIMEOUT_MILLIS);
        return new RateLimitedHttpClient(
                bounded ? prepared : prepared.option(ChannelOption.CONNECT_TIMEOUT_MILLIS, CONNECT_TIMEOUT_MILLIS),
                calls);
    }

    /**
     * Tells the server which attempt of its call a request is, 1 for the first, in place of what a request has under that
     * name. Not told unless said.
     *
     * @param name the header to tell it in
     * @return the changed client
     */
    public RateLimitedHttpClient attemptHeader(CharSequence name) {
        return telling(name, context -> Integer.toString(RateLimitContext.attempt(context)));
    }

    /**
     * Tells the server how long a request waited for its permit, backoff included, in whole milliseconds, in place of what a
     * request has under that name. Not told unless said.
     *
     * @param name the header to tell it in
     * @return the changed client
     */
    public RateLimitedHttpClient waitedHeader(CharSequence name) {
        return telling(
                name, context -> Long.toString(RateLimitContext.waited(context).toMillis()));
    }

    private RateLimitedHttpClient telling(CharSequence name, Function<? super ContextView, String> value) {
        Objects.requireNonNull(name, "name");
        return new RateLimitedHttpClient(
                client.doOnRequest(
                        (request, connection) -> request.header(name, value.apply(request.currentContextView()))),
                calls);
    }

    /**
     * What the failures of a plain {@code HttpClient} mean, for {@link RateLimitOperator#failures}. This class knows them
     * without.
     *
     * @return the reader; refused and timed out connects, names that do not resolve and a pool without a free connection
     *     are not sent, resets and timeouts are interrupted, a proxy's 407 and certificates are never tried again
     */
    public static FailureReader failures() {
        return NettyFailures.INSTANCE;
    }

    /**
     * A GET.
     *
     * @return the request, to be given a URI
     */
    public Request get() {
        return request(HttpMethod.GET);
    }

    /**
     * A HEAD.
     *
     * @return the request, to be given a URI
     */
    public Request head() {
        return request(HttpMethod.HEAD);
    }

    /**
     * A POST, which is not idempotent unless said.
     *
     * @return the request, to be given a URI
     */
    public Request post() {
        return request(HttpMethod.POST);
    }

    /**
     * A PUT.
     *
     * @return the request, to be given a URI
     */
    public Request put() {
        return request(HttpMethod.PUT);
    }

    /**
     * A PATCH, which is not idempotent unless said.
     *
     * @return the request, to be given a URI
     */
    public Request patch() {
        return request(HttpMethod.PATCH);
    }

    /**
     * A DELETE.
     *
     * @return the request, to be given a URI
     */
    public Request delete() {
        return request(HttpMethod.DELETE);
    }

    /**
     * An OPTIONS.
     *
     * @return the request, to be given a URI
     */
    public Request options() {
        return request(HttpMethod.OPTIONS);
    }

    /**
     * A request with any method.
     *
     * @param method the method
     * @return the request, to be given a URI
     */
    public Request request(HttpMethod method) {
        return new Request(client, calls, new Draft(Objects.requireNonNull(method, "method")));
    }

    /**
     * One request and what becomes of its response. Immutable: every method that changes something returns a copy.
     *
     * <p>Defaults: the URI {@code /}, no headers besides the client's, no body, idempotent by its method (RFC 9110, 9.2.2)
     * or by an {@code Idempotency-Key} header.
     */
    public static final class Request {

        private final HttpClient client;
        private final Calls calls;
        private final Draft draft;

        private Request(HttpClient client, Calls calls, Draft draft) {
            this.client = client;
            this.calls = calls;
            this.draft = draft;
        }

        private Request changed(Consumer<Draft> change) {
            Draft copy = draft.copy();
            change.accept(copy);
            return new Request(client, calls, copy);
        }

        /**
         * Sets where it goes.
         *
         * @param target an absolute URI, or a path with or without a query, which is appended to the client's base URL or
         *     sent to its address
         * @return the changed request
         */
        public Request uri(String target) {
            Objects.requireNonNull(target, "uri");
            return changed(copy -> copy.uri = target.isEmpty() ? "/" : target);
        }

        /**
         * Names the endpoint that limits count by, where the path has parts that differ from call to call and the limiter
         * has no pattern for them.
         *
         * @param name the endpoint, such as {@code "/users/{id}"}
         * @return the changed request
         */
        public Request endpoint(String name) {
            Objects.requireNonNull(name, "endpoint");
            return changed(copy -> copy.endpoint = name);
        }

        /**
         * Sets a header, in place of what this request or its client had under that name.
         *
         * @param name the name in any case
         * @param value the value
         * @return the changed request
         */
        public Request header(CharSequence name, String value) {
            return headers(lines -> lines.set(name, value));
        }

        /**
         * Changes the headers of this request; a name that it has replaces the client's lines of that name.
         *
         * @param change given this request's own lines, to be changed in place; called at once
         * @return the changed request
         */
        public Request headers(Consumer<? super HttpHeaders> change) {
            HttpHeaders lines = draft.headers.copy();
            change.accept(lines);
            return changed(copy -> copy.headers = lines);
        }

        /**
         * Sets a body that can be sent again.
         *
         * @param text sent as UTF-8
         * @return the changed request
         */
        public Request body(String text) {
            return body(text.getBytes(StandardCharsets.UTF_8));
        }

        /**
         * Sets a body that can be sent again.
         *
         * @param bytes not copied, so not to be changed any more
         * @return the changed request
         */
        public Request body(byte[] bytes) {
            Objects.requireNonNull(bytes, "body");
            return body(() -> Unpooled.wrappedBuffer(bytes));
        }

        /**
         * Sets a body that can be sent again.
         *
         * @param buffers gives a fresh buffer per attempt, which the client releases; must not block
         * @return the changed request
         */
        public Request body(Supplier<? extends ByteBuf> buffers) {
            return body(Mono.fromSupplier(buffers), false);
        }

        /**
         * Sets a body that can be sent once only. Then nothing is tried again, and the caller gets the first outcome,
         * whatever it is.
         *
         * @param buffers subscribed once per call
         * @return the changed request
         */
        public Request bodyOnce(Publisher<? extends ByteBuf> buffers) {
            return body(Objects.requireNonNull(buffers, "body"), true);
        }

        private Request body(Publisher<? extends ByteBuf> buffers, boolean once) {
            return changed(copy -> {
                copy.body = buffers;
                copy.oneShot = once;
            });
        }

        /**
         * Says whether the call may be repeated although the server may have acted on it. It overrules method and headers.
         *
         * @param repeatable true if it may
         * @return the changed request
         */
        public Request idempotent(boolean repeatable) {
            return changed(copy -> copy.idempotent = repeatable);
        }

        /**
         * Changes what is asked of the limiter: cost, lane, longest wait, attributes of your own. Several changes are made
         * one after another.
         *
         * @param change from the demand with this request's attributes to the one that holds; must not block
         * @return the changed request
         */
        public Request demand(UnaryOperator<Demand> change) {
            Objects.requireNonNull(change, "demand");
            UnaryOperator<Demand> before = draft.demand;
            return changed(copy -> copy.demand = asked -> Objects.requireNonNull(
                    change.apply(before.apply(asked)),
                    "the demand function of a request must give a demand, gave null"));
        }

        /**
         * Makes at most one value of the response that is handed on.
         *
         * @param receiver from response and whole body to the value; called once per response that is handed on, which
         *     after a body that broke off can be a second one; what it does not read of the body is cancelled
         * @param <V> the type of the value
         * @return the call
         */
        public <V> Mono<V> responseSingle(
                BiFunction<? super HttpClientResponse, ? super ByteBufMono, ? extends Mono<V>> receiver) {
            Objects.requireNonNull(receiver, "receiver");
            return Mono.defer(() -> {
                HttpClient.ResponseReceiver<?> call = draft.on(client);
                return calls.single(
                        draft,
                        client,
                        exchange -> new Dispatch(exchange, client.configuration())
                                .<V>through(call, (response, content) -> receiver.apply(response, content.aggregate()))
                                .singleOrEmpty());
            });
        }

        /**
         * Makes any number of values of the response that is handed on.
         *
         * @param receiver from response and body to the values; what it does not read of the body is cancelled
         * @param <V> the type of the values
         * @return the call; once it has given a value it is not tried again
         */
        public <V> Flux<V> response(
                BiFunction<? super HttpClientResponse, ? super ByteBufFlux, ? extends Publisher<V>> receiver) {
            Objects.requireNonNull(receiver, "receiver");
            return Flux.defer(() -> {
                HttpClient.ResponseReceiver<?> call = draft.on(client);
                return calls.many(
                        draft,
                        client,
                        exchange -> new Dispatch(exchange, client.configuration()).<V>through(call, receiver));
            });
        }

        /**
         * The head of the response alone; its body is cancelled.
         *
         * @return the call
         */
        public Mono<HttpClientResponse> response() {
            return response((response, content) -> Mono.just(response)).singleOrEmpty();
        }
    }
}
