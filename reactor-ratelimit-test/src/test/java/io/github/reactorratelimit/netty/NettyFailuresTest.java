package io.github.reactorratelimit.netty;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Failure;
import io.github.reactorratelimit.test.RateLimitedServer;
import io.github.reactorratelimit.test.Reply;
import io.netty.channel.ConnectTimeoutException;
import io.netty.handler.codec.DecoderException;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.proxy.ProxyConnectException;
import io.netty.handler.timeout.ReadTimeoutException;
import java.io.EOFException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.nio.channels.ClosedChannelException;
import java.time.Duration;
import java.util.List;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLHandshakeException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.netty.channel.AbortedException;
import reactor.netty.http.client.HttpClient;
import reactor.netty.http.client.PrematureCloseException;
import reactor.netty.resources.ConnectionProvider;

/** The table, row by row: what it means by itself, and before the request was begun. */
class NettyFailuresTest {

    private static final String PROXY = "http, basic, /127.0.0.1:3128 => example.com:443, ";

    private record Row(
            Throwable error,
            @Nullable Failure alone,
            @Nullable Failure before,
            @Nullable Failure since) {}

    private static Row row(Throwable error, Failure before, Failure since) {
        return new Row(error, since, before, since);
    }

    private static Row same(Throwable error, Failure always) {
        return row(error, always, always);
    }

    private static Row unknown(Throwable error) {
        return new Row(error, null, null, null);
    }

    private static List<Row> table() {
        Failure notSent = Failure.notSent();
        Failure interrupted = Failure.interrupted();
        Failure refused = Failure.refused();
        return List.of(
                same(new ConnectException("Connection refused"), notSent),
                same(new ConnectTimeoutException("connection timed out"), notSent),
                same(new UnknownHostException("nobody.invalid"), notSent),
                same(AbortedException.beforeSend(), notSent),
                same(Http2Exception.streamError(3, Http2Error.REFUSED_STREAM, "refused"), notSent),
                row(new AbortedException("closed"), notSent, interrupted),
                row(Http2Exception.connectionError(Http2Error.INTERNAL_ERROR, "broken"), notSent, interrupted),
                row(PrematureCloseException.TEST_EXCEPTION, notSent, interrupted),
                row(ReadTimeoutException.INSTANCE, notSent, interrupted),
                row(new SocketException("Connection reset"), notSent, interrupted),
                row(new IOException("Connection reset by peer"), notSent, interrupted),
                row(new ClosedChannelException(), notSent, interrupted),
                row(new SSLException("bad record"), notSent, interrupted),
                row(new DecoderException(new SSLException("bad record")), notSent, interrupted),
                row(new SSLHandshakeException("PKIX path building failed"), refused, Failure.fatal()),
                same(new SSLHandshakeException("Connection closed while SSL/TLS handshake was in progress"), notSent),
                same(new SSLHandshakeException("Remote host terminated the handshake"), notSent),
                row(new EOFException("SSL peer shut down incorrectly"), notSent, interrupted),
                same(new ProxyConnectException(PROXY + "status: 407 Proxy Authentication Required"), refused),
                same(new SSLException(new ProxyConnectException(PROXY + "status: 407 Who")), refused),
                same(new ProxyConnectException(PROXY + "status: 403 Forbidden"), refused),
                same(new ProxyConnectException(PROXY + "status: 502 Bad Gateway"), notSent),
                same(new ProxyConnectException(PROXY + "status: 503 Busy"), notSent),
                same(new ProxyConnectException(PROXY + "status: 504 Late"), notSent),
                same(new ProxyConnectException(PROXY + "timeout"), notSent),
                same(new ProxyConnectException("socks5, password, /h:1 => x:2, authStatus: FAILURE"), refused),
                same(new ProxyConnectException("socks5, password, /h:1 => x:2, unexpected authMethod: 255"), refused),
                same(new ProxyConnectException("socks5, password, /h:1 => x:2, status: HOST_UNREACHABLE"), notSent),
                same(new ProxyConnectException("socks5, password, /h:1 => x:2, status: FORBIDDEN"), refused),
                unknown(new UncheckedIOException(new FileNotFoundException("mine"))),
                unknown(new IllegalStateException("mine")));
    }

    @Test
    void every_failure_means_what_the_table_says() {
        for (Row row : table()) {
            assertMeaning("alone", row.error, NettyFailures.INSTANCE.read(row.error), row.alone);
            assertMeaning("before", row.error, NettyFailures.meaning(row.error, false, false), row.before);
            assertMeaning("since", row.error, NettyFailures.meaning(row.error, true, false), row.since);
        }
    }

    private static void assertMeaning(
            String when, Throwable error, @Nullable Failure meaning, @Nullable Failure expected) {
        assertThat(meaning)
                .as("%s: %s", when, error)
                .usingRecursiveComparison()
                .ignoringFields("proxy")
                .isEqualTo(expected);
    }

    @Test
    void a_connection_that_closes_behind_a_refused_stream_has_not_acted() {
        assertThat(NettyFailures.meaning(PrematureCloseException.TEST_EXCEPTION, true, true))
                .isSameAs(Failure.notSent());
        assertThat(NettyFailures.meaning(new IllegalStateException(), true, true))
                .isNull();
    }

    @Test
    void causes_in_a_circle_end() {
        Exception one = new Exception();
        Exception two = new Exception(one);
        one.initCause(two);
        assertThat(NettyFailures.INSTANCE.read(one)).isNull();
        assertThat(NettyFailures.named(one)).isSameAs(one);
    }

    @Test
    void the_pool_says_that_nothing_was_sent() {
        assertThat(List.of(poolFailure(1, 50), poolFailure(0, 60_000)))
                .satisfiesExactly(
                        late -> assertThat(late.getClass().getSimpleName()).isEqualTo("PoolAcquireTimeoutException"),
                        full -> assertThat(full.getClass().getSimpleName())
                                .isEqualTo("PoolAcquirePendingLimitException"))
                .allSatisfy(failure ->
                        assertThat(NettyFailures.INSTANCE.read(failure)).isSameAs(Failure.notSent()));
    }

    /** What a second call meets while the only connection is held by a first. */
    private static Throwable poolFailure(int pending, long acquireMillis) {
        ConnectionProvider pool = ConnectionProvider.builder("full")
                .maxConnections(1)
                .pendingAcquireMaxCount(pending)
                .pendingAcquireTimeout(Duration.ofMillis(acquireMillis))
                .build();
        try (RateLimitedServer server =
                RateLimitedServer.create().reply("/x", Reply.hang()).start()) {
            HttpClient client = HttpClient.create(pool).baseUrl(server.baseUrl());
            Disposable first = client.get().uri("/x").response().subscribe(response -> {}, ended -> {});
            Wire.await(() -> server.log().count() == 1);
            Throwable failure = Wire.failure(Flux.from(client.get().uri("/x").response()));
            first.dispose();
            return failure;
        } finally {
            pool.dispose();
        }
    }
}
