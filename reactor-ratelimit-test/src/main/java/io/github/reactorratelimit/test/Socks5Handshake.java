package io.github.reactorratelimit.test;

import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.socksx.v5.DefaultSocks5CommandResponse;
import io.netty.handler.codec.socksx.v5.DefaultSocks5InitialResponse;
import io.netty.handler.codec.socksx.v5.DefaultSocks5PasswordAuthResponse;
import io.netty.handler.codec.socksx.v5.Socks5AddressType;
import io.netty.handler.codec.socksx.v5.Socks5AuthMethod;
import io.netty.handler.codec.socksx.v5.Socks5CommandRequest;
import io.netty.handler.codec.socksx.v5.Socks5CommandRequestDecoder;
import io.netty.handler.codec.socksx.v5.Socks5CommandResponse;
import io.netty.handler.codec.socksx.v5.Socks5CommandStatus;
import io.netty.handler.codec.socksx.v5.Socks5InitialRequest;
import io.netty.handler.codec.socksx.v5.Socks5InitialRequestDecoder;
import io.netty.handler.codec.socksx.v5.Socks5Message;
import io.netty.handler.codec.socksx.v5.Socks5PasswordAuthRequest;
import io.netty.handler.codec.socksx.v5.Socks5PasswordAuthRequestDecoder;
import io.netty.handler.codec.socksx.v5.Socks5PasswordAuthStatus;
import io.netty.handler.codec.socksx.v5.Socks5ServerEncoder;

/** The proxy's side of SOCKS5 (RFC 1928, 1929): greeting, login if asked for, command; then a tunnel or an end. */
@SuppressWarnings("FutureReturnValueIgnored") // the listeners say what follows
final class Socks5Handshake extends SimpleChannelInboundHandler<Socks5Message> {

    private static final String DECODER = "socks5-decoder";

    private final ProxyTraffic traffic;

    private Socks5Handshake(ProxyTraffic traffic) {
        this.traffic = traffic;
    }

    static void install(ChannelPipeline pipeline, ProxyTraffic traffic) {
        pipeline.addLast(Socks5ServerEncoder.DEFAULT)
                .addLast(DECODER, new Socks5InitialRequestDecoder())
                .addLast(new Socks5Handshake(traffic));
    }

    @Override
    protected void channelRead0(ChannelHandlerContext context, Socks5Message message) {
        Channel client = context.channel();
        if (message instanceof Socks5InitialRequest greeting) {
            greet(client, greeting);
        } else if (message instanceof Socks5PasswordAuthRequest login) {
            login(client, login);
        } else if (message instanceof Socks5CommandRequest command) {
            traffic.countConnect();
            command(client, command);
        }
    }

    private void greet(Channel client, Socks5InitialRequest greeting) {
        boolean login = traffic.rules().asksForLogin();
        Socks5AuthMethod wanted = login ? Socks5AuthMethod.PASSWORD : Socks5AuthMethod.NO_AUTH;
        if (!greeting.authMethods().contains(wanted)) {
            traffic.countConnect();
            end(client, new DefaultSocks5InitialResponse(Socks5AuthMethod.UNACCEPTED));
            return;
        }
        expect(client, login ? new Socks5PasswordAuthRequestDecoder() : new Socks5CommandRequestDecoder());
        client.writeAndFlush(new DefaultSocks5InitialResponse(wanted));
    }

    private void login(Channel client, Socks5PasswordAuthRequest login) {
        if (!traffic.rules().accepts(login.username(), login.password())) {
            traffic.countConnect();
            end(client, new DefaultSocks5PasswordAuthResponse(Socks5PasswordAuthStatus.FAILURE));
            return;
        }
        expect(client, new Socks5CommandRequestDecoder());
        client.writeAndFlush(new DefaultSocks5PasswordAuthResponse(Socks5PasswordAuthStatus.SUCCESS));
    }

    private void command(Channel client, Socks5CommandRequest command) {
        Reply refusal = traffic.nextRefusal();
        if (refusal == null) {
            open(client, command);
            return;
        }
        switch (refusal.delivery()) {
            case HANG -> {}
            case RESET -> Connections.reset(client);
            case CLOSE -> Connections.close(client);
            default -> end(client, answer(Socks5CommandStatus.FAILURE));
        }
    }

    private void open(Channel client, Socks5CommandRequest command) {
        client.config().setAutoRead(false);
        traffic.reach(client, command.dstAddr(), command.dstPort()).addListener((ChannelFutureListener) reached -> {
            if (!reached.isSuccess()) {
                end(client, answer(Socks5CommandStatus.CONNECTION_REFUSED));
                return;
            }
            client.writeAndFlush(answer(Socks5CommandStatus.SUCCESS)).addListener(written -> {
                if (traffic.join(client, reached.channel(), written.isSuccess())) {
                    client.pipeline().remove(Socks5Handshake.class);
                    client.pipeline().remove(DECODER);
                    client.pipeline().remove(Socks5ServerEncoder.class);
                }
            });
        });
    }

    private static Socks5CommandResponse answer(Socks5CommandStatus status) {
        return new DefaultSocks5CommandResponse(status, Socks5AddressType.IPv4);
    }

    private static void expect(Channel client, ChannelHandler decoder) {
        client.pipeline().replace(DECODER, DECODER, decoder);
    }

    private static void end(Channel client, Socks5Message last) {
        client.writeAndFlush(last).addListener(ChannelFutureListener.CLOSE);
    }
}
