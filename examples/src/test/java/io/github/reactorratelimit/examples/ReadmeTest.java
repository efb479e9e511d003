package io.github.reactorratelimit.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * Every Java block of the README and of the docs is code of this module. A block may leave out what stands between its paragraphs:
 * each paragraph, but for white space and comments, occurs in one and the same source file, in that order.
 */
class ReadmeTest {

    private static final Path ROOT = Path.of("..");
    private static final Pattern BLOCK = Pattern.compile("^```(\\w*)\\n(.*?)^```$", Pattern.MULTILINE | Pattern.DOTALL);

    private record Block(String language, String text) {

        List<String> paragraphs() {
            return Stream.of(text.split("\\n\\s*\\n")).map(ReadmeTest::bare).toList();
        }

        String firstLine() {
            return text.lines().findFirst().orElse("");
        }
    }

    private static List<Block> blocks(Path document) throws IOException {
        return BLOCK.matcher(Files.readString(document))
                .results()
                .map(found -> new Block(found.group(1), found.group(2)))
                .toList();
    }

    private static List<Block> blocks() throws IOException {
        return blocks(ROOT.resolve("README.md"));
    }

    /** Those of the docs, in the order of their names, behind those of the README. */
    private static List<Block> blocksOfAll() throws IOException {
        List<Block> all = new ArrayList<>(blocks());
        try (Stream<Path> docs = Files.list(ROOT.resolve("docs"))) {
            for (Path document : docs.filter(path -> path.toString().endsWith(".md"))
                    .sorted()
                    .toList()) {
                all.addAll(blocks(document));
            }
        }
        return all;
    }

    private static List<String> sources() throws IOException {
        List<String> sources = new ArrayList<>();
        try (Stream<Path> files = Files.walk(Path.of("src"))) {
            for (Path file :
                    files.filter(path -> path.toString().endsWith(".java")).toList()) {
                sources.add(bare(Files.readString(file)));
            }
        }
        return sources;
    }

    private static String bare(String code) {
        return code.replaceAll("(?m)(^|\\s)//.*$", "").replaceAll("\\s+", "");
    }

    private static boolean holds(String source, List<String> paragraphs) {
        int from = 0;
        for (String paragraph : paragraphs) {
            int found = source.indexOf(paragraph, from);
            if (found < 0) {
                return false;
            }
            from = found + paragraph.length();
        }
        return true;
    }

    @TestFactory
    Stream<DynamicTest> a_java_block_of_the_readme_and_the_docs_is_code_of_this_module() throws IOException {
        List<String> sources = sources();
        List<Block> java = blocksOfAll().stream()
                .filter(block -> block.language().equals("java"))
                .toList();
        assertThat(java).isNotEmpty();
        return java.stream()
                .map(block -> DynamicTest.dynamicTest(
                        block.firstLine(),
                        () -> assertThat(sources).anyMatch(source -> holds(source, block.paragraphs()))));
    }

    @Test
    void the_first_command_is_the_main_job_and_the_second_is_what_the_ci_runs() throws IOException {
        List<String> commands = blocks().stream()
                .flatMap(block -> block.text().lines())
                .filter(line -> line.startsWith("mvn "))
                .toList();

        assertThat(commands).hasSizeGreaterThanOrEqualTo(2);
        assertThat(commands.get(0)).contains("-Pmain-job");
        assertThat(Files.readAllLines(ROOT.resolve(".ci/run"))).contains(commands.get(1));
    }

    @Test
    void the_table_has_a_row_for_every_scenario() throws IOException {
        String readme = Files.readString(ROOT.resolve("README.md"));

        assertThat(Scenarios.all())
                .allSatisfy(scenario -> assertThat(readme).contains("\n| `" + scenario.name() + "`"));
    }
}
