package io.github.reactorratelimit.examples;

import io.github.reactorratelimit.signal.Dialect;
import io.github.reactorratelimit.signal.Dialects;
import io.github.reactorratelimit.signal.Headers;
import io.github.reactorratelimit.signal.Quota;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Tells what a response says about limits, and why the wait is what it is. Reads the response from standard input as {@code
 * curl -si} prints it: a status line, which may be missing, the header lines, and perhaps a blank line and the body; or as
 * other tools print it and browsers copy it.
 */
public final class Explain {

    private Explain() {}

    /**
     * Prints the reading; of a name that is no dialect's, the names, and ends with 2.
     *
     * @param args the dialect: standard (the default), github, microsoftgraph, microsoftgraphbatch, openai, anthropic or discord
     * @throws IOException if standard input can't be read
     */
    public static void main(String[] args) throws IOException {
        int exit = run(args, System.in, System.out, System.err);
        if (exit != 0) {
            System.exit(exit);
        }
    }

    static int run(String[] args, InputStream in, PrintStream out, PrintStream err) throws IOException {
        Dialect dialect;
        try {
            dialect = dialect(args.length == 0 ? "standard" : args[0]);
        } catch (IllegalArgumentException unknown) {
            err.println(unknown.getMessage());
            return 2;
        }
        explain(dialect, text(in.readAllBytes()), Clock.systemUTC()).forEach(out::println);
        return 0;
    }

    /** Some shells write UTF-16, with or without a mark of the byte order. */
    private static String text(byte[] bytes) {
        int first = bytes.length < 2 ? 1 : bytes[0];
        int second = bytes.length < 2 ? 1 : bytes[1];
        boolean little = second == 0 || (first == (byte) 0xFF && second == (byte) 0xFE);
        boolean big = first == 0 || (first == (byte) 0xFE && second == (byte) 0xFF);
        return new String(
                bytes, little ? StandardCharsets.UTF_16LE : big ? StandardCharsets.UTF_16BE : StandardCharsets.UTF_8);
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
        response.unread().forEach(line -> lines.add("unread   " + line));
        if (response.isStatusAssumed() && tellsNothing(signal)) {
            lines.add("status   none was given, and nothing else tells of limits: paste the status line too");
            return lines;
        }
        lines.add("status   " + signal.status() + (response.isStatusAssumed() ? " (assumed, none was given)" : "")
                + ", " + (signal.throttled() ? "refused for a limit" : "not refused for a limit"));
        lines.add("clock    " + clock(response.headers()));
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

    /** Whether a refusal was only assumed, for lack of a status. */
    private static boolean tellsNothing(RateLimitSignal signal) {
        return signal.hint() == null
                && (signal.delay() == null || signal.guessed())
                && signal.quotas().isEmpty()
                && signal.scope() == null
                && signal.bucket() == null
                && signal.terminal() == null
                && Double.isNaN(signal.usage())
                && signal.cost() < 0;
    }

    private static String clock(Headers headers) {
        return headers.first("Date") == null
                ? "ours, the response has no Date"
                : isReadable(headers) ? "the server's Date" : "ours, the response's Date is none that can be read";
    }

    /** A date is readable if it makes our own clock irrelevant for a time that is measured by it. */
    private static boolean isReadable(Headers headers) {
        Headers dated = line -> {
            headers.forEach((name, value) -> {
                if (name.equalsIgnoreCase("Date")) {
                    line.accept(name, value);
                }
            });
            line.accept("Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT");
        };
        Dialect standard = Dialects.standard();
        return Objects.equals(
                standard.read(429, dated, 0).delay(),
                standard.read(429, dated, 1_000_000).delay());
    }

    /** The rule, and the quota that it is about if that has a name. */
    private static String rule(RateLimitSignal signal) {
        if (signal.terminal() != null) {
            return "a refusal that waiting does not help with";
        }
        if (signal.reason() == null) {
            return "nothing to decide";
        }
        for (Quota quota : signal.quotas()) {
            Duration time = quota.reset() == null ? quota.window() : quota.reset();
            boolean decided = quota.remaining() <= 0 && time != null && time.equals(signal.delay());
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
