package io.github.reactorratelimit.examples;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterSpec;
import io.github.reactorratelimit.examples.ChatClient.Answer;
import io.github.reactorratelimit.examples.ChatClient.Model;
import io.github.reactorratelimit.examples.ChatClient.Prompt;
import io.github.reactorratelimit.test.ChatModel;
import io.github.reactorratelimit.test.ChatRules;
import io.github.reactorratelimit.test.ChatService;
import io.github.reactorratelimit.test.RateLimitedServer;
import io.lettuce.core.RedisClient;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import reactor.core.publisher.Flux;
import reactor.netty.http.client.HttpClient;

/** Sixty questions at once to a simulated chat service with two models; it prints what each of them costs as it goes. */
public final class ChatDemo {

    private static final int QUESTIONS = 60;
    private static final List<Model> MODELS =
            List.of(new Model("gpt-large", 20, 20_000), new Model("deepseek", 300, 200_000));

    private ChatDemo() {}

    /** The service that the models run at. */
    static ChatService service() {
        return ChatRules.create()
                .key("sk-demo")
                .model(ChatModel.named("gpt-large")
                        .requestsPerMinute(20)
                        .tokensPerMinute(20_000)
                        .slidingWindow()
                        .price(8_000_000, 8_000_000)
                        .speed(ofMillis(100), ofMillis(1)))
                .model(ChatModel.named("deepseek")
                        .requestsPerMinute(300)
                        .tokensPerMinute(200_000)
                        .slidingWindow()
                        .price(420_000, 420_000)
                        .speed(ofMillis(50), ofMillis(1)))
                .service();
    }

    /** Asks all questions; the answers per model. */
    static Map<String, Integer> ask(ChatClient client, Spend spend, Consumer<String> print) {
        Map<String, Integer> answers = new TreeMap<>();
        Flux.range(1, QUESTIONS)
                .flatMap(n -> client.ask(new Prompt("Question " + n + ": what is a token bucket?", 400)))
                .doOnNext(answer -> print.accept(line(answer, spend.microDollars())))
                .doOnNext(answer -> answers.merge(answer.model(), 1, Integer::sum))
                .blockLast();
        return answers;
    }

    private static String line(Answer answer, Map<String, Long> spent) {
        StringBuilder line = new StringBuilder(String.format(
                Locale.ROOT,
                "%-9s answered with %3d tokens for $%.6f; spent so far, at most:",
                answer.model(),
                answer.completionTokens(),
                answer.microDollars() / 1e6));
        spent.forEach((model, sum) -> line.append(String.format(Locale.ROOT, " %s $%.6f", model, sum / 1e6)));
        return line.toString();
    }

    /** The limiter of this process, or one that every process with the same Redis shares. */
    static RateLimiter limiter(RateLimiterSpec limits, String redis) {
        return redis.isEmpty() ? limits.build() : SharedQuota.shared(RedisClient.create(redis), limits);
    }

    /**
     * Prints each answer and what the models cost so far.
     *
     * @param args the URI of a Redis that other processes share the limits on; none to keep them here
     */
    public static void main(String[] args) {
        try (RateLimitedServer server = service().start()) {
            Spend spend = new Spend();
            RateLimiter limiter = limiter(ChatClient.limits(MODELS, 1, spend), args.length == 0 ? "" : args[0]);
            HttpClient http = HttpClient.create().baseUrl(server.baseUrl());
            ChatClient client = new ChatClient(http, "sk-demo", limiter, ofSeconds(2), MODELS);
            Map<String, Integer> answers = ask(client, spend, System.out::println);
            System.out.println("answers " + answers + ", refused "
                    + server.log().count(429) + ", spent " + spend.microDollars() + " micro-dollars");
            limiter.dispose();
        }
    }
}
