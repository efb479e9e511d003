package io.github.reactorratelimit.spring;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimitException;
import io.github.reactorratelimit.RateLimitListener;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RetriesExhaustedException;
import io.github.reactorratelimit.test.FakeProxy;
import io.github.reactorratelimit.test.RateLimitedServer;
import io.github.reactorratelimit.test.Reply;
import io.github.reactorratelimit.test.ServiceRules;
import io.netty.handler.proxy.ProxyConnectException;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.http.client.reactive.ReactorClientHttpConnector;
import org.springframework.web.reactive.function.client.WebClient;
import org.springframework.web.reactive.function.client.WebClientRequestException;
import reactor.core.publisher.Mono;
import reactor.netty.http.client.HttpClient;
import reactor.netty.resources.ConnectionProvider;
import reactor.netty.transport.ProxyProvider;

/** A proxy's answers are not the server's, and are told as what they are. B60 */
@ExtendWith(NoLeaks.class)
class ProxyFailuresTest {

    private final ConnectionProvider pool = ConnectionProvider.create("proxied", 2);
    private final RateLimitedServer server =
            ServiceRules.create().reply("/x", Reply.ok()).start();
    private final List<String> told = new CopyOnWriteArrayList<>();
    private final RateLimiter api = RateLimiter.named("api")
            .limit(Limit.inFlight(4))
            .listener(new RateLimitListener() {
                @Override
                public void proxyFailed(Subject who, String proxy, Throwable error) {
                    told.add(proxy + " " + error.getClass().getSimpleName());
                }
            })
            .build();

    @AfterEach
    void stop() {
        pool.disposeLater().block(Wire.PATIENCE);
        server.dispose();
    }

    private WebClient.Builder through(FakeProxy proxy, ProxyProvider.Proxy type) {
        HttpClient http = HttpClient.create(pool)
                .disableRetry(true)
                .proxy(spec -> spec.type(type)
                        .host(proxy.host())
                        .port(proxy.port())
                        .nonProxyHostsPredicate(host -> false)
                        .username("user")
                        .password(user -> "hush"));
        return WebClient.builder().baseUrl(server.baseUrl()).clientConnector(new ReactorClientHttpConnector(http));
    }

    private Mono<String> call(WebClient.Builder client) {
        return Wire.answer(client.filter(RateLimitFilter.of(api.calls().retry(Wire.QUICK)))
                .build()
                .post()
                .uri("/x")
                .bodyValue("order"));
    }

    private void assertNamesTheProxy(Throwable failure, FakeProxy proxy) {
        assertThat(failure)
                .isInstanceOf(WebClientRequestException.class)
                .hasMessageContaining("The proxy 127.0.0.1:" + proxy.port())
                .hasMessageContaining("login failed")
                .hasCauseInstanceOf(ProxyConnectException.class);
        assertThat(failure.toString()).doesNotContain("hush");
        assertThat(RateLimitException.mayHaveBeenSent(failure)).isFalse();
        assertThat(proxy.connections()).isEqualTo(1);
        assertThat(told).containsExactly(proxy.host() + ":" + proxy.port() + " WebClientRequestException");
        assertThat(server.log().count()).isZero();
        assertThat(api.snapshot().root().closedFor()).isZero();
    }

    @Test
    void a_407_is_not_tried_again_told_to_listeners_and_the_error_names_the_proxy() {
        try (FakeProxy proxy = FakeProxy.http().rejectLogins().start()) {
            assertNamesTheProxy(Wire.failure(call(through(proxy, ProxyProvider.Proxy.HTTP))), proxy);
        }
    }

    @Test
    void so_is_a_socks_login_that_fails() {
        try (FakeProxy proxy = FakeProxy.socks5().rejectLogins().start()) {
            assertNamesTheProxy(Wire.failure(call(through(proxy, ProxyProvider.Proxy.SOCKS5))), proxy);
        }
    }

    @Test
    void a_gateway_that_fails_the_connect_is_told_and_tried_again() {
        try (FakeProxy proxy = FakeProxy.http().script(Reply.status(503)).start()) {
            assertThat(call(through(proxy, ProxyProvider.Proxy.HTTP)).block(Wire.PATIENCE))
                    .startsWith("200");
            assertThat(proxy.connects()).isEqualTo(2);
            assertThat(told).hasSize(1);
        }
    }

    @Test
    void a_proxy_that_cannot_be_reached_is_told_and_tried_again() {
        FakeProxy proxy = FakeProxy.http().start();
        proxy.close();
        for (ProxyProvider.Proxy type : List.of(ProxyProvider.Proxy.HTTP, ProxyProvider.Proxy.SOCKS5)) {
            told.clear();
            assertThat(Wire.failure(call(through(proxy, type))))
                    .isInstanceOfSatisfying(RetriesExhaustedException.class, exhausted -> {
                        assertThat(exhausted.attempts()).isEqualTo(3);
                        assertThat(exhausted.mayHaveBeenSent()).isFalse();
                    });
            assertThat(told).hasSize(3).containsOnly("127.0.0.1:" + proxy.port() + " WebClientRequestException");
        }
    }

    @Test
    void a_server_that_cannot_be_reached_is_no_proxy() {
        server.dispose();
        WebClient.Builder direct = WebClient.builder()
                .baseUrl(server.baseUrl())
                .clientConnector(
                        new ReactorClientHttpConnector(HttpClient.create(pool).disableRetry(true)));
        assertThat(Wire.failure(call(direct))).isInstanceOf(RetriesExhaustedException.class);
        assertThat(told).isEmpty();
    }

    @Test
    void calls_without_the_filter_tell_of_it_through_the_public_reader() {
        try (FakeProxy proxy = FakeProxy.http().rejectLogins().start()) {
            Mono<String> call = Wire.answer(through(proxy, ProxyProvider.Proxy.HTTP)
                            .build()
                            .get()
                            .uri("/x"))
                    .transform(api.calls().failures(RateLimitFilter.failures()).limit())
                    .as(Mono::from);
            assertThat(RateLimitException.mayHaveBeenSent(Wire.failure(call))).isFalse();
            assertThat(told).hasSize(1);
        }
    }
}
