package io.github.reactorratelimit.examples;

import static java.time.Duration.ofSeconds;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.spring.RateLimitExceptionHandler;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.http.server.reactive.ReactorHttpHandlerAdapter;
import org.springframework.web.reactive.config.EnableWebFlux;
import org.springframework.web.reactive.function.client.WebClient;
import org.springframework.web.reactive.function.server.RouterFunction;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.reactive.function.server.ServerResponse;
import org.springframework.web.server.adapter.WebHttpHandlerBuilder;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;

/** A WebFlux server in front of an API: what its limiter refuses is a 429 with Retry-After for the server's own callers. */
public final class SpringServer {

    private SpringServer() {}

    /** The beans of the server. */
    @Configuration(proxyBeanMethods = false)
    @EnableWebFlux
    static class Beans {

        @Bean
        RateLimitExceptionHandler rateLimitRefusals() {
            return new RateLimitExceptionHandler();
        }

        @Bean
        RouterFunction<ServerResponse> reports(RateLimiter api) {
            Demand soon = Demand.one().maxWait(ofSeconds(2));
            return RouterFunctions.route()
                    .GET(
                            "/report",
                            request -> Mono.just("report")
                                    .transform(api.limit(soon))
                                    .as(Mono::from)
                                    .flatMap(ServerResponse.ok()::bodyValue))
                    .build();
        }
    }

    static DisposableServer serve(RateLimiter api) {
        AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext();
        context.registerBean(RateLimiter.class, () -> api);
        context.register(Beans.class);
        context.refresh();
        return HttpServer.create()
                .host("127.0.0.1")
                .port(0)
                .handle(new ReactorHttpHandlerAdapter(
                        WebHttpHandlerBuilder.applicationContext(context).build()))
                .doOnUnbound(server -> context.close())
                .bindNow();
    }

    /** Asks for a report; status, and Retry-After if there is one. */
    static Mono<String> report(int port) {
        return WebClient.create("http://127.0.0.1:" + port)
                .get()
                .uri("/report")
                .exchangeToMono(response -> Mono.just(response.statusCode().value() + " "
                        + response.headers().asHttpHeaders().getFirst("Retry-After")));
    }

    /**
     * Prints two answers and a refusal.
     *
     * @param args none
     */
    public static void main(String[] args) {
        DisposableServer server = serve(RateLimiter.of(Limit.of(2, ofSeconds(10))));
        Flux.range(1, 3)
                .concatMap(n -> report(server.port()))
                .doOnNext(System.out::println)
                .blockLast();
        server.disposeNow();
    }
}
