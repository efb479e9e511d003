package io.github.reactorratelimit.signal;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class BodyReaderTest {

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    @Test
    void leaves_come_with_their_paths_and_objects_with_their_ends() {
        List<String> seen = new ArrayList<>();
        boolean whole = BodyReader.present()
                .walk(bytes("{\"a\":{\"b\":1,\"c\":[{\"d\":\"x\"},2,null,true]}}"), 0, new BodyReader.Leaves() {
                    @Override
                    public void leaf(String path, String text) {
                        seen.add(path + "=" + text);
                    }

                    @Override
                    public void end(String path) {
                        seen.add("end " + path);
                    }
                });

        assertThat(whole).isTrue();
        assertThat(seen).containsExactly("a.b=1", "a.c[].d=x", "end a.c[]", "a.c[]=2", "a.c[]=true", "end a", "end ");
    }

    @Test
    void a_body_is_whole_only_up_to_its_last_byte() {
        for (String broken :
                List.of("", "{", "{\"a\":1", "{\"a\":1}}", "[1,", "[1 2]", "{\"a\":NaN}", "<html>", "tru")) {
            assertThat(BodyReader.present().walk(bytes(broken), 0, (path, text) -> {}))
                    .as(broken)
                    .isFalse();
        }
    }

    @Test
    void what_is_too_deep_is_stepped_over() {
        String fits = "[".repeat(BodyReader.MOST_DEPTH) + "1" + "]".repeat(BodyReader.MOST_DEPTH);
        String deep = "[" + fits + "]";

        List<String> seen = new ArrayList<>();
        assertThat(BodyReader.present().walk(bytes(fits), 0, (path, text) -> seen.add(text)))
                .isTrue();
        assertThat(seen).containsExactly("1");
        assertThat(BodyReader.present().walk(bytes("[" + deep + ",2]"), 0, (path, text) -> seen.add(text)))
                .isTrue();
        assertThat(seen).containsExactly("1", "2");
        assertThat(BodyReader.present().walk(bytes(deep.substring(0, 50)), 0, (path, text) -> {}))
                .isFalse();
    }

    @Test
    void without_jackson_a_body_is_unreadable_and_nothing_fails() {
        BodyReader absent = BodyReader.Present.find("com.example.NoSuchParser");

        assertThat(absent.walk(bytes("{}"), 0, (path, text) -> {})).isFalse();
    }

    @Test
    void numbers_with_exponents_move_the_point_and_saturate() {
        assertThat(BodyText.seconds("6.457e1")).isEqualTo(Duration.ofMillis(64_570));
        assertThat(BodyText.seconds("645.7E-1")).isEqualTo(Duration.ofMillis(64_570));
        assertThat(BodyText.seconds("0e5")).isEqualTo(Duration.ZERO);
        assertThat(BodyText.seconds("1e-1000000000")).isEqualTo(Duration.ofNanos(1));
        assertThat(BodyText.seconds("1e1000000000")).isEqualTo(Duration.ofSeconds(Long.MAX_VALUE));
        assertThat(BodyText.seconds("-1")).isNull();
        assertThat(BodyText.seconds("1e")).isNull();
        assertThat(BodyText.seconds("e1")).isNull();
        assertThat(BodyText.seconds("1e+-5")).isNull();
        assertThat(BodyText.count("7.9")).isEqualTo(7);
        assertThat(BodyText.share("0.9")).isEqualTo(0.9);
        assertThat(BodyText.share("x")).isNaN();
    }

    @Test
    void a_duration_is_found_behind_its_phrase() {
        assertThat(BodyText.durationBehind("Please Try Again In 6m0s. Bye", "try again in "))
                .isEqualTo(Duration.ofMinutes(6));
        assertThat(BodyText.durationBehind("try again in 1.5s.", "try again in "))
                .isEqualTo(Duration.ofMillis(1500));
        assertThat(BodyText.durationBehind("try again in a while", "try again in "))
                .isNull();
        assertThat(BodyText.durationBehind("try again", "try again in ")).isNull();
    }
}
