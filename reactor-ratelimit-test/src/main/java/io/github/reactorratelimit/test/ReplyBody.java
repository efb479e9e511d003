package io.github.reactorratelimit.test;

import java.io.EOFException;
import java.net.SocketException;
import java.time.Duration;
import java.util.Arrays;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;

/** The body of a reply as its pieces come: at once, slowly, without end, or cut off by an error. */
final class ReplyBody {

    private static final Duration BETWEEN_ENDLESS = Duration.ofMillis(1);

    private ReplyBody() {}

    static Flux<byte[]> pieces(Reply reply, Scheduler scheduler) {
        return switch (reply.delivery()) {
            case ENDLESS ->
                Flux.interval(BETWEEN_ENDLESS, scheduler).onBackpressureDrop().map(tick -> reply.bytes());
            case RESET_AFTER_HEAD, CLOSE_AFTER_HEAD ->
                Flux.concat(Flux.just(Arrays.copyOf(reply.bytes(), reply.bytes().length / 2)), Flux.error(cut(reply)));
            default -> whole(reply, scheduler);
        };
    }

    /** What a client without a response sees. */
    static Exception cut(Reply reply) {
        return switch (reply.delivery()) {
            case RESET, RESET_AFTER_HEAD -> new SocketException("Connection reset");
            default -> new EOFException("Connection closed before the response was complete");
        };
    }

    private static Flux<byte[]> whole(Reply reply, Scheduler scheduler) {
        return reply.pace()
                .of(reply.bytes())
                .concatMap(piece -> pause(piece.pause(), scheduler).thenReturn(piece.bytes()), 1)
                .filter(bytes -> bytes.length > 0);
    }

    static Mono<Void> pause(Duration duration, Scheduler scheduler) {
        return duration.isZero()
                ? Mono.empty()
                : Mono.delay(duration, scheduler).then();
    }
}
