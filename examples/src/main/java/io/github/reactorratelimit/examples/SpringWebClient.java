package io.github.reactorratelimit.examples;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.PermitSource;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.spring.RateLimitFilter;
import io.github.reactorratelimit.test.RateLimitedServer;
import java.util.function.Function;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.reactive.function.client.ExchangeFilterFunction;
import org.springframework.web.reactive.function.client.WebClient;
import org.springframework.web.reactive.function.client.support.WebClientAdapter;
import org.springframework.web.service.annotation.GetExchange;
import org.springframework.web.service.annotation.HttpExchange;
import org.springframework.web.service.invoker.HttpServiceProxyFactory;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Spring's WebClient under a limiter, and an HTTP interface that goes through it. */
public final class SpringWebClient {

    private SpringWebClient() {}

    static WebClient client(RateLimiter api) {
        WebClient client = WebClient.builder().filter(RateLimitFilter.of(api)).build();
        return client;
    }

    static Mono<String> order(WebClient client, int id) {
        Mono<String> order = client.get()
                .uri("/orders/{id}", id) // counts against /orders/{id}, whatever the id
                .attributes(RateLimitFilter.demand(demand -> demand.cost(2).lane("background")))
                .retrieve()
                .bodyToMono(String.class);
        return order;
    }

    /** The limiter's filter comes last, so that a login that sends again takes a permit for each. */
    static WebClient client(WebClient.Builder builder, RateLimiter api, ExchangeFilterFunction oauth2) {
        WebClient client =
                builder.filter(oauth2).filter(RateLimitFilter.of(api)).build();
        return client;
    }

    @HttpExchange
    interface Catalogue {

        @GetExchange("/search")
        Mono<String> search(@RequestParam("q") String words, @RequestHeader("Authorization") String token);
    }

    static Catalogue catalogue(WebClient client) {
        Catalogue catalogue = HttpServiceProxyFactory.builderFor(WebClientAdapter.create(client))
                .build()
                .createClient(Catalogue.class);
        return catalogue;
    }

    /** What a model answers, and how much of its quota that took. */
    record Answer(String text, long tokens) {}

    /** The model with room is asked, under its permit, through the one client that there is. */
    static Mono<Answer> ask(PermitSource models, WebClient client, Function<PermitSource, String> prompt) {
        Mono<Answer> answer = models.use(
                source -> Demand.one().cost("tokens", 1_000),
                attempt -> client.post()
                        .uri("/chat")
                        .attributes(RateLimitFilter.under(attempt))
                        .bodyValue(prompt.apply(attempt.source()))
                        .retrieve()
                        .bodyToMono(Answer.class)
                        .doOnNext(done -> attempt.settle("tokens", done.tokens())));
        return answer;
    }

    static Flux<String> search(WebClient.Builder builder, RateLimiter api, String token, int times) {
        Catalogue catalogue = catalogue(builder.filter(RateLimitFilter.of(api)).build());
        return Flux.range(1, times).flatMap(n -> catalogue.search("reactor " + n, "Bearer " + token));
    }

    /**
     * Prints seven searches in about ten seconds.
     *
     * @param args none
     */
    public static void main(String[] args) {
        try (RateLimitedServer server = Scenarios.service().start()) {
            WebClient.Builder builder = WebClient.builder().baseUrl(server.baseUrl());
            search(builder, PerEndpointAndToken.api(), "anna", 7)
                    .doOnNext(System.out::println)
                    .blockLast();
        }
    }
}
