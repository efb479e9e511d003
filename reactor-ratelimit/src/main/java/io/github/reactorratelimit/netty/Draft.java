package io.github.reactorratelimit.netty;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.RateLimitOperator;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.netty.http.client.HttpClient;

/** What a request says so far. Changed only before the request that holds it is made. */
final class Draft {

    private static final String IDEMPOTENCY_KEY = "Idempotency-Key";

    private final HttpMethod method;
    String uri = "/";

    @Nullable
    String endpoint;

    HttpHeaders headers = new DefaultHttpHeaders();

    @Nullable
    Publisher<? extends ByteBuf> body;

    boolean oneShot;

    @Nullable
    Boolean idempotent;

    UnaryOperator<Demand> demand = UnaryOperator.identity();

    Draft(HttpMethod method) {
        this.method = method;
    }

    Draft copy() {
        Draft copy = new Draft(method);
        copy.uri = uri;
        copy.endpoint = endpoint;
        copy.headers = headers;
        copy.body = body;
        copy.oneShot = oneShot;
        copy.idempotent = idempotent;
        copy.demand = demand;
        return copy;
    }

    /** What is sent, by this client. */
    HttpClient.ResponseReceiver<?> on(HttpClient client) {
        HttpClient carrying = headers.isEmpty() ? client : client.headers(this::putInto);
        HttpClient.RequestSender sender = carrying.request(method).uri(uri);
        return body == null ? sender : sender.send(body);
    }

    /** Name by name, because {@code setAll} keeps only the last of several lines. */
    private void putInto(HttpHeaders lines) {
        for (String name : headers.names()) {
            lines.set(name, headers.getAll(name));
        }
    }

    /** How it may be sent again. */
    RateLimitOperator under(RateLimitOperator operator) {
        RateLimitOperator calls = oneShot ? operator.replayable(false) : operator;
        if (idempotent != null) {
            return calls.idempotent(idempotent);
        }
        return headers.contains(IDEMPOTENCY_KEY) ? calls.idempotent(true) : calls;
    }

    /** What is asked of the limiter. */
    Demand asked(HttpClient client) {
        Target target = Target.of(client.configuration(), uri);
        Demand asked = Demand.of("host", target.host())
                .and("method", method.name())
                .and("endpoint", endpoint == null ? target.path() : endpoint)
                .andToken(Target.authorization(client.configuration(), headers));
        return demand.apply(asked);
    }
}
