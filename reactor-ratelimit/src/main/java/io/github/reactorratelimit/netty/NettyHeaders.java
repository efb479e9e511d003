package io.github.reactorratelimit.netty;

import io.github.reactorratelimit.signal.Headers;
import io.netty.handler.codec.http.HttpHeaders;
import java.util.Map;
import java.util.function.BiConsumer;

/** Netty's header lines, seen without copying. */
record NettyHeaders(HttpHeaders lines) implements Headers {

    @Override
    public void forEach(BiConsumer<? super String, ? super String> line) {
        for (Map.Entry<String, String> each : lines) {
            line.accept(each.getKey(), each.getValue());
        }
    }
}
