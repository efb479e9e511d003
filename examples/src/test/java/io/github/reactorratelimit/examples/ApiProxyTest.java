package io.github.reactorratelimit.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.test.FakeProxy;
import io.github.reactorratelimit.test.RateLimitedServer;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.NullSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.netty.http.client.HttpClient;
import reactor.test.StepVerifier;

class ApiProxyTest {

    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private final RateLimiter limiter = RateLimiter.of(Limit.of(10, Duration.ofSeconds(1)));

    @Test
    void calls_with_and_without_a_limiter_go_through_the_proxy_with_its_login() {
        try (RateLimitedServer server = Scenarios.service().start();
                FakeProxy proxy =
                        FakeProxy.http().credentials("anna", "p@ss:w+rd").start()) {
            String setting = "http://anna:p%40ss%3Aw+rd@" + proxy.host() + ":" + proxy.port();
            HttpApi api = new HttpApi(ApiProxy.apply(setting, HttpClient.newConnection()), server);

            StepVerifier.create(api.bare("/search", "a").concatWith(api.limited(limiter, "/search", "b")))
                    .expectNext(200, 200)
                    .expectComplete()
                    .verify(PATIENCE);

            assertThat(proxy.tunnels()).isEqualTo(2);
            assertThat(api.log().count("/search", "a")).isEqualTo(1);
            assertThat(api.log().count("/search", "b")).isEqualTo(1);
        }
    }

    @Test
    void a_refused_login_fails_at_once_and_does_not_tell_the_password() {
        try (RateLimitedServer server = Scenarios.service().start();
                FakeProxy proxy = FakeProxy.http().credentials("anna", "right").start()) {
            String setting = "http://anna:sesame@" + proxy.host() + ":" + proxy.port();
            HttpApi api = new HttpApi(ApiProxy.apply(setting, HttpClient.newConnection()), server);

            StepVerifier.create(api.limited(limiter, "/search", "a"))
                    .expectErrorSatisfies(error -> assertThat(error).asString().doesNotContain("sesame"))
                    .verify(PATIENCE);

            assertThat(proxy.connects()).isEqualTo(1);
            assertThat(server.log().count()).isZero();
        }
    }

    @ParameterizedTest
    @NullSource
    @ValueSource(strings = {"", "  "})
    void without_a_setting_the_client_stays_as_it_is(String setting) {
        HttpClient http = HttpClient.create();

        assertThat(ApiProxy.apply(setting, http)).isSameAs(http);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "http://anna:sesame@proxy",
                "anna:sesame@proxy:3128",
                "https://anna:sesame@proxy:3128",
                "http://anna:se same@proxy:3128",
                "http://anna:sesame%zz@proxy:3128"
            })
    void a_setting_that_is_no_proxy_is_refused_without_being_repeated(String setting) {
        assertThatThrownBy(() -> ApiProxy.apply(setting, HttpClient.create()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasNoCause()
                .hasMessageStartingWith("API_PROXY must be like http://user:password@host:port")
                .message()
                .doesNotContain("sesame", "anna");
    }
}
