package io.github.reactorratelimit.examples;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.github.reactorratelimit.BatchOutcome;
import io.github.reactorratelimit.BatchReader;
import io.github.reactorratelimit.BatchRetry;
import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Failure;
import io.github.reactorratelimit.FailureReader;
import io.github.reactorratelimit.Presets;
import io.github.reactorratelimit.RateLimitOperator;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.netty.RateLimitedHttpClient;
import io.github.reactorratelimit.signal.Headers;
import io.github.reactorratelimit.test.OneNoteRules;
import io.github.reactorratelimit.test.RateLimitedServer;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.ByteBufFlux;
import reactor.netty.http.client.HttpClient;

/**
 * Microsoft Graph's {@code $batch}: twenty requests in one, answered one by one inside a 200. Whatever was refused or
 * failed is sent again alone, and the answers come in the order of the requests. A batch that gets another status, or
 * breaks off, is that for each of its requests.
 */
public final class GraphBatch {

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Set<String> IDEMPOTENT = Set.of("GET", "PUT", "DELETE");

    /** A part as it is asked. */
    record Part(String id, String method, String url, List<String> dependsOn) {}

    /** A part as it is answered. */
    record Answer(String id, int status, Map<String, String> headers, JsonNode body) {}

    /** How a part is read. */
    static final class Reader implements BatchReader<Part, Answer> {

        @Override
        public Object id(Part part) {
            return part.id();
        }

        @Override
        public Object idOf(Answer answer) {
            return answer.id();
        }

        @Override
        public int status(Answer answer) {
            return answer.status();
        }

        @Override
        public Headers headers(Answer answer) {
            return line -> answer.headers().forEach(line);
        }

        @Override
        public boolean isIdempotent(Part part) {
            return IDEMPOTENT.contains(part.method());
        }

        @Override
        public Collection<?> dependsOn(Part part) {
            return part.dependsOn();
        }
    }

    /** What a batch as a whole is answered with. */
    record Response(int status, Headers headers, String body) {}

    /** The batch got no answers but a status of its own, which holds for all its parts. */
    static final class NoAnswers extends RuntimeException {

        private static final long serialVersionUID = 1L;

        private final transient Response response;

        NoAnswers(Response response) {
            super("the batch was answered with a " + response.status());
            this.response = response;
        }

        Failure failure() {
            return Failure.response(response.status(), response.headers());
        }
    }

    private final BatchRetry<Part, Answer> batches;
    private final Function<String, Mono<Response>> post;

    /** Batches under a limiter; {@code post} sends a body to {@code $batch}. */
    GraphBatch(RateLimiter limiter, Function<String, Mono<Response>> post) {
        RateLimitOperator calls = limiter.calls()
                .failures(FailureReader.of(NoAnswers.class, NoAnswers::failure))
                .failures(RateLimitedHttpClient.failures());
        this.batches = BatchRetry.of(calls, new Reader());
        this.post = post;
    }

    Mono<List<BatchOutcome<Answer>>> send(List<Part> parts, String user) {
        return batches.send(
                parts,
                Demand.of("user", user),
                some -> post.apply(written(some)).map(GraphBatch::read));
    }

    /** What a part depends on may have been answered in an earlier batch; Graph refuses ids that it doesn't know. */
    private static String written(List<Part> parts) {
        Set<String> here = parts.stream().map(Part::id).collect(Collectors.toSet());
        ObjectNode batch = JSON.createObjectNode();
        ArrayNode requests = batch.putArray("requests");
        for (Part part : parts) {
            ObjectNode request = requests.addObject();
            request.put("id", part.id()).put("method", part.method()).put("url", part.url());
            List<String> parents =
                    part.dependsOn().stream().filter(here::contains).toList();
            if (!parents.isEmpty()) {
                parents.forEach(request.putArray("dependsOn")::add);
            }
        }
        return batch.toString();
    }

    private static List<Answer> read(Response response) {
        if (response.status() != 200) {
            throw new NoAnswers(response);
        }
        try {
            List<Answer> answers = new ArrayList<>();
            for (JsonNode each : JSON.readTree(response.body()).path("responses")) {
                Map<String, String> headers = each.path("headers").properties().stream()
                        .collect(Collectors.toMap(
                                Map.Entry::getKey, line -> line.getValue().asText()));
                answers.add(
                        new Answer(each.path("id").asText(), each.path("status").asInt(), headers, each.path("body")));
            }
            return answers;
        } catch (JsonProcessingException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Posts with Reactor Netty, with nothing around it: the batches are limited as what they are. */
    static Function<String, Mono<Response>> over(HttpClient http, @Nullable String token) {
        HttpClient client = http.headers(headers -> headers.set("Content-Type", "application/json"));
        HttpClient known =
                token == null ? client : client.headers(headers -> headers.set("Authorization", "Bearer " + token));
        return body -> known.post()
                .uri("/v1.0/$batch")
                .send(ByteBufFlux.fromString(Mono.just(body)))
                .responseSingle((response, content) -> content.asString()
                        .defaultIfEmpty("")
                        .map(text -> new Response(
                                response.status().code(),
                                line -> response.responseHeaders()
                                        .forEach(each -> line.accept(each.getKey(), each.getValue())),
                                text)));
    }

    /**
     * Prints what came of twenty pages.
     *
     * @param args none
     */
    public static void main(String[] args) {
        RateLimiter oneNote = Presets.oneNote().build();
        try (RateLimitedServer server = OneNoteRules.create().start()) {
            HttpClient http = HttpClient.create().baseUrl(server.baseUrl());
            GraphBatch graph = new GraphBatch(oneNote, over(http, "anna"));
            List<Part> pages = IntStream.rangeClosed(1, 20)
                    .mapToObj(n -> new Part("" + n, "GET", "/me/onenote/pages/" + n, List.of()))
                    .toList();
            graph.send(pages, "anna")
                    .flatMapMany(Flux::fromIterable)
                    .doOnNext(System.out::println)
                    .blockLast();
        }
    }
}
