package io.github.reactorratelimit;

import java.util.Objects;
import java.util.function.UnaryOperator;
import reactor.core.publisher.Mono;

/** A source that asks another one for something else than it is asked: for a key of its own, for another price. */
record AskingSource(PermitSource source, UnaryOperator<Demand> change) implements PermitSource {

    Demand asked(Demand demand) {
        return Objects.requireNonNull(change.apply(demand), "the function of asking must give a demand, gave null");
    }

    @Override
    public Mono<Permit> acquire(Demand demand) {
        return Mono.defer(() -> source.acquire(asked(demand)));
    }

    // Two views of one source that ask the same are still two sources to whoever made them.
    @Override
    public boolean equals(Object other) {
        return this == other;
    }

    @Override
    public int hashCode() {
        return System.identityHashCode(this);
    }

    @Override
    public String toString() {
        return "view of " + source;
    }
}
