package io.github.reactorratelimit.test;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.github.reactorratelimit.signal.Headers;
import java.io.ByteArrayOutputStream;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;

/** The head of an answer of a {@link SimulatedService}, with a body that is still to be read. */
public final class SimulatedResponse {

    private final Reply reply;
    private final Scheduler scheduler;

    SimulatedResponse(Reply reply, Scheduler scheduler) {
        this.reply = reply;
        this.scheduler = scheduler;
    }

    /**
     * The status.
     *
     * @return 200 to 599
     */
    public int status() {
        return reply.status();
    }

    /**
     * The header lines, in the order in which they were written.
     *
     * @return the lines
     */
    public Headers headers() {
        return reply.headers();
    }

    /**
     * The first line of a name.
     *
     * @param name the name in any case
     * @return its value, or null if there is none
     */
    public @Nullable String header(String name) {
        return reply.header(name);
    }

    /**
     * The body as its pieces come, on the thread of the service's scheduler where the reply is slow. A body that is cut
     * off fails with {@link java.net.SocketException} when the connection is reset and with {@link
     * java.io.EOFException} when it is closed.
     *
     * @return the pieces; each subscription reads the body from its start
     */
    public Flux<byte[]> body() {
        return ReplyBody.pieces(reply, scheduler);
    }

    /**
     * The whole body as text; fails as {@link #body()} does and never completes for an endless one.
     *
     * @return the body, empty text if there is none
     */
    public Mono<String> bodyAsString() {
        return body().collect(ByteArrayOutputStream::new, ByteArrayOutputStream::writeBytes)
                .map(bytes -> bytes.toString(UTF_8));
    }

    @Override
    public String toString() {
        return reply.toString();
    }
}
