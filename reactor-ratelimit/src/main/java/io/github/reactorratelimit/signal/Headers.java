package io.github.reactorratelimit.signal;

import java.util.Map;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * A read-only walk over the header lines of one response, in their order, each line by itself.
 *
 * <p>Adapters implement it over their client's own header type, so that nothing is copied. Names may come in any case.
 * An implementation is used on the thread that reads the response and is not kept.
 */
@FunctionalInterface
public interface Headers {

    /**
     * Calls {@code line} once per header line with the name and the value as they came.
     *
     * @param line receives name and value
     */
    void forEach(BiConsumer<? super String, ? super String> line);

    /**
     * The first line of a name.
     *
     * @param name the header's name in any case
     * @return its value without the blanks around it, or null if there is no such line
     */
    default @Nullable String first(String name) {
        @Nullable String[] found = new @Nullable String[1];
        forEach((each, value) -> {
            if (found[0] == null && HeaderName.same(each, name)) {
                found[0] = value.trim();
            }
        });
        return found[0];
    }

    /**
     * The lines of a map from names to values.
     *
     * @param lines names and values, walked in the map's order
     * @return a view of the map
     */
    static Headers of(Map<String, String> lines) {
        return lines::forEach;
    }

    /**
     * Header lines given as name, value, name, value.
     *
     * @param namesAndValues an even number of strings
     * @return the lines in the given order
     * @throws IllegalArgumentException if a value is missing
     */
    static Headers of(String... namesAndValues) {
        if (namesAndValues.length % 2 != 0) {
            throw new IllegalArgumentException(
                    "headers must come as name and value, the last name was without: " + namesAndValues.length);
        }
        String[] copy = namesAndValues.clone();
        return line -> {
            for (int i = 0; i < copy.length; i += 2) {
                line.accept(copy[i], copy[i + 1]);
            }
        };
    }
}
