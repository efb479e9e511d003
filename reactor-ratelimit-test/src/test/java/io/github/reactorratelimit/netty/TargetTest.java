package io.github.reactorratelimit.netty;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import reactor.netty.http.client.HttpClient;

class TargetTest {

    @ParameterizedTest
    @CsvSource({
        ",                           https://API.example.com/a/b?c=/d#e,       api.example.com, /a/b",
        ",                           https://example.com:8443/a,               example.com,     /a",
        ",                           https://example.com,                      example.com,     /",
        ",                           https://example.com?q=1,                  example.com,     /",
        ",                           example.com:80/a,                         example.com,     /a",
        ",                           https://user:pw@example.com/a@b,          example.com,     /a@b",
        ",                           http://[::1]:8080/a,                      [::1],           /a",
        ",                           http://[::1]/a,                           [::1],           /a",
        ",                           example.com/a?to=http://other.com/b,      example.com,     /a",
        ",                           example.com?to=http://other.com/b,        example.com,     /",
        ",                           https://example.com?to=http://other.com/, example.com,     /",
        "example.com,                /a?to=http://other.com/b,                 example.com,     /a",
        "https://example.com/v1,     /a?b,                                     example.com,     /v1/a",
        "https://example.com/v1/,    /a,                                       example.com,     /v1/a",
        "https://example.com,        https://other.com/a,                      other.com,       /a",
    })
    void host_and_path_are_read_as_the_client_will(String base, String uri, String host, String path) {
        HttpClient client = HttpClient.create();
        HttpClient based = base == null ? client : client.baseUrl(base);

        assertThat(Target.of(based.configuration(), uri)).isEqualTo(new Target(host, path));
    }

    @ParameterizedTest
    @CsvSource({",/a,/a", ",/a?next=https://other.com/b,/a", "/v1,/a,/v1/a"})
    void the_clients_own_address_is_the_host_of_a_path(String base, String uri, String path) {
        HttpClient client = HttpClient.create().host("Example.com").port(8080);
        HttpClient based = base == null ? client : client.baseUrl(base);

        assertThat(Target.of(based.configuration(), uri)).isEqualTo(new Target("example.com", path));
    }
}
