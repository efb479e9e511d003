package io.github.reactorratelimit;

import static java.time.Duration.ofSeconds;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/** Answers by hand; grants all that it is asked for. */
final class HandStore implements LimitStore {

    /** On the store's clock, which is none of ours. */
    static final long AT = ofSeconds(1_000_000).toNanos();

    private final int processes;
    final ArrayDeque<Sinks.One<Reply>> open = new ArrayDeque<>();
    final List<Batch> batches = new ArrayList<>();
    ToIntFunction<Ask> ahead = Ask::ahead;
    /** What it throws instead of an answer. */
    @Nullable
    RuntimeException broken;

    KeyState state = new KeyState(0, 0, 0, 0, 0, 0, List.of());

    HandStore() {
        this(0);
    }

    /** While it is out of order each of so many processes goes on with its part. */
    HandStore(int processes) {
        this.processes = processes;
    }

    @Override
    public Mono<Reply> decide(Batch batch) {
        if (broken != null) {
            throw broken;
        }
        batches.add(batch);
        Sinks.One<Reply> call = Sinks.one();
        open.add(call);
        return call.asMono();
    }

    @Override
    public String key(Map<String, String> attributes) {
        return attributes.toString();
    }

    @Override
    public Terms terms() {
        return new Terms(ofSeconds(5), ofSeconds(30), ofSeconds(1), processes);
    }

    Batch latest() {
        return batches.get(batches.size() - 1);
    }

    void answer() {
        Batch batch = latest();
        List<KeyState> keys = Collections.nCopies(batch.keys().size(), state);
        List<Answer> answers = batch.asks().stream()
                .map(ask -> new Answer(ask.times(), ahead.applyAsInt(ask), 0, -1, -1, ask.figures() ? 7 : -1, -1))
                .toList();
        open.remove().tryEmitValue(new Reply(AT, keys, answers));
    }
}
