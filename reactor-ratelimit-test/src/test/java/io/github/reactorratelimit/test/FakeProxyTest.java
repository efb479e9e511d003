package io.github.reactorratelimit.test;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.proxy.HttpProxyHandler.HttpProxyConnectException;
import io.netty.handler.proxy.ProxyConnectException;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import java.io.IOException;
import java.time.Duration;
import javax.net.ssl.SSLException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.http.client.HttpClient;
import reactor.netty.resources.ConnectionProvider;
import reactor.netty.transport.ProxyProvider;
import reactor.test.StepVerifier;

class FakeProxyTest {

    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final ServiceRules RULES = ServiceRules.create()
            .reply("/x", Reply.ok().body("through"))
            .reply("/large", Reply.ok().bodyOfSize(4_000_000))
            .reply("/reset", Reply.reset());

    private final ConnectionProvider pool = ConnectionProvider.create("test", 4);
    private final RateLimitedServer plain = RULES.start();
    private final RateLimitedServer secure = RULES.startTls();

    @AfterEach
    void stop() {
        pool.dispose();
        plain.dispose();
        secure.dispose();
    }

    private HttpClient through(FakeProxy proxy, ProxyProvider.Proxy type, String password) {
        try {
            SslContext trust = SslContextBuilder.forClient()
                    .trustManager(secure.certificate())
                    .build();
            return HttpClient.create(pool)
                    .disableRetry(true)
                    .secure(spec -> spec.sslContext(trust))
                    .proxy(spec -> spec.type(type)
                            .host(proxy.host())
                            .port(proxy.port())
                            .nonProxyHostsPredicate(host -> false)
                            .username("user")
                            .password(user -> password)
                            .connectTimeoutMillis(PATIENCE.toMillis()));
        } catch (SSLException e) {
            throw new AssertionError(e);
        }
    }

    private HttpClient http(FakeProxy proxy) {
        return through(proxy, ProxyProvider.Proxy.HTTP, "secret");
    }

    private static Mono<String> text(HttpClient client, String url) {
        return client.get().uri(url).responseContent().aggregate().asString();
    }

    private static Throwable failure(Mono<?> call) {
        Throwable[] failure = new Throwable[1];
        StepVerifier.create(call)
                .expectErrorSatisfies(error -> failure[0] = error)
                .verify(PATIENCE);
        return failure[0];
    }

    @Test
    void http_and_https_go_through_a_tunnel() {
        try (FakeProxy proxy = FakeProxy.http().credentials("user", "secret").start()) {
            StepVerifier.create(Flux.just(plain.baseUrl(), secure.baseUrl())
                            .concatMap(url -> text(http(proxy), url + "/x")))
                    .expectNext("through", "through")
                    .expectComplete()
                    .verify(PATIENCE);

            assertThat(proxy.connections()).isEqualTo(2);
            assertThat(proxy.connects()).isEqualTo(2);
            assertThat(proxy.tunnels()).isEqualTo(2);
        }
    }

    @Test
    void a_large_body_comes_whole_through_the_tunnel() {
        try (FakeProxy proxy = FakeProxy.http().start()) {
            StepVerifier.create(text(http(proxy), plain.baseUrl() + "/large").map(String::length))
                    .expectNext(4_000_000)
                    .expectComplete()
                    .verify(PATIENCE);
        }
    }

    @Test
    void a_reset_of_the_server_arrives_as_a_reset() {
        try (FakeProxy proxy = FakeProxy.http().start()) {
            assertThat(failure(text(http(proxy), plain.baseUrl() + "/reset")))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("reset");
        }
    }

    @Test
    void a_wrong_login_is_a_407_which_names_the_scheme_and_opens_no_tunnel() {
        for (ProxyRules rules : new ProxyRules[] {
            FakeProxy.http().credentials("user", "other"),
            FakeProxy.http().rejectLogins(),
            FakeProxy.http().credentials("user", "secret").rejectLogins()
        }) {
            try (FakeProxy proxy = rules.start()) {
                for (String url : new String[] {plain.baseUrl(), secure.baseUrl()}) {
                    HttpProxyConnectException refusal =
                            cause(failure(text(http(proxy), url + "/x")), HttpProxyConnectException.class);
                    assertThat(refusal).hasMessageContaining("407");
                    assertThat(refusal.headers().get("Proxy-Authenticate")).isEqualTo("Basic realm=\"fake proxy\"");
                }
                assertThat(proxy.connects()).isEqualTo(2);
                assertThat(proxy.tunnels()).isZero();
            }
        }
        assertThat(plain.log().count() + secure.log().count()).isZero();
    }

    @Test
    void a_scripted_refusal_comes_with_its_status_and_then_the_tunnel_opens() {
        try (FakeProxy proxy =
                FakeProxy.http().script(Reply.status(502), Reply.status(503)).start()) {
            String url = plain.baseUrl() + "/x";
            assertThat(cause(failure(text(http(proxy), url)), ProxyConnectException.class))
                    .hasMessageContaining("502");
            assertThat(cause(failure(text(http(proxy), url)), ProxyConnectException.class))
                    .hasMessageContaining("503");
            StepVerifier.create(text(http(proxy), url))
                    .expectNext("through")
                    .expectComplete()
                    .verify(PATIENCE);
        }
    }

    @Test
    void a_target_that_is_not_there_is_a_502() {
        plain.dispose();
        try (FakeProxy proxy = FakeProxy.http().start()) {
            assertThat(cause(failure(text(http(proxy), plain.baseUrl() + "/x")), ProxyConnectException.class))
                    .hasMessageContaining("502");
        }
    }

    @Test
    void a_proxy_that_hangs_or_resets_answers_no_connect() {
        try (FakeProxy proxy = FakeProxy.http().refuse(Reply.hang()).start()) {
            StepVerifier.create(text(http(proxy), plain.baseUrl() + "/x")
                            .takeUntilOther(RateLimitedServerTest.soonAfter(() -> proxy.connects() == 1)))
                    .expectComplete()
                    .verify(PATIENCE);
            assertThat(proxy.connects()).isEqualTo(1);
        }
        try (FakeProxy proxy = FakeProxy.http().refuse(Reply.reset()).start()) {
            assertThat(failure(text(http(proxy), plain.baseUrl() + "/x"))).isInstanceOf(IOException.class);
        }
    }

    @Test
    void a_request_that_is_no_connect_is_a_501() {
        try (FakeProxy proxy = FakeProxy.http().start()) {
            StepVerifier.create(HttpClient.create(pool)
                            .get()
                            .uri("http://" + proxy.host() + ":" + proxy.port() + "/x")
                            .response())
                    .assertNext(response -> assertThat(response.status().code()).isEqualTo(501))
                    .expectComplete()
                    .verify(PATIENCE);
            assertThat(proxy.connects()).isZero();
        }
    }

    @Test
    void socks5_tunnels_with_and_without_a_login() {
        for (ProxyRules rules :
                new ProxyRules[] {FakeProxy.socks5(), FakeProxy.socks5().credentials("user", "secret")}) {
            try (FakeProxy proxy = rules.start()) {
                HttpClient client = through(proxy, ProxyProvider.Proxy.SOCKS5, "secret");
                StepVerifier.create(
                                Flux.just(plain.baseUrl(), secure.baseUrl()).concatMap(url -> text(client, url + "/x")))
                        .expectNext("through", "through")
                        .expectComplete()
                        .verify(PATIENCE);
                assertThat(proxy.connects()).isEqualTo(2);
                assertThat(proxy.tunnels()).isEqualTo(2);
            }
        }
    }

    @Test
    void a_socks5_login_that_fails_opens_no_tunnel() {
        for (ProxyRules rules : new ProxyRules[] {
            FakeProxy.socks5().credentials("user", "other"),
            FakeProxy.socks5().rejectLogins(),
            FakeProxy.socks5().credentials("user", "secret").rejectLogins()
        }) {
            try (FakeProxy proxy = rules.start()) {
                HttpClient client = through(proxy, ProxyProvider.Proxy.SOCKS5, "secret");
                assertThat(cause(failure(text(client, plain.baseUrl() + "/x")), ProxyConnectException.class))
                        .hasMessageContaining("authStatus: FAILURE");
                assertThat(proxy.connects()).isEqualTo(1);
                assertThat(proxy.tunnels()).isZero();
            }
        }
    }

    @Test
    void a_socks5_proxy_can_refuse_the_command() {
        try (FakeProxy proxy = FakeProxy.socks5().refuse(Reply.status(503)).start()) {
            HttpClient client = through(proxy, ProxyProvider.Proxy.SOCKS5, "secret");
            assertThat(cause(failure(text(client, plain.baseUrl() + "/x")), ProxyConnectException.class))
                    .hasMessageContaining("status: FAILURE");
        }
    }

    private static <X extends Throwable> X cause(Throwable failure, Class<X> type) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (type.isInstance(cause)) {
                return type.cast(cause);
            }
        }
        throw new AssertionError("no " + type.getSimpleName() + " in " + failure, failure);
    }
}
