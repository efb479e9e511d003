package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.LimitStore;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;
import reactor.core.publisher.Mono;
import reactor.core.publisher.SignalType;
import reactor.core.publisher.Sinks;
import reactor.core.scheduler.Schedulers;

/**
 * A store that tells of every batch that was answered, and of every one that was lost, so that a test can wait for one. It
 * grants nothing ahead unless a test is about that: whether it would, and who keeps what for 5 ms, is a matter of real time.
 */
final class WatchedStore implements LimitStore {

    private static final Duration LONGEST = Duration.ofSeconds(20);

    private final LimitStore store;
    private final boolean ahead;
    private final Sinks.Many<Batch> answered = Sinks.many().replay().limit(64);
    private final Sinks.Many<Batch> lost = Sinks.many().replay().limit(64);

    private final AtomicLong latest = new AtomicLong();

    WatchedStore(LimitStore store) {
        this(store, false);
    }

    private WatchedStore(LimitStore store, boolean ahead) {
        this.store = store;
        this.ahead = ahead;
    }

    static WatchedStore grantingAhead(LimitStore store) {
        return new WatchedStore(store, true);
    }

    private static Batch withoutAhead(Batch batch) {
        return new Batch(
                batch.number(),
                batch.sentAtNanos(),
                batch.keys(),
                batch.books(),
                batch.closings(),
                batch.holdings(),
                batch.corrections(),
                batch.ramps(),
                batch.learns(),
                batch.words(),
                batch.asks().stream()
                        .map(ask -> new Ask(ask.times(), 0, 0, ask.figures(), ask.keys(), ask.parts()))
                        .toList());
    }

    @Override
    public Mono<Reply> decide(Batch batch) {
        return store.decide(ahead ? batch : withoutAhead(batch))
                .doFinally(end -> {
                    // After the limiter has heard of it, unless that changes threads for it.
                    if (end == SignalType.ON_COMPLETE) {
                        latest.accumulateAndGet(batch.number(), Math::max);
                        tell(answered, batch);
                    }
                })
                .doOnError(error -> tell(lost, batch))
                .doOnCancel(() -> tell(lost, batch));
    }

    @Override
    public String key(Map<String, String> attributes) {
        return store.key(attributes);
    }

    @Override
    public Terms terms() {
        return store.terms();
    }

    /** Answers may come on several threads at once, and none may be missed. */
    private static void tell(Sinks.Many<Batch> sink, Batch batch) {
        sink.emitNext(batch, Sinks.EmitFailureHandler.busyLooping(LONGEST));
    }

    /** The number of the last batch that was answered. */
    long latest() {
        return latest.get();
    }

    /** Until one of the batches so far, or of those to come, was answered. */
    void awaitAnswered(Predicate<Batch> which) {
        await(answered, which);
    }

    void awaitLost(Predicate<Batch> which) {
        await(lost, which);
    }

    private static void await(Sinks.Many<Batch> batches, Predicate<Batch> which) {
        batches.asFlux().publishOn(Schedulers.boundedElastic(), 1).filter(which).blockFirst(LONGEST);
    }
}
