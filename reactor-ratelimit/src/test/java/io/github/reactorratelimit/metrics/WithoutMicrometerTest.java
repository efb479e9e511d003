package io.github.reactorratelimit.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.RateLimiter;
import java.io.File;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Micrometer is an optional dependency. */
class WithoutMicrometerTest {

    private static final Pattern ENTRIES = Pattern.compile(File.pathSeparator, Pattern.LITERAL);

    /** What a user without Micrometer runs. */
    public static final class Program {

        /** Limits one call. */
        public static String run() {
            RateLimiter limiter = RateLimiter.of();
            return String.valueOf(reactor.core.publisher.Mono.just("done")
                    .transform(limiter.<String>limit())
                    .as(reactor.core.publisher.Mono::from)
                    .block());
        }
    }

    private static URL[] classPathWithoutMicrometer() throws Exception {
        List<URL> urls = new ArrayList<>();
        List<String> entries =
                ENTRIES.splitAsStream(System.getProperty("java.class.path")).toList();
        for (String entry : entries) {
            if (!entry.contains("micrometer") && !entry.contains("context-propagation")) {
                urls.add(new File(entry).toURI().toURL());
            }
        }
        return urls.toArray(URL[]::new);
    }

    @Test
    void a_limiter_works_without_it() throws Exception {
        try (URLClassLoader without =
                new URLClassLoader(classPathWithoutMicrometer(), ClassLoader.getPlatformClassLoader())) {
            assertThatThrownBy(() -> Class.forName("io.micrometer.core.instrument.MeterRegistry", false, without))
                    .isInstanceOf(ClassNotFoundException.class);
            Class<?> program = Class.forName(Program.class.getName(), true, without);
            assertThat(program).isNotEqualTo(Program.class);
            assertThat(program.getMethod("run").invoke(null)).isEqualTo("done");
        }
    }
}
