package io.github.reactorratelimit.examples;

import java.util.ArrayList;
import java.util.List;
import reactor.core.publisher.Flux;

/** The data lines of an event stream, whatever pieces it arrives in. */
final class ServerSentEvents {

    private static final String DATA = "data:";

    private ServerSentEvents() {}

    static Flux<String> data(Flux<String> pieces) {
        return Flux.defer(() -> {
            StringBuilder rest = new StringBuilder();
            return pieces.concatMapIterable(piece -> lines(rest, piece));
        });
    }

    private static List<String> lines(StringBuilder rest, String piece) {
        rest.append(piece);
        List<String> found = new ArrayList<>();
        int from = 0;
        for (int end = rest.indexOf("\n", from); end >= 0; end = rest.indexOf("\n", from)) {
            String line = rest.substring(from, end).strip();
            if (line.startsWith(DATA)) {
                found.add(line.substring(DATA.length()).strip());
            }
            from = end + 1;
        }
        rest.delete(0, from);
        return found;
    }
}
