package io.github.reactorratelimit.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Timed;

class MicrosoftGraphMatrixTest {

    private static long before(Duration end, List<? extends Timed<?>> calls) {
        return calls.stream()
                .filter(call -> call.elapsedSinceSubscription().compareTo(end) < 0)
                .count();
    }

    @Test
    void a_migration_uses_half_of_a_users_minute() {
        MicrosoftGraphMatrix graph = new MicrosoftGraphMatrix();
        Flux<String> pages = Flux.range(1, 61).flatMap(n -> graph.migrated("page " + n, "anna"));

        Virtually.run(() -> pages.timed(), Duration.ofHours(1), done -> {
            assertThat(done).hasSize(61);
            assertThat(before(Duration.ofMinutes(1), done)).isEqualTo(60);
        });
    }

    @Test
    void the_lane_may_also_come_through_the_context() {
        MicrosoftGraphMatrix graph = new MicrosoftGraphMatrix();
        Flux<String> pages = Flux.range(1, 61).flatMap(n -> graph.readInBackground("page " + n, "anna"));

        Virtually.run(
                () -> pages.timed(),
                Duration.ofHours(1),
                done -> assertThat(before(Duration.ofMinutes(1), done)).isEqualTo(60));
    }

    @Test
    void people_find_room_while_a_migration_waits() {
        MicrosoftGraphMatrix graph = new MicrosoftGraphMatrix();
        Virtually.run(
                () -> Flux.merge(
                                Flux.range(1, 200).flatMap(n -> graph.migrated("page " + n, "anna")),
                                Flux.range(1, 40)
                                        .delaySubscription(Duration.ofSeconds(10))
                                        .flatMap(n -> graph.read("mail " + n, "anna")))
                        .timed()
                        .filter(call -> call.get().startsWith("mail")),
                Duration.ofHours(1),
                mails -> {
                    assertThat(mails).hasSize(40);
                    assertThat(before(Duration.ofSeconds(12), mails)).isEqualTo(40);
                });
    }
}
