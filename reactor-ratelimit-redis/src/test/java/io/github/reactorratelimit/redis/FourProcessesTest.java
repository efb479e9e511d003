package io.github.reactorratelimit.redis;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.api.sync.RedisCommands;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Four JVMs with 64 callers each on one key, for a minute: docs/redis.md has the command. What
 * was granted is what the server counted.
 */
@Tag("chaos")
class FourProcessesTest {

    private static final int SECONDS = 60;

    private record Worker(Process process, BufferedReader out) {

        static Worker start(String uri) throws IOException {
            Process process = new ProcessBuilder(
                            Path.of(System.getProperty("java.home"), "bin", "java")
                                    .toString(),
                            "-cp",
                            System.getProperty("java.class.path"),
                            OneOfFour.class.getName(),
                            uri,
                            Integer.toString(SECONDS))
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
            return new Worker(process, process.inputReader(StandardCharsets.UTF_8));
        }

        void go() throws IOException {
            process.getOutputStream().write('\n');
            process.getOutputStream().flush();
        }
    }

    @Test
    void what_four_processes_get_is_the_limit_exactly_and_each_gets_a_quarter() throws Exception {
        try (RealRedis server = new RealRedis()) {
            RedisCommands<String, String> redis = server.connection().sync();
            List<Worker> workers = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                workers.add(Worker.start(server.uri()));
            }
            for (Worker worker : workers) {
                assertThat(worker.out.readLine()).isEqualTo("ready");
            }
            long begun = micros(redis);
            for (Worker worker : workers) {
                worker.go();
            }
            List<Long> granted = new ArrayList<>();
            for (Worker worker : workers) {
                granted.add(Long.parseLong(requireNonNull(worker.out.readLine())));
            }
            long ended = micros(redis);
            long counted =
                    Long.parseLong(requireNonNull(redis.hget("reactor-ratelimit:1:{four}:scope", "total:requests")));
            long sum = granted.stream().mapToLong(Long::longValue).sum();
            System.out.println("four processes: " + granted + ", counted " + counted);
            assertThat(counted).isBetween(sum, sum + 4 * OneOfFour.CALLERS); // Some were granted when it was over.
            assertThat(counted)
                    .isLessThanOrEqualTo(OneOfFour.BURST + (ended - begun) * OneOfFour.PER_SECOND / 1_000_000);
            assertThat(counted).isGreaterThanOrEqualTo((OneOfFour.BURST + SECONDS * OneOfFour.PER_SECOND) * 99 / 100);
            assertThat(granted)
                    .allSatisfy(each -> assertThat(each * 100.0 / sum).isBetween(23.0, 27.0));
        }
    }

    private static long micros(RedisCommands<String, String> redis) {
        List<String> time = redis.time();
        return Long.parseLong(time.get(0)) * 1_000_000 + Long.parseLong(time.get(1));
    }
}
