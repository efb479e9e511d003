package io.github.reactorratelimit.examples;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import reactor.core.publisher.Flux;

/** The data lines of an event stream, whatever pieces it arrives in, even of a character. */
final class ServerSentEvents {

    private static final String DATA = "data:";

    private ServerSentEvents() {}

    static Flux<String> data(Flux<byte[]> pieces) {
        return Flux.defer(() -> {
            ByteArrayOutputStream rest = new ByteArrayOutputStream();
            return pieces.concatMapIterable(piece -> lines(rest, piece));
        });
    }

    private static List<String> lines(ByteArrayOutputStream rest, byte[] piece) {
        List<String> found = new ArrayList<>();
        for (byte next : piece) {
            if (next != '\n') {
                rest.write(next);
                continue;
            }
            String line = rest.toString(StandardCharsets.UTF_8).strip();
            rest.reset();
            if (line.startsWith(DATA)) {
                found.add(line.substring(DATA.length()).strip());
            }
        }
        return found;
    }
}
