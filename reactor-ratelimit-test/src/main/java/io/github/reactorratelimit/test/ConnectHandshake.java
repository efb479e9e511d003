package io.github.reactorratelimit.test;

import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpVersion;
import org.jspecify.annotations.Nullable;

/** The proxy's side of HTTP CONNECT, until the tunnel stands or is refused. */
@SuppressWarnings("FutureReturnValueIgnored") // the listeners say what follows
final class ConnectHandshake extends SimpleChannelInboundHandler<HttpObject> {

    private static final Reply LOGIN_WANTED =
            Reply.status(407).header("Proxy-Authenticate", "Basic realm=\"fake proxy\"");

    private final ProxyTraffic traffic;

    private ConnectHandshake(ProxyTraffic traffic) {
        this.traffic = traffic;
    }

    static void install(ChannelPipeline pipeline, ProxyTraffic traffic) {
        pipeline.addLast(new HttpServerCodec(), new ConnectHandshake(traffic));
    }

    @Override
    protected void channelRead0(ChannelHandlerContext context, HttpObject message) {
        if (!(message instanceof HttpRequest request)) {
            return;
        }
        Channel client = context.channel();
        if (!request.method().equals(HttpMethod.CONNECT)) {
            refuse(client, Reply.status(501));
            return;
        }
        traffic.countConnect();
        Reply refusal = refusal(request);
        if (refusal != null) {
            refuse(client, refusal);
            return;
        }
        int colon = request.uri().lastIndexOf(':');
        open(
                client,
                request.uri().substring(0, colon),
                Integer.parseInt(request.uri().substring(colon + 1)));
    }

    private @Nullable Reply refusal(HttpRequest request) {
        return traffic.rules().acceptsBasic(request.headers().get("Proxy-Authorization"))
                ? traffic.nextRefusal()
                : LOGIN_WANTED;
    }

    private void open(Channel client, String host, int port) {
        client.config().setAutoRead(false);
        traffic.reach(client, host, port).addListener((ChannelFutureListener) reached -> {
            if (!reached.isSuccess()) {
                refuse(client, Reply.status(502));
                return;
            }
            FullHttpResponse established = new DefaultFullHttpResponse(
                    HttpVersion.HTTP_1_1, new HttpResponseStatus(200, "Connection established"));
            client.writeAndFlush(established).addListener(written -> {
                if (traffic.join(client, reached.channel(), written.isSuccess())) {
                    client.pipeline().remove(ConnectHandshake.class);
                    client.pipeline().remove(HttpServerCodec.class);
                }
            });
        });
    }

    private static void refuse(Channel client, Reply reply) {
        switch (reply.delivery()) {
            case HANG -> {}
            case RESET -> Connections.reset(client);
            case CLOSE -> Connections.close(client);
            default -> client.writeAndFlush(response(reply)).addListener(ChannelFutureListener.CLOSE);
        }
    }

    private static FullHttpResponse response(Reply reply) {
        FullHttpResponse response = new DefaultFullHttpResponse(
                HttpVersion.HTTP_1_1,
                HttpResponseStatus.valueOf(reply.status()),
                Unpooled.wrappedBuffer(reply.bytes()));
        reply.headers().forEach((name, value) -> response.headers().add(name, value));
        response.headers().set("Content-Length", reply.bytes().length);
        return response;
    }
}
