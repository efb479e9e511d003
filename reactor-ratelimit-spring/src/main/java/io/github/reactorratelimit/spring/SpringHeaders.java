package io.github.reactorratelimit.spring;

import io.github.reactorratelimit.signal.Headers;
import java.util.function.BiConsumer;
import org.springframework.http.HttpHeaders;

/** Spring's header lines, seen without copying. */
record SpringHeaders(HttpHeaders lines) implements Headers {

    @Override
    public void forEach(BiConsumer<? super String, ? super String> line) {
        lines.forEach((name, values) -> values.forEach(value -> line.accept(name, value)));
    }
}
