package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.LimitStore;
import java.util.Map;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/** A store whose answers stay away until they are let go: what it decided is decided. */
final class HeldStore implements LimitStore {

    private final LimitStore store;
    private volatile Sinks.Empty<Void> gate = open();

    HeldStore(LimitStore store) {
        this.store = store;
    }

    private static Sinks.Empty<Void> open() {
        Sinks.Empty<Void> open = Sinks.empty();
        open.tryEmitEmpty();
        return open;
    }

    /** Answers to whatever is asked from now on wait. */
    void hold() {
        gate = Sinks.empty();
    }

    /** Those that wait come, and all that are asked for from now on come at once. */
    void letGo() {
        Sinks.Empty<Void> held = gate;
        gate = open();
        held.tryEmitEmpty();
    }

    @Override
    public Mono<Reply> decide(Batch batch) {
        Sinks.Empty<Void> held = gate;
        return store.decide(batch).flatMap(reply -> held.asMono().thenReturn(reply));
    }

    @Override
    public String key(Map<String, String> attributes) {
        return store.key(attributes);
    }

    @Override
    public Terms terms() {
        return store.terms();
    }
}
