package io.github.reactorratelimit.test.spring;

import io.github.reactorratelimit.test.ScriptedApi;
import io.github.reactorratelimit.test.SimulatedService;
import java.net.URI;
import java.util.function.Function;
import org.springframework.http.HttpMethod;
import org.springframework.http.client.reactive.ClientHttpConnector;
import org.springframework.http.client.reactive.ClientHttpRequest;
import org.springframework.http.client.reactive.ClientHttpResponse;
import org.springframework.web.reactive.function.client.ClientRequest;
import org.springframework.web.reactive.function.client.ClientResponse;
import org.springframework.web.reactive.function.client.ExchangeFunction;
import org.springframework.web.reactive.function.client.ExchangeFunctions;
import reactor.core.publisher.Mono;

/**
 * A {@code WebClient}'s way to a {@link SimulatedService} or a {@link ScriptedApi}, in place of a network: filters, codecs
 * and error handling are the real ones, and time may be virtual.
 *
 * <pre>{@code
 * WebClient client = WebClient.builder()
 *         .exchangeFunction(SimulatedExchange.to(service))
 *         .filter(RateLimitFilter.of(limiter))
 *         .build();
 * }</pre>
 *
 * <p>Scheme, host and query of a URL play no part. Connections that are reset or closed fail as those of a real one do, with
 * an {@code IOException} in a {@code WebClientRequestException}. Safe for use from any thread.
 */
public final class SimulatedExchange implements ExchangeFunction {

    private final ExchangeFunction exchange;

    private SimulatedExchange(SimulatedService service) {
        this.exchange = ExchangeFunctions.create(new Connector(service));
    }

    /**
     * The way to a simulated service.
     *
     * @param service who answers
     * @return for {@code WebClient.Builder.exchangeFunction}
     */
    public static SimulatedExchange to(SimulatedService service) {
        return new SimulatedExchange(service);
    }

    /**
     * The way to a scripted API, in the time of {@code Schedulers.parallel()} and at no distance.
     *
     * @param api who answers
     * @return for {@code WebClient.Builder.exchangeFunction}
     */
    public static SimulatedExchange to(ScriptedApi api) {
        return new SimulatedExchange(api.simulate());
    }

    @Override
    public Mono<ClientResponse> exchange(ClientRequest request) {
        return exchange.exchange(request);
    }

    private record Connector(SimulatedService service) implements ClientHttpConnector {

        @Override
        public Mono<ClientHttpResponse> connect(
                HttpMethod method, URI uri, Function<? super ClientHttpRequest, Mono<Void>> write) {
            return Mono.defer(() -> {
                WrittenRequest request = new WrittenRequest(method, uri);
                return write.apply(request)
                        .then(Mono.defer(() -> service.call(request.simulated())))
                        .map(ReadResponse::new);
            });
        }
    }
}
