package io.github.reactorratelimit;

import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.util.context.ContextView;

/** One batch to be sent, once: an attempt at all of its parts together. Ends empty, or in an error. */
final class BatchSend<P, S> extends Mono<BatchAnswer<S>> implements Limited<BatchAnswer<S>> {

    private final RateLimitOperator operator;
    private final BatchReader<P, S> reader;
    private final Function<? super List<P>, ? extends Mono<? extends List<S>>> function;
    private final List<BatchPart<P, S>> parts;
    private final Retries behind;
    private volatile boolean granted;

    /** @param behind the attempts that parts have behind them, and the rest before this one */
    BatchSend(
            RateLimitOperator operator,
            BatchReader<P, S> reader,
            Function<? super List<P>, ? extends Mono<? extends List<S>>> function,
            List<BatchPart<P, S>> parts,
            Retries behind) {
        this.operator = operator;
        this.reader = reader;
        this.function = function;
        this.parts = parts;
        this.behind = behind;
    }

    @Override
    public void subscribe(CoreSubscriber<? super BatchAnswer<S>> actual) {
        Layers.claim(actual.currentContext(), !operator.policy().isNone());
        actual.onSubscribe(new BatchAttempt<>(this, parts, behind, actual));
    }

    @Override
    public RateLimitOperator operator() {
        return operator;
    }

    @Override
    public Demand demand(ContextView context) {
        return behind.demand();
    }

    /** The verdict on its parts falls in the attempt, where what it says is heard before the permit is free. */
    @Override
    public Publisher<BatchAnswer<S>> open(Exchange exchange) {
        granted = true;
        BatchAttempt<?, ?> attempt = (BatchAttempt<?, ?>) exchange;
        parts.forEach(part -> part.sent(attempt.waitedNanos()));
        List<P> requests = parts.stream().map(part -> part.request).toList();
        return Mono.defer(() -> function.apply(requests))
                .doOnSubscribe(subscription -> attempt.tellSent())
                .map(answers -> new BatchAnswer<>(answers, reader, operator))
                .switchIfEmpty(Mono.fromSupplier(() -> new BatchAnswer<>(List.<@Nullable S>of(), reader, operator)));
    }

    @Override
    public Ticket.Tells tells() {
        return Ticket.Tells.HEAD;
    }

    @Override
    public boolean isSingle() {
        return true;
    }

    /** Whether it had its permit; if not, an error is a refusal, and nothing is decided about its parts. */
    boolean wasGranted() {
        return granted;
    }

    List<BatchPart<P, S>> parts() {
        return parts;
    }
}
