package io.github.reactorratelimit.spring;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Failure;
import io.github.reactorratelimit.FailureReader;
import io.github.reactorratelimit.netty.RateLimitedHttpClient;
import java.io.EOFException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.SocketException;
import java.net.URI;
import java.net.UnknownHostException;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpTimeoutException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.UnresolvedAddressException;
import java.util.List;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLHandshakeException;
import org.junit.jupiter.api.Test;

/** The exceptions that all clients share mean the same whichever of them it is. */
class SpringFailuresTest {

    private static final URI URL = URI.create("http://api.example.com/x");

    private static List<Throwable> everybodys() {
        return List.of(
                new ConnectException("Connection refused"),
                new NoRouteToHostException(),
                new BindException(),
                new UnknownHostException("nobody.invalid"),
                new UnresolvedAddressException(),
                new SSLHandshakeException("PKIX path building failed"),
                new SSLHandshakeException("Connection closed while SSL/TLS handshake was in progress"),
                new SSLHandshakeException("Remote host terminated the handshake"),
                new SSLException("bad record"),
                new SocketException("Connection reset"),
                new ClosedChannelException(),
                new EOFException("SSL peer shut down incorrectly"),
                new IOException("Connection reset by peer"),
                new FileNotFoundException("mine"),
                new IllegalStateException("mine"));
    }

    @Test
    void both_tables_say_the_same_of_exceptions_that_both_know() {
        FailureReader netty = RateLimitedHttpClient.failures();
        assertThat(everybodys())
                .allSatisfy(error -> assertThat(SpringFailures.row(error)).isSameAs(netty.read(error)));
    }

    @Test
    void what_only_other_clients_throw_is_known_too() {
        assertThat(SpringFailures.row(new HttpConnectTimeoutException("late"))).isSameAs(Failure.notSent());
        assertThat(SpringFailures.row(new HttpTimeoutException("late"))).isSameAs(Failure.interrupted());
        assertThat(SpringFailures.row(new TimeoutException())).isSameAs(Failure.interrupted());
    }

    @Test
    void what_nobody_knows_is_not_tried_again_and_was_sent_only_if_writing_had_begun() {
        Throwable mine = new IllegalStateException("mine");
        assertThat(SpringFailures.meaning(mine, URL, false, false)).isSameAs(Failure.refused());
        assertThat(SpringFailures.meaning(mine, URL, true, false)).isSameAs(Failure.fatal());
    }
}
