package io.github.reactorratelimit.spring;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.URI;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Whether a connect failed on the way to a proxy or to the server itself. */
class DetourTest {

    @ParameterizedTest
    @CsvSource({
        "http://api.example/x,        proxy.example/10.0.0.1:3128, proxy.example:3128",
        "http://api.example/x,        /10.0.0.1:3128,              10.0.0.1:3128",
        "http://api.example/x,        /10.0.0.1:80,                10.0.0.1:80",
        "http://10.0.0.2/x,           /10.0.0.1:80,                10.0.0.1:80",
        "https://api.example/x,       proxy.example/10.0.0.1:443,  proxy.example:443",
        "https://api.example:444/x,   api.example/10.0.0.1:443,    api.example:443",
        "http://api.example/x,        /[0:0:0:0:0:0:0:1]:3128,     [0:0:0:0:0:0:0:1]:3128",
        "http://api.example/x,        api.example/10.0.0.1:80,     ",
        "https://API.example/x,       api.example/10.0.0.1:443,    ",
        "http://my_service:8080/x,    my_service/10.0.0.1:8080,    ",
        "http://10.0.0.1:8080/x,      /10.0.0.1:8080,              ",
        "http://[::1]:8080/x,         /[0:0:0:0:0:0:0:1]:8080,     ",
        "/x,                          base.example/10.0.0.1:80,    "
    })
    void it_is_told_by_the_address_in_the_clients_exception(URI url, String address, String proxy) {
        Throwable refused =
                new ConnectException("finishConnect(..) failed with error(-111): Connection refused: " + address);
        assertThat(Detour.of(refused, url)).isEqualTo(proxy);
        assertThat(Detour.of(new IOException(new NoRouteToHostException("No route to host: " + address)), url))
                .isEqualTo(proxy);
    }

    @Test
    void it_is_not_guessed_where_nobody_says_whom_the_connect_was_to() {
        URI url = URI.create("http://api.example/x");
        assertThat(Detour.of(new ConnectException(), url)).isNull();
        assertThat(Detour.of(new ConnectException("Connection refused"), url)).isNull();
        assertThat(Detour.of(new IOException("reset: proxy.example/10.0.0.1:3128"), url))
                .isNull();
    }
}
