package io.github.reactorratelimit.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is typed: the name of a dialect, and bytes in whatever a shell writes. */
class ExplainCommandTest {

    @ParameterizedTest
    @CsvSource({
        "standard, standard",
        "GitHub, GitHub",
        "microsoftGraph, Microsoft Graph",
        "microsoftgraphbatch, Microsoft Graph batches",
        "openai, OpenAI",
        "anthropic, Anthropic",
        "discord, Discord"
    })
    void a_dialect_is_known_by_its_name(String name, String dialect) {
        assertThat(Explain.dialect(name)).hasToString(dialect);
    }

    @Test
    void an_unknown_dialect_is_named() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Explain.dialect("klingon"))
                .withMessageEndingWith("was klingon");
    }

    private static String run(byte[] pasted, String... args) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        PrintStream printed = new PrintStream(out, true, StandardCharsets.UTF_8);
        int exit = Explain.run(args, new ByteArrayInputStream(pasted), printed, printed);
        return exit + " " + out.toString(StandardCharsets.UTF_8);
    }

    @Test
    void the_command_reads_what_any_shell_writes_and_names_the_dialects_instead_of_failing() throws IOException {
        String pasted = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 30\r\n";
        for (Charset charset : List.of(StandardCharsets.UTF_8, StandardCharsets.UTF_16LE, StandardCharsets.UTF_16BE)) {
            for (String mark : List.of("", "\uFEFF")) {
                assertThat(run((mark + pasted).getBytes(charset)))
                        .as(charset + mark)
                        .startsWith("0 ")
                        .contains("status   429, refused for a limit", "wait     30s");
            }
        }
        assertThat(run(new byte[0], "github")).startsWith("0 ").contains("none was given");
        assertThat(run(new byte[0], "klingon"))
                .startsWith("2 a dialect is one of standard, github,")
                .contains("was klingon")
                .doesNotContain("Exception");
    }
}
