package io.github.reactorratelimit.examples;

import io.github.reactorratelimit.signal.Dialect;
import io.github.reactorratelimit.signal.Dialects;
import io.github.reactorratelimit.signal.Quota;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Tells what a response says about limits, and why the wait is what it is. Reads the response as {@code curl -si} prints it
 * from standard input: a status line, which may be missing, the header lines, and perhaps a blank line and the body.
 */
public final class Explain {

    private Explain() {}

    /**
     * Prints the reading.
     *
     * @param args the dialect: standard (the default), github, microsoftgraph, microsoftgraphbatch, openai, anthropic or discord
     * @throws IOException if standard input can't be read
     * @throws IllegalArgumentException if there is no dialect of that name
     */
    public static void main(String[] args) throws IOException {
        Dialect dialect = dialect(args.length == 0 ? "standard" : args[0]);
        String pasted = new String(System.in.readAllBytes(), StandardCharsets.UTF_8);
        explain(dialect, pasted, Clock.systemUTC()).forEach(System.out::println);
    }

    static Dialect dialect(String name) {
        return switch (name.toLowerCase(Locale.ROOT).replace("-", "")) {
            case "standard" -> Dialects.standard();
            case "github" -> Dialects.gitHub();
            case "microsoftgraph" -> Dialects.microsoftGraph();
            case "microsoftgraphbatch" -> Dialects.microsoftGraphBatch();
            case "openai" -> Dialects.openAi();
            case "anthropic" -> Dialects.anthropic();
            case "discord" -> Dialects.discord();
            default ->
                throw new IllegalArgumentException(
                        "a dialect is one of standard, github, microsoftgraph, microsoftgraphbatch, openai, anthropic"
                                + " and discord, was " + name);
        };
    }

    static List<String> explain(Dialect dialect, String pasted, Clock clock) {
        PastedResponse response = PastedResponse.of(pasted);
        RateLimitSignal signal = response.read(dialect, clock.millis());
        List<String> lines = new ArrayList<>();
        lines.add("dialect  " + dialect);
        lines.add("status   " + signal.status() + (response.isStatusAssumed() ? " (assumed, none was given)" : "")
                + ", " + (signal.throttled() ? "refused for a limit" : "not refused for a limit"));
        lines.add("clock    "
                + (response.headers().first("Date") == null ? "ours, the response has no Date" : "the server's Date"));
        lines.add("scope    " + (signal.scope() == null ? "not named" : signal.scope()));
        if (signal.bucket() != null) {
            lines.add("bucket   " + signal.bucket());
        }
        for (Quota quota : signal.quotas()) {
            lines.add("quota    " + quota(quota));
        }
        if (signal.cost() >= 0) {
            lines.add("cost     " + signal.cost());
        }
        if (!Double.isNaN(signal.usage())) {
            lines.add("usage    " + Math.round(signal.usage() * 100) + " %");
        }
        if (signal.hint() != null) {
            lines.add("hint     " + time(signal.hint()));
        }
        lines.add("wait     " + wait(signal));
        lines.add("rule     " + rule(signal));
        return lines;
    }

    /** The rule, and the quota that it is about if that has a name. */
    private static String rule(RateLimitSignal signal) {
        if (signal.reason() == null) {
            return "nothing to decide";
        }
        for (Quota quota : signal.quotas()) {
            boolean decided =
                    quota.exhausted() && quota.reset() != null && quota.reset().equals(signal.delay());
            if (decided && !quota.name().isEmpty()) {
                return signal.reason() + " (" + quota.name() + ")";
            }
        }
        return signal.reason();
    }

    private static String wait(RateLimitSignal signal) {
        if (signal.terminal() != null) {
            return "no wait helps: " + signal.terminal();
        }
        Duration delay = signal.delay();
        if (delay != null) {
            return time(delay)
                    + (signal.guessed() ? ", doubling with each wave of refusals: nobody said so, it is advice" : "")
                    + (signal.coarse() ? ", and 1 s because its time is in whole seconds" : "");
        }
        return signal.throttled() ? "the limiter's own backoff" : "none";
    }

    private static String quota(Quota quota) {
        StringBuilder text = new StringBuilder();
        text.append(quota.name().isEmpty() ? "" : quota.name() + ": ")
                .append(count(quota.remaining()))
                .append(" of ")
                .append(count(quota.limit()))
                .append(' ')
                .append(quota.unit())
                .append(" left");
        if (quota.used() >= 0) {
            text.append(", ").append(quota.used()).append(" used");
        }
        text.append(", more ").append(quota.reset() == null ? "at an unknown time" : "in " + time(quota.reset()));
        if (quota.window() != null) {
            text.append(", window ").append(time(quota.window()));
        }
        return text.append(quota.partition() == null ? "" : ", partition " + quota.partition())
                .toString();
    }

    private static String count(long count) {
        return count < 0 ? "?" : Long.toString(count);
    }

    /** As {@code 1h 2m 3.5s}. */
    private static String time(@Nullable Duration time) {
        return time == null
                ? "?"
                : time.toString().substring(2).toLowerCase(Locale.ROOT).replaceAll("([hm])(?=.)", "$1 ");
    }
}
