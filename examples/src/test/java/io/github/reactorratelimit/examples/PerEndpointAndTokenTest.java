package io.github.reactorratelimit.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Timed;

class PerEndpointAndTokenTest {

    private static final Duration AN_HOUR = Duration.ofHours(1);

    private static List<Long> seconds(List<? extends Timed<?>> calls) {
        return calls.stream()
                .map(call -> call.elapsedSinceSubscription().toSeconds())
                .toList();
    }

    @Test
    void every_token_has_five_searches_per_ten_seconds_of_its_own() {
        PerEndpointAndToken partner = new PerEndpointAndToken();
        Flux<String> calls = Flux.range(1, 6)
                .flatMap(n -> Flux.just("anna", "ben").flatMap(token -> partner.search(Mono.just(token), token)));

        Virtually.run(
                () -> calls.timed(),
                AN_HOUR,
                done -> assertThat(seconds(done)).containsExactly(0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 10L, 10L));
    }

    @Test
    void endpoints_do_not_wait_for_each_other() {
        PerEndpointAndToken partner = new PerEndpointAndToken();
        Flux<Integer> calls = Flux.merge(
                Flux.range(1, 6).flatMap(n -> partner.search(Mono.just(n), "anna")),
                Flux.range(1, 20).flatMap(n -> partner.call(Mono.just(n), "/items", "anna")));

        Virtually.run(
                () -> calls.timed(),
                AN_HOUR,
                done -> assertThat(seconds(done))
                        .hasSize(26)
                        .containsOnlyOnce(10L)
                        .containsOnly(0L, 10L));
    }

    @Test
    void other_endpoints_get_sixty_per_minute_less_a_fifth() {
        PerEndpointAndToken partner = new PerEndpointAndToken();
        Flux<Integer> calls = Flux.range(1, 49).flatMap(n -> partner.call(Mono.just(n), "/other", "anna"));

        Virtually.run(() -> calls.timed(), AN_HOUR, done -> {
            assertThat(seconds(done).subList(0, 48)).containsOnly(0L);
            assertThat(seconds(done).get(48)).isEqualTo(60L);
        });
    }
}
