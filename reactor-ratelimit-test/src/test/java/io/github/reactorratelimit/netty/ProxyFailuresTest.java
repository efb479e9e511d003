package io.github.reactorratelimit.netty;

import static io.github.reactorratelimit.netty.Wire.QUICK;
import static io.github.reactorratelimit.netty.Wire.answer;
import static io.github.reactorratelimit.netty.Wire.failure;
import static io.github.reactorratelimit.netty.Wire.outcome;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimitException;
import io.github.reactorratelimit.RateLimitListener;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RetriesExhaustedException;
import io.github.reactorratelimit.test.FakeProxy;
import io.github.reactorratelimit.test.Fault;
import io.github.reactorratelimit.test.ProxyRules;
import io.github.reactorratelimit.test.RateLimitedServer;
import io.github.reactorratelimit.test.Reply;
import io.github.reactorratelimit.test.ServiceRules;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.proxy.ProxyConnectException;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import javax.net.ssl.SSLException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;
import reactor.netty.http.client.HttpClient;
import reactor.netty.resources.ConnectionProvider;
import reactor.netty.transport.ProxyProvider;

/** A proxy's answers are not the server's. */
@ExtendWith(NoLeaks.class)
class ProxyFailuresTest {

    private static final ServiceRules RULES = ServiceRules.create().fault("/x", Fault.always(Reply.ok()));

    private final ConnectionProvider pool = ConnectionProvider.create("proxied", 2);
    private final RateLimitedServer plain = RULES.start();
    private final RateLimitedServer secure = RULES.startTls();
    private final List<String> proxiesToldOf = new CopyOnWriteArrayList<>();
    private final RateLimiter api = RateLimiter.named("api")
            .limit(Limit.inFlight(Wire.IN_FLIGHT))
            .listener(new RateLimitListener() {
                @Override
                public void proxyFailed(Subject who, String proxy, Throwable error) {
                    proxiesToldOf.add(proxy);
                }
            })
            .build();

    @AfterEach
    void stop() {
        pool.disposeLater().block(Wire.PATIENCE);
        plain.dispose();
        secure.dispose();
    }

    private HttpClient through(FakeProxy proxy, ProxyProvider.Proxy type) {
        try {
            SslContext trust = SslContextBuilder.forClient()
                    .trustManager(secure.certificate())
                    .build();
            return HttpClient.create(pool)
                    .secure(spec -> spec.sslContext(trust))
                    .proxy(spec -> spec.type(type)
                            .host(proxy.host())
                            .port(proxy.port())
                            .nonProxyHostsPredicate(host -> false)
                            .username("user")
                            .password(user -> "hush")
                            .connectTimeoutMillis(Wire.PATIENCE.toMillis()));
        } catch (SSLException e) {
            throw new AssertionError(e);
        }
    }

    private Mono<String> call(FakeProxy proxy, ProxyProvider.Proxy type, HttpMethod method, String url) {
        return answer(RateLimitedHttpClient.of(through(proxy, type), api.calls().retry(QUICK))
                .request(method)
                .uri(url + "/x"));
    }

    private static List<HttpMethod> methods() {
        return List.of(HttpMethod.GET, HttpMethod.POST);
    }

    private List<String> urls() {
        return List.of(plain.baseUrl(), secure.baseUrl());
    }

    private static void assertNamesTheProxy(Throwable failure, FakeProxy proxy) {
        assertThat(failure)
                .isInstanceOf(ProxyConnectException.class)
                .hasMessageContaining("The proxy 127.0.0.1:" + proxy.port())
                .hasMessageContaining("login failed");
        assertThat(failure.toString()).doesNotContain("hush");
        assertThat(RateLimitException.mayHaveBeenSent(failure)).isFalse();
    }

    @Test // B60
    void a_407_from_a_proxy_is_one_connection_for_any_method_and_scheme_and_the_error_names_the_proxy() {
        for (HttpMethod method : methods()) {
            for (String url : urls()) {
                try (FakeProxy proxy = FakeProxy.http().rejectLogins().start()) {
                    Throwable failure = failure(call(proxy, ProxyProvider.Proxy.HTTP, method, url));

                    assertNamesTheProxy(failure, proxy);
                    assertThat(failure).hasMessageContaining("407");
                    assertThat(proxy.connections()).isEqualTo(1);
                    assertThat(proxy.connects()).isEqualTo(1);
                }
            }
        }
        assertThat(plain.log().count() + secure.log().count()).isZero();
        assertThat(api.snapshot().root().closedFor()).isZero();
        assertThat(api.snapshot().root().limits().get(0).available()).isEqualTo(Wire.IN_FLIGHT);
    }

    @Test
    void a_socks_login_that_fails_is_one_connection_too() {
        for (String url : urls()) {
            try (FakeProxy proxy = FakeProxy.socks5().rejectLogins().start()) {
                Throwable failure = failure(call(proxy, ProxyProvider.Proxy.SOCKS5, HttpMethod.GET, url));

                assertNamesTheProxy(failure, proxy);
                assertThat(proxy.connections()).isEqualTo(1);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {502, 503, 504})
    void a_gateway_that_fails_the_connect_is_tried_again_for_any_method(int status) {
        for (HttpMethod method : methods()) {
            for (String url : urls()) {
                try (FakeProxy proxy =
                        FakeProxy.http().script(Reply.status(status)).start()) {
                    assertThat(call(proxy, ProxyProvider.Proxy.HTTP, method, url)
                                    .block(Wire.PATIENCE))
                            .startsWith("200");
                    assertThat(proxy.connects()).isEqualTo(2);
                }
            }
        }
        assertThat(plain.log().count() + secure.log().count()).isEqualTo(4);
    }

    @Test
    void a_connect_that_is_forbidden_is_not_tried_again_and_not_taken_for_a_login() {
        try (FakeProxy proxy = FakeProxy.http().refuse(Reply.status(403)).start()) {
            Throwable failure = failure(call(proxy, ProxyProvider.Proxy.HTTP, HttpMethod.GET, plain.baseUrl()));

            assertThat(failure)
                    .hasMessageContaining("The proxy 127.0.0.1:" + proxy.port())
                    .hasMessageContaining("403")
                    .hasMessageNotContaining("login");
            assertThat(proxy.connections()).isEqualTo(1);
        }
    }

    @Test
    void a_proxy_that_breaks_off_the_connect_has_sent_nothing_on() {
        for (ProxyRules rules :
                List.of(FakeProxy.http().refuse(Reply.reset()), FakeProxy.http().refuse(Reply.close()))) {
            for (String url : urls()) {
                try (FakeProxy proxy = rules.start()) {
                    Throwable failure = failure(call(proxy, ProxyProvider.Proxy.HTTP, HttpMethod.POST, url));

                    assertThat(failure)
                            .isInstanceOfSatisfying(
                                    RetriesExhaustedException.class,
                                    exhausted -> assertThat(exhausted.mayHaveBeenSent())
                                            .isFalse());
                    assertThat(proxy.connections()).isEqualTo(3);
                }
            }
        }
    }

    @Test
    void a_plain_client_learns_of_a_407_through_the_public_reader() {
        try (FakeProxy proxy = FakeProxy.http().rejectLogins().start()) {
            HttpClient client = through(proxy, ProxyProvider.Proxy.HTTP).disableRetry(true);
            Mono<Integer> call = client.get()
                    .uri(secure.baseUrl() + "/x")
                    .response()
                    .map(response -> response.status().code())
                    .transform(api.calls()
                            .retry(QUICK)
                            .idempotent(true)
                            .failures(RateLimitedHttpClient.failures())
                            .limit())
                    .as(Mono::from);

            assertThat(RateLimitException.mayHaveBeenSent(failure(call))).isFalse();
            assertThat(proxy.connections()).isEqualTo(1);
            assertThat(proxiesToldOf).containsExactly(proxy.host() + ":" + proxy.port());
        }
    }

    @Test
    void a_407_of_the_server_itself_is_an_answer() {
        try (Wire wire = Wire.to(
                ServiceRules.create().fault("/x", Fault.always(Reply.status(407).body("who"))))) {
            assertThat(outcome(wire.get())).isEqualTo("407 who");
            assertThat(wire.wire()).isEqualTo(1);
        }
    }
}
