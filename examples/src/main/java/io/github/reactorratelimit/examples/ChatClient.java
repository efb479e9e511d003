package io.github.reactorratelimit.examples;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Exchange;
import io.github.reactorratelimit.Fallback;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.PermitSource;
import io.github.reactorratelimit.PriceTable;
import io.github.reactorratelimit.RateLimitOperator;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterSpec;
import io.github.reactorratelimit.Scope;
import io.github.reactorratelimit.netty.RateLimitedHttpClient;
import io.github.reactorratelimit.signal.Dialects;
import io.github.reactorratelimit.signal.Headers;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.http.client.HttpClient;

/**
 * Chat completions under requests and tokens per minute of each model and a budget in dollars over all of them; a cheaper
 * model answers where the preferred one would have to be waited for, or has failed.
 */
public final class ChatClient {

    /** Dollars per million tokens, of the prompt and of the answer. */
    static final PriceTable PRICES = PriceTable.empty()
            .with("gpt-large", "8", "8")
            .with("claude-large", "15", "15")
            .with("gpt-small", "2.5", "2.5")
            .with("deepseek", "0.42", "0.42");

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String TOKENS = "tokens";
    private static final Headers EVENTS = Headers.of("Content-Type", "text/event-stream");

    /** A model and what its account may use. */
    record Model(String name, long requestsPerMinute, long tokensPerMinute) {}

    /** A question; the answer has at most so many tokens. */
    record Prompt(String text, long maxTokens) {

        long tokens() {
            return (text.length() + 3L) / 4; // Rather too many than too few: the server counts too.
        }
    }

    /** What was answered, by which model, and what it cost. */
    record Answer(String model, String text, long promptTokens, long completionTokens, long microDollars) {}

    /** A response that is no answer, or a stream that broke off. */
    static final class ChatException extends RuntimeException {

        private static final long serialVersionUID = 1L;

        private final boolean elsewhere;

        ChatException(int status, String body, boolean elsewhere) {
            super("The model answered with status " + status + ": " + body);
            this.elsewhere = elsewhere;
        }

        /** Whether another model may answer: this one is overloaded, or does not take the key. */
        boolean elsewhere() {
            return elsewhere;
        }
    }

    private final HttpClient http;
    private final String key;
    private final Fallback models;
    private final Map<PermitSource, Model> modelOf = new HashMap<>();

    /** The models in the order they are preferred, under a limiter that was built from {@link #limits}. */
    ChatClient(HttpClient http, String key, RateLimiter limiter, Duration maxWait, List<Model> models) {
        this.http = http;
        this.key = key;
        // The same question may be asked twice: nothing happens at the server but an answer.
        RateLimitOperator calls = limiter.calls().idempotent(true);
        List<PermitSource> sources = new ArrayList<>();
        for (Model model : models) {
            PermitSource source = calls.asking(demand -> demand.and("model", model.name()));
            modelOf.put(source, model);
            sources.add(source);
        }
        PermitSource[] fallbacks = sources.subList(1, sources.size()).toArray(PermitSource[]::new);
        this.models = PermitSource.firstWithin(maxWait, sources.get(0), fallbacks)
                .when(error -> error instanceof ChatException failed && failed.elsewhere());
    }

    /** What the models allow, and never more than so many dollars; what they cost is told to {@code spend}. */
    static RateLimiterSpec limits(List<Model> models, long dollars, Spend spend) {
        Scope byModel = Scope.by("model");
        for (Model model : models) {
            byModel = byModel.limit(
                    model.name(),
                    Limit.of(model.requestsPerMinute(), Duration.ofMinutes(1)),
                    Limit.of(model.tokensPerMinute(), Duration.ofMinutes(1)).unit(TOKENS),
                    Limit.inFlight(50));
        }
        return RateLimiter.named("chat")
                .limit(Limit.total(dollars * 1_000_000).unit(PriceTable.UNIT))
                .scope(byModel)
                .listener(spend)
                .dialect(Dialects.openAi());
    }

    /** The answer of the first model that has room soon enough and does not fail. */
    Mono<Answer> ask(Prompt prompt) {
        return models.use(source -> demand(source, prompt), attempt -> ask(attempt, prompt));
    }

    /** The same, piece by piece. Once there was a piece, nothing is asked again. */
    Flux<String> stream(Prompt prompt) {
        return models.useMany(source -> demand(source, prompt), attempt -> stream(attempt, prompt));
    }

    /** The most that it can cost: servers count that on arrival. */
    private Demand demand(PermitSource source, Prompt prompt) {
        Model model = model(source);
        return Demand.one()
                .cost(TOKENS, prompt.tokens() + prompt.maxTokens())
                .cost(PriceTable.UNIT, PRICES.microDollars(model.name(), prompt.tokens(), prompt.maxTokens()));
    }

    private Model model(PermitSource source) {
        Model model = modelOf.get(source);
        if (model == null) {
            throw new IllegalStateException("nobody asked that source: " + source);
        }
        return model;
    }

    private RateLimitedHttpClient.Request request(Exchange attempt, Prompt prompt, boolean stream) {
        ObjectNode body = JSON.createObjectNode()
                .put("model", model(attempt.source()).name())
                .put("max_tokens", prompt.maxTokens())
                .put("stream", stream);
        body.putArray("messages").addObject().put("role", "user").put("content", prompt.text());
        if (stream) {
            body.putObject("stream_options").put("include_usage", true);
        }
        return RateLimitedHttpClient.of(http, attempt)
                .post()
                .uri("/v1/chat/completions")
                .header("Authorization", "Bearer " + key)
                .header("Content-Type", "application/json")
                .body(body.toString());
    }

    private Mono<Answer> ask(Exchange attempt, Prompt prompt) {
        return request(attempt, prompt, false)
                .responseSingle((response, content) -> content.asString(StandardCharsets.UTF_8)
                        .defaultIfEmpty("")
                        .map(body -> {
                            int status = response.status().code();
                            if (status != 200) {
                                throw failure(attempt, status, body);
                            }
                            JsonNode answer = parsed(body);
                            long paid = settle(attempt, prompt, answer.path("usage"));
                            return new Answer(
                                    model(attempt.source()).name(),
                                    answer.at("/choices/0/message/content").asText(),
                                    answer.at("/usage/prompt_tokens").asLong(),
                                    answer.at("/usage/completion_tokens").asLong(),
                                    paid);
                        }));
    }

    private Flux<String> stream(Exchange attempt, Prompt prompt) {
        return request(attempt, prompt, true).response((response, content) -> {
            int status = response.status().code();
            JsonNode[] usage = {MissingNode.getInstance()};
            return status == 200
                    ? ServerSentEvents.data(content.asByteArray())
                            .takeWhile(data -> !data.equals("[DONE]"))
                            .concatMap(data -> piece(attempt, data, usage))
                            .doOnComplete(() -> settle(attempt, prompt, usage[0]))
                    : content.aggregate()
                            .asString(StandardCharsets.UTF_8)
                            .defaultIfEmpty("")
                            .flatMapMany(body -> Flux.error(failure(attempt, status, body)));
        });
    }

    /** A piece of text; the last event has none, but tells what all of it cost. Some servers tell that all along. */
    private static Flux<String> piece(Exchange attempt, String data, JsonNode[] usage) {
        JsonNode event = parsed(data);
        if (event.has("error")) {
            // An overload that came too late for the status.
            byte[] piece = ("data: " + data).getBytes(StandardCharsets.UTF_8);
            RateLimitSignal signal = Dialects.openAi().readBody(200, EVENTS, piece, 0);
            attempt.hear(signal);
            return Flux.error(new ChatException(200, data, signal.throttled()));
        }
        if (event.path("usage").isObject()) {
            usage[0] = event.path("usage");
        }
        String text = event.at("/choices/0/delta/content").asText();
        return text.isEmpty() ? Flux.empty() : Flux.just(text);
    }

    /** What was really used counts, from here on; without a word of it, all that it could have cost. */
    private long settle(Exchange attempt, Prompt asked, JsonNode usage) {
        String model = model(attempt.source()).name();
        boolean told = usage.path("prompt_tokens").isNumber();
        long prompt = told ? usage.path("prompt_tokens").asLong() : asked.tokens();
        long completion = told ? usage.path("completion_tokens").asLong() : asked.maxTokens();
        long paid = PRICES.microDollars(model, prompt, completion);
        attempt.settle(TOKENS, prompt + completion);
        attempt.settle(PriceTable.UNIT, paid);
        return paid;
    }

    /** What the server doesn't accept costs nothing. */
    private static ChatException failure(Exchange attempt, int status, String body) {
        if (status >= 400 && status < 500) {
            attempt.settle(TOKENS, 0);
            attempt.settle(PriceTable.UNIT, 0);
        }
        return new ChatException(status, body, status == 401 || status == 403 || status == 404);
    }

    private static JsonNode parsed(String body) {
        try {
            return JSON.readTree(body);
        } catch (JsonProcessingException e) {
            throw new UncheckedIOException(e);
        }
    }
}
