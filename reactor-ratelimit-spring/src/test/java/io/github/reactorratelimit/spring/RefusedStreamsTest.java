package io.github.reactorratelimit.spring;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RateLimitException;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http2.DefaultHttp2ResetFrame;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2FrameCodec;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.http.client.reactive.ClientHttpConnector;
import org.springframework.http.client.reactive.JdkClientHttpConnector;
import org.springframework.http.client.reactive.ReactorClientHttpConnector;
import org.springframework.web.reactive.function.client.WebClient;
import reactor.core.publisher.Mono;
import reactor.netty.DisposableServer;
import reactor.netty.http.HttpProtocol;
import reactor.netty.http.client.HttpClient;
import reactor.netty.http.server.HttpServer;
import reactor.netty.resources.ConnectionProvider;

/** HTTP/2 servers that turn a stream down, as seen through a WebClient. */
@ExtendWith(NoLeaks.class)
@SuppressWarnings("FutureReturnValueIgnored") // the client tells what became of it
class RefusedStreamsTest {

    private final AtomicInteger requests = new AtomicInteger();
    private final ConnectionProvider pool = ConnectionProvider.create("h2", 2);
    private DisposableServer server = serve(stream -> {});

    /** A server that does this with the first request instead of answering it. */
    private DisposableServer serve(Consumer<Channel> first) {
        return HttpServer.create()
                .host("127.0.0.1")
                .port(0)
                .protocol(HttpProtocol.HTTP11, HttpProtocol.H2C)
                .handle((request, response) -> {
                    if (request.uri().equals("/upgrade")) {
                        return response.send();
                    }
                    if (requests.incrementAndGet() > 1) {
                        return response.sendString(Mono.just("there"));
                    }
                    request.withConnection(connection -> first.accept(connection.channel()));
                    return Mono.never();
                })
                .bindNow();
    }

    @AfterEach
    void stop() {
        pool.disposeLater().block(Wire.PATIENCE);
        server.disposeNow();
    }

    private Mono<String> post(Consumer<Channel> first) {
        return post(
                first,
                new ReactorClientHttpConnector(
                        HttpClient.create(pool).protocol(HttpProtocol.H2C).disableRetry(true)));
    }

    private Mono<String> post(Consumer<Channel> first, ClientHttpConnector connector) {
        server.disposeNow();
        server = serve(first);
        WebClient client = WebClient.builder()
                .baseUrl("http://127.0.0.1:" + server.port())
                .clientConnector(connector)
                .filter(RateLimitFilter.of(Wire.limiter().calls().retry(Wire.QUICK)))
                .build();
        return Wire.answer(client.get().uri("/upgrade"))
                .then(Wire.answer(client.post().uri("/x").bodyValue("order")));
    }

    /** One that begins with HTTP/1.1 and goes on with HTTP/2 once the server agrees. */
    private static ClientHttpConnector jdk() {
        return new JdkClientHttpConnector(java.net.http.HttpClient.newBuilder()
                .version(java.net.http.HttpClient.Version.HTTP_2)
                .build());
    }

    @Test
    void a_stream_that_is_refused_to_the_jdks_client_was_not_acted_on_either() {
        assertThat(post(stream -> stream.writeAndFlush(new DefaultHttp2ResetFrame(Http2Error.REFUSED_STREAM)), jdk())
                        .block(Wire.PATIENCE))
                .isEqualTo("200 there");
        assertThat(requests).hasValue(2);
    }

    @Test
    void one_that_is_reset_to_the_jdks_client_for_another_reason_may_have_been() {
        Throwable failure = Wire.failure(
                post(stream -> stream.writeAndFlush(new DefaultHttp2ResetFrame(Http2Error.INTERNAL_ERROR)), jdk()));
        assertThat(RateLimitException.mayHaveBeenSent(failure)).isTrue();
        assertThat(requests).hasValue(1);
    }

    @Test
    void a_stream_that_is_refused_was_not_acted_on_and_a_post_is_sent_again() {
        assertThat(post(stream -> stream.writeAndFlush(new DefaultHttp2ResetFrame(Http2Error.REFUSED_STREAM)))
                        .block(Wire.PATIENCE))
                .isEqualTo("200 there");
        assertThat(requests).hasValue(2);
    }

    @Test
    void a_stream_beyond_the_last_of_a_goaway_was_not_acted_on_either() {
        Mono<String> call = post(stream -> {
            Http2FrameCodec codec = stream.parent().pipeline().get(Http2FrameCodec.class);
            ChannelHandlerContext context = stream.parent().pipeline().context(codec);
            codec.encoder()
                    .frameWriter()
                    .writeGoAway(context, 1, Http2Error.NO_ERROR.code(), Unpooled.EMPTY_BUFFER, context.newPromise());
            context.flush();
        });
        assertThat(call.block(Wire.PATIENCE)).isEqualTo("200 there");
        assertThat(requests).hasValue(2);
    }

    @Test
    void a_stream_that_is_reset_for_another_reason_may_have_been_acted_on() {
        Throwable failure = Wire.failure(
                post(stream -> stream.writeAndFlush(new DefaultHttp2ResetFrame(Http2Error.INTERNAL_ERROR))));
        assertThat(RateLimitException.mayHaveBeenSent(failure)).isTrue();
        assertThat(requests).hasValue(1);
    }
}
