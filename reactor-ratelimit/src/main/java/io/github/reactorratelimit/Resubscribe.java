package io.github.reactorratelimit;

import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.util.retry.Retry;

/**
 * The companion of the retry loop. It never waits, since every wait is that of the next attempt for its permit, and it
 * ends in {@code onErrorStop}, since a strategy of the caller's would else reach into it and swallow the error.
 */
final class Resubscribe extends Retry {

    static final Resubscribe INSTANCE = new Resubscribe();

    private Resubscribe() {}

    @Override
    public Publisher<?> generateCompanion(Flux<RetrySignal> signals) {
        return signals.<Boolean>handle((signal, sink) -> {
                    if (signal.failure() instanceof Again) {
                        sink.next(true);
                    } else {
                        sink.error(signal.failure());
                    }
                })
                .onErrorStop();
    }
}
