package io.github.reactorratelimit.netty;

import static io.github.reactorratelimit.netty.Wire.QUICK;
import static io.github.reactorratelimit.netty.Wire.answer;
import static io.github.reactorratelimit.netty.Wire.failure;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimitListener;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.test.FakeProxy;
import io.github.reactorratelimit.test.Fault;
import io.github.reactorratelimit.test.RateLimitedServer;
import io.github.reactorratelimit.test.Reply;
import io.github.reactorratelimit.test.ServiceRules;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.publisher.Mono;
import reactor.netty.http.client.HttpClient;
import reactor.netty.transport.ProxyProvider;

/** What a server is told of attempts, and a listener of proxies. */
@ExtendWith(NoLeaks.class)
class ToldOverTheWireTest {

    private static final ServiceRules FAILS_ONCE = ServiceRules.create().fault("/x", Fault.everyNth(2, 503));

    private final List<String> proxies = new CopyOnWriteArrayList<>();
    private final RateLimiter api = RateLimiter.named("told")
            .limit(Limit.inFlight(4))
            .listener(new RateLimitListener() {
                @Override
                public void proxyFailed(Subject who, String proxy, Throwable error) {
                    proxies.add(who.attempt() + " " + proxy);
                }
            })
            .build();

    private static List<String> lines(Wire wire, String name) {
        return wire.log().entries().stream()
                .map(entry -> String.valueOf(entry.header(name)))
                .toList();
    }

    private static void calls(Wire wire, Function<RateLimitedHttpClient, RateLimitedHttpClient> telling) {
        RateLimitedHttpClient client = telling.apply(wire.client);
        for (int i = 0; i < 2; i++) {
            answer(client.get().uri("/x").header("X-Attempt", "mine")).block(Wire.PATIENCE);
        }
    }

    @Test
    void the_attempt_and_its_wait_are_told_in_headers_on_request() {
        try (Wire wire = Wire.to(FAILS_ONCE)) {
            calls(wire, client -> client.attemptHeader("X-Attempt").waitedHeader("X-Waited"));

            assertThat(wire.wire()).isEqualTo(3);
            assertThat(lines(wire, "X-Attempt")).containsExactly("1", "1", "2");
            assertThat(lines(wire, "X-Waited"))
                    .allMatch(
                            millis -> Duration.ofMillis(Long.parseLong(millis)).compareTo(Wire.PATIENCE) < 0);
            assertThat(lines(wire, "X-Waited").subList(0, 2)).containsExactly("0", "0");
        }
    }

    @Test
    void nothing_is_told_unless_it_was_said() {
        try (Wire wire = Wire.to(FAILS_ONCE)) {
            calls(wire, client -> client);

            assertThat(lines(wire, "X-Attempt")).containsOnly("mine");
            assertThat(lines(wire, "X-Waited")).containsOnly("null");
        }
    }

    private Mono<String> through(FakeProxy proxy, RateLimitedServer server) {
        HttpClient client = HttpClient.newConnection()
                .proxy(spec -> spec.type(ProxyProvider.Proxy.HTTP)
                        .host(proxy.host())
                        .port(proxy.port())
                        .nonProxyHostsPredicate(host -> false)
                        .username("user")
                        .password(user -> "hush"));
        return answer(
                RateLimitedHttpClient.of(client, api.calls().retry(QUICK)).get().uri(server.baseUrl() + "/x"));
    }

    @Test
    void a_proxy_that_refuses_or_fails_or_is_not_there_is_named_without_its_login() {
        try (RateLimitedServer server = ServiceRules.create().start()) {
            FakeProxy gone = FakeProxy.http().start();
            String refusing;
            String failing;
            try (FakeProxy proxy = FakeProxy.http().rejectLogins().start()) {
                failure(through(proxy, server));
                refusing = proxy.host() + ":" + proxy.port();
            }
            try (FakeProxy proxy = FakeProxy.http().script(Reply.status(502)).start()) {
                through(proxy, server).block(Wire.PATIENCE);
                failing = proxy.host() + ":" + proxy.port();
            }
            String closed = gone.host() + ":" + gone.port();
            gone.close();
            failure(through(gone, server));

            assertThat(proxies)
                    .containsExactly("1 " + refusing, "1 " + failing, "1 " + closed, "2 " + closed, "3 " + closed);
        }
    }

    @Test
    void a_server_that_is_not_there_is_no_failure_of_the_proxy() {
        RateLimitedServer gone = ServiceRules.create().start();
        gone.dispose();
        HttpClient client = HttpClient.newConnection();
        failure(answer(
                RateLimitedHttpClient.of(client, api.calls().retry(QUICK)).get().uri(gone.baseUrl() + "/x")));
        assertThat(proxies).isEmpty();
    }
}
