package io.github.reactorratelimit.spring;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBufAllocator;
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

    @SuppressWarnings("CheckReturnValue") // forgotten on purpose
    private static void forget() {
        ByteBufAllocator.DEFAULT.directBuffer(64).writeByte(1);
    }
}
