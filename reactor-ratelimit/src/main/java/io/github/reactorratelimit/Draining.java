package io.github.reactorratelimit;

import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import reactor.core.Exceptions;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.SignalType;
import reactor.util.context.Context;

/** Frees a response that is not handed on, then ends its attempt, however the freeing comes out. */
final class Draining extends BaseSubscriber<Void> implements Runnable {

    private final Throwable outcome;
    private final Context context;
    private final Consumer<Throwable> then;

    Draining(Throwable outcome, Context context, Consumer<Throwable> then) {
        this.outcome = outcome;
        this.context = context;
        this.then = then;
    }

    /** The time to drain is over. */
    @Override
    public void run() {
        dispose();
        then.accept(outcome);
    }

    <T> void start(ResponseReader<? super T> reader, T response) {
        try {
            reader.discard(response).subscribe(this);
        } catch (Throwable e) {
            Exceptions.throwIfFatal(e);
            then.accept(outcome);
        }
    }

    @Override
    public Context currentContext() {
        return context;
    }

    @Override
    protected void hookOnError(Throwable ignored) {
        // What the response was discarded for matters more than how that went.
    }

    @Override
    protected void hookFinally(SignalType type) {
        if (type != SignalType.CANCEL) {
            then.accept(outcome);
        }
    }

    @Override
    protected void hookOnNext(@Nullable Void nothing) {}
}
