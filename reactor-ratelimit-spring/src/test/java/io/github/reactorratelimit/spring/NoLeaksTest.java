package io.github.reactorratelimit.spring;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBufAllocator;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class NoLeaksTest {

    @Test
    void a_forgotten_buffer_is_found() {
        NoLeaks leaks = new NoLeaks();
        leaks.listen();
        forget();
        assertThat(leaks.stopListening()).isNotEmpty();
    }

    @Test
    void a_released_buffer_is_none() {
        NoLeaks leaks = new NoLeaks();
        leaks.listen();
        ByteBufAllocator.DEFAULT.directBuffer(64).release();
        assertThat(leaks.stopListening()).isEmpty();
    }

    @Test
    void the_tests_of_both_adapters_look_in_the_same_way() throws IOException {
        String here = "src/test/java/io/github/reactorratelimit/spring/NoLeaks.java";
        String there = "../reactor-ratelimit-test/src/test/java/io/github/reactorratelimit/netty/NoLeaks.java";
        assertThat(Files.readString(Path.of(there)).replaceFirst("^package .*", ""))
                .isEqualTo(Files.readString(Path.of(here)).replaceFirst("^package .*", ""));
    }

    @SuppressWarnings("CheckReturnValue") // forgotten on purpose
    private static void forget() {
        ByteBufAllocator.DEFAULT.directBuffer(64).writeByte(1);
    }
}
