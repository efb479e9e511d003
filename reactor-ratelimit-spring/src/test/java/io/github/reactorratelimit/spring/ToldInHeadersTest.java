package io.github.reactorratelimit.spring;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RateLimiter;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.springframework.http.HttpMethod;
import org.springframework.http.HttpStatus;
import org.springframework.web.reactive.function.client.ClientRequest;
import org.springframework.web.reactive.function.client.ClientResponse;
import org.springframework.web.reactive.function.client.ExchangeFunction;
import reactor.core.publisher.Mono;
import reactor.test.scheduler.VirtualTimeScheduler;

/** A request tells the server which attempt it is and how long it waited, if the filter is told to. */
class ToldInHeadersTest {

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final List<String> sent = new ArrayList<>();
    private final RateLimitFilter plain = RateLimitFilter.of(
            RateLimiter.named("api").jitter(0).scheduler(() -> time).build());

    /** Refuses the first request for three seconds. */
    private final ExchangeFunction server = request -> Mono.fromSupplier(() -> {
        sent.add(request.headers().getFirst("X-Attempt") + " after "
                + request.headers().getFirst("X-Waited"));
        return sent.size() == 1
                ? ClientResponse.create(HttpStatus.TOO_MANY_REQUESTS)
                        .header("Retry-After", "3")
                        .build()
                : ClientResponse.create(HttpStatus.OK).build();
    });

    private void send(RateLimitFilter filter) {
        ClientRequest request = ClientRequest.create(HttpMethod.GET, URI.create("http://api.example/x"))
                .header("X-Attempt", "the caller's own")
                .build();
        List<Integer> answers = new ArrayList<>();
        filter.filter(request, server)
                .flatMap(response ->
                        response.releaseBody().thenReturn(response.statusCode().value()))
                .subscribe(answers::add);
        time.advanceTimeBy(ofSeconds(10));
        assertThat(answers).containsExactly(200);
    }

    @Test
    void both_in_place_of_what_the_request_had() {
        send(plain.attemptHeader("X-Attempt").waitedHeader("X-Waited"));
        assertThat(sent).containsExactly("1 after 0", "2 after 3000");
    }

    @Test
    void neither_unless_said() {
        send(plain);
        assertThat(sent).containsExactly("the caller's own after null", "the caller's own after null");
    }
}
