package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.LimitStore;
import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.async.RedisScriptingAsyncCommands;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** The books of one limiter on Redis: puts batches into the script's words, and its answers into ours. */
final class RedisStore implements LimitStore {

    private static final String EXPIRED = "EXPIRED ";

    private final RedisScriptingAsyncCommands<String, String> commands;
    private final KeyNames names;
    private final Terms terms;
    private final BooksWords books = new BooksWords();
    private final String process = UUID.randomUUID().toString().substring(0, 18);
    private final String processKey;
    /** The server's clock less ours, in microseconds; null before the first reply. */
    private volatile @Nullable Long ahead;

    /** The clock, in microseconds; null for the server's own. */
    private final @Nullable LongSupplier clock;

    RedisStore(RedisSharing sharing, String limiter) {
        this(sharing, limiter, null);
    }

    /** For tests, which have a clock of their own. */
    RedisStore(RedisSharing sharing, String limiter, @Nullable LongSupplier clock) {
        this.clock = clock;
        this.commands = sharing.commands();
        this.names = new KeyNames(sharing.prefix(), limiter);
        this.processKey = names.process(process);
        this.terms = new Terms(sharing.timeout(), sharing.lease(), sharing.probe(), sharing.processes());
    }

    @Override
    public Terms terms() {
        return terms;
    }

    @Override
    public String key(Map<String, String> attributes) {
        return names.scope(attributes);
    }

    @Override
    public Mono<Reply> decide(Batch batch) {
        return call(batch)
                .onErrorResume(this::isOtherClock, expired -> {
                    // Whoever still waits for it is told that the server's clock has moved.
                    setClock(batch, Long.parseLong(textFrom(expired)));
                    return call(batch);
                })
                .map(figures -> reply(batch, figures))
                .onErrorMap(Outages::explained);
    }

    private Mono<List<Object>> call(Batch batch) {
        return Mono.defer(() -> {
            ScriptWords words = new ScriptWords(batch, now(), process, processKey, expires(batch), terms, books::of);
            return evalsha(words).onErrorResume(RedisNoScriptException.class, unknown -> eval(words));
        });
    }

    private String now() {
        return clock == null ? "-" : Long.toString(clock.getAsLong());
    }

    private Mono<List<Object>> evalsha(ScriptWords words) {
        return Mono.fromFuture(() -> commands.<List<Object>>evalsha(
                        DecideScript.SHA, ScriptOutputType.MULTI, words.keys(), words.line())
                .toCompletableFuture());
    }

    private Mono<List<Object>> eval(ScriptWords words) {
        return Mono.fromFuture(
                () -> commands.<List<Object>>eval(DecideScript.TEXT, ScriptOutputType.MULTI, words.keys(), words.line())
                        .toCompletableFuture());
    }

    /** When nobody waits for the answer any more, on the server's clock; 0 as long as that isn't known. */
    private long expires(Batch batch) {
        Long known = ahead;
        return known == null
                ? 0
                : known + batch.sentAtNanos() / 1_000 + terms.timeout().toNanos() / 1_000;
    }

    private void setClock(Batch batch, long now) {
        ahead = now - batch.sentAtNanos() / 1_000;
    }

    private boolean isOtherClock(Throwable e) {
        return e.getMessage() != null && e.getMessage().contains(EXPIRED);
    }

    private static String textFrom(Throwable expired) {
        String message = String.valueOf(expired.getMessage());
        return message.substring(message.indexOf(EXPIRED) + EXPIRED.length()).trim();
    }

    private Reply reply(Batch batch, List<Object> figures) {
        Iterator<Object> rest = figures.iterator();
        long now = next(rest);
        setClock(batch, now);
        List<KeyState> keys = new ArrayList<>(batch.keys().size());
        for (int i = 0; i < batch.keys().size(); i++) {
            keys.add(new KeyState(
                    nanos(rest),
                    nanos(rest),
                    (int) next(rest),
                    next(rest),
                    (int) next(rest),
                    nanos(rest),
                    batch.learns() ? quotas(rest) : List.of()));
        }
        List<Answer> answers = new ArrayList<>(batch.asks().size());
        for (Ask ask : batch.asks()) {
            int granted = (int) next(rest);
            int ahead = ask.ahead() > 0 ? (int) next(rest) : 0;
            long wait = nanos(rest);
            int key = (int) next(rest) - 1;
            int books = (int) next(rest) - 1;
            long left = ask.figures() ? next(rest) : -1;
            long full = ask.figures() ? nanos(rest) : -1;
            answers.add(new Answer(granted, ahead, wait, key, books, left, full));
        }
        return new Reply(now * 1_000, keys, answers);
    }

    private static List<Quota> quotas(Iterator<Object> figures) {
        int count = (int) next(figures);
        List<Quota> quotas = count == 0 ? List.of() : new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            quotas.add(QuotaNames.read((String) figures.next(), next(figures), nanos(figures)));
        }
        return quotas;
    }

    private static long next(Iterator<Object> figures) {
        return (Long) figures.next();
    }

    private static long nanos(Iterator<Object> figures) {
        long micros = next(figures);
        return micros < 0 ? -1 : micros * 1_000;
    }
}
