package io.github.reactorratelimit.test;

import io.github.reactorratelimit.signal.Headers;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;

/** Header lines in the order they were added; immutable, names compare without regard to case. */
final class HeaderLines implements Headers {

    static final HeaderLines NONE = new HeaderLines(List.of());

    private record Line(String name, String value) {

        @Override
        public String toString() {
            return name + ": " + value;
        }
    }

    private final List<Line> lines;

    private HeaderLines(List<Line> lines) {
        this.lines = lines;
    }

    HeaderLines with(String name, String value) {
        List<Line> more = new ArrayList<>(lines);
        more.add(new Line(name, value));
        return new HeaderLines(List.copyOf(more));
    }

    /** What the author of a reply wrote himself is what a test is about, so it is never overwritten. */
    HeaderLines withIfAbsent(String name, String value) {
        return first(name) == null ? with(name, value) : this;
    }

    @Override
    public void forEach(BiConsumer<? super String, ? super String> line) {
        lines.forEach(each -> line.accept(each.name, each.value));
    }

    @Override
    public String toString() {
        return lines.toString();
    }
}
