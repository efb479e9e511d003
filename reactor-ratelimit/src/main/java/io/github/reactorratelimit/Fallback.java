package io.github.reactorratelimit;

import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiFunction;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * Several sources in the order they are preferred: the first whose permit comes soon enough, else the one with the shortest
 * wait. A call made with {@link #use} also goes on to the next source when it failed for good at one, before its first
 * element.
 *
 * <p>The longest wait bounds what a call waits in all before the last resort: in line, for scopes to open, and between its
 * attempts, at all sources together. It does not bound the calls themselves; for that there is the attempt timeout. The
 * last resort, the source with the shortest wait, is asked only if one was left for its wait and none served, and waits
 * as long as its demand allows.
 *
 * <p>Immutable and thread-safe. Defaults: every {@link Reason} makes a call go on. Cancelling cancels the call under way;
 * nothing is asked after that. If no source served, the last failure surfaces, with the earlier ones as suppressed.
 */
public final class Fallback implements PermitSource {

    private static final Logger LOG = LoggerFactory.getLogger(RateLimiter.class);

    /** Why a call goes on to the next source. */
    public enum Reason {
        /** No permit in time: the wait would be, or was, too long, or there is no room to wait in. */
        WAIT,
        /** All attempts failed, or all refusals that a call bears. */
        EXHAUSTED,
        /** No response head in time, in an attempt that was not to be repeated or in the last one. */
        TIMEOUT,
        /** Refused for a limit that waiting does not help with, such as a spend limit. */
        TERMINAL
    }

    private final Duration maxWait;
    private final List<PermitSource> sources;
    private final Set<Reason> reasons;
    private final Predicate<? super Throwable> also;

    private Fallback(
            Duration maxWait, List<PermitSource> sources, Set<Reason> reasons, Predicate<? super Throwable> also) {
        this.maxWait = maxWait;
        this.sources = sources;
        this.reasons = reasons;
        this.also = also;
    }

    static Fallback of(Duration maxWait, PermitSource preferred, PermitSource... fallbacks) {
        if (maxWait.isNegative()) {
            throw new IllegalArgumentException("the longest wait must not be negative, was " + maxWait);
        }
        List<PermitSource> sources = new ArrayList<>();
        sources.add(Objects.requireNonNull(preferred, "preferred"));
        for (PermitSource fallback : fallbacks) {
            if (sources.contains(Objects.requireNonNull(fallback, "fallback"))) {
                throw new IllegalArgumentException("a source must be named once, was named twice: " + fallback);
            }
            sources.add(fallback);
        }
        return new Fallback(maxWait, List.copyOf(sources), EnumSet.allOf(Reason.class), error -> false);
    }

    /**
     * Switches reasons off: what a call fails with for one of them is its outcome. Without {@link Reason#WAIT} it waits at
     * the preferred source as long as its demand allows.
     *
     * @param unwanted the reasons
     * @return the changed source
     */
    public Fallback without(Reason... unwanted) {
        Set<Reason> left = EnumSet.noneOf(Reason.class);
        left.addAll(reasons);
        left.removeAll(List.of(unwanted));
        return new Fallback(maxWait, sources, left, also);
    }

    /**
     * Goes on to the next source for other failures too, such as a response of the client's own that was turned into an
     * error.
     *
     * @param failures which errors, asked for those that no reason covers; must not block
     * @return the changed source
     */
    public Fallback when(Predicate<? super Throwable> failures) {
        Objects.requireNonNull(failures, "failures");
        return new Fallback(maxWait, sources, reasons, error -> also.test(error) || failures.test(error));
    }

    @Override
    public Mono<Permit> acquire(Demand demand) {
        return acquire(demand, null);
    }

    Mono<Permit> acquire(Demand demand, @Nullable Patience outer) {
        return this.<Permit>walk(
                        (source, patience) ->
                                Sources.acquire(source, demand, patience).flux(),
                        outer)
                .singleOrEmpty();
    }

    <T> Flux<T> use(Sources.Use<T> use, @Nullable Patience outer) {
        return walk((source, patience) -> Sources.use(source, source, use, patience), outer);
    }

    private <T> Flux<T> walk(BiFunction<PermitSource, @Nullable Patience, Flux<T>> asking, @Nullable Patience outer) {
        return Flux.defer(() -> new Walk<>(asking, outer).from(0));
    }

    private static @Nullable Reason reasonOf(Throwable error) {
        if (error instanceof RateLimitedException || error instanceof QueueFullException) {
            return Reason.WAIT;
        }
        if (error instanceof TerminalThrottleException) {
            return Reason.TERMINAL;
        }
        if (error instanceof AttemptTimeoutException || error.getCause() instanceof AttemptTimeoutException) {
            return Reason.TIMEOUT;
        }
        return error instanceof RetriesExhaustedException ? Reason.EXHAUSTED : null;
    }

    @Override
    public String toString() {
        return "first within " + maxWait + " of " + sources;
    }

    /** One call on its way from source to source. */
    private final class Walk<T> {

        private final BiFunction<PermitSource, @Nullable Patience, Flux<T>> asking;
        private final @Nullable Patience outer;
        private final @Nullable Patience patience;
        private final long atFirst;
        private final List<Throwable> failures = new ArrayList<>();
        private @Nullable PermitSource nearest;
        private long shortest = Exact.NEVER;

        Walk(BiFunction<PermitSource, @Nullable Patience, Flux<T>> asking, @Nullable Patience outer) {
            this.asking = asking;
            this.outer = outer;
            long own = Exact.nanos(maxWait);
            this.atFirst = outer == null ? own : Math.min(own, outer.leftNanos());
            // Who may not go on for a wait waits as long as it takes.
            this.patience = reasons.contains(Reason.WAIT) ? new Patience(atFirst) : outer;
        }

        Flux<T> from(int place) {
            PermitSource source = sources.get(place);
            AtomicBoolean emitted = new AtomicBoolean();
            return asking.apply(source, patience)
                    .doOnNext(element -> emitted.setPlain(true))
                    .onErrorResume(error -> emitted.getPlain() || !goesOn(error)
                            ? Flux.error(failed(error))
                            : after(place, source, error));
        }

        private boolean goesOn(Throwable error) {
            Reason reason = reasonOf(error);
            return reason == null ? also.test(error) : reasons.contains(reason);
        }

        private Flux<T> after(int place, PermitSource source, Throwable error) {
            if (reasonOf(error) == Reason.WAIT) {
                Duration left = error instanceof RateLimitedException refused ? refused.retryAfter() : null;
                long wait = left == null ? Exact.NEVER : Exact.nanos(left);
                if (nearest == null || wait < shortest) {
                    nearest = source;
                    shortest = wait;
                }
            }
            if (place + 1 < sources.size()) {
                LOG.debug("{} is left for {}: {}", source, sources.get(place + 1), error.getMessage());
                failures.add(error);
                return from(place + 1);
            }
            PermitSource last = nearest;
            if (outer != null && patience != null) {
                outer.spend(atFirst - patience.leftNanos());
            }
            if (last == null || outer != null) {
                return Flux.error(failed(error));
            }
            LOG.debug("no source has a permit within {}, so {} is waited for", maxWait, last);
            failures.add(error);
            return asking.apply(last, null).onErrorMap(this::failed);
        }

        private Throwable failed(Throwable error) {
            for (Throwable earlier : failures) {
                if (earlier != error && !List.of(error.getSuppressed()).contains(earlier)) {
                    error.addSuppressed(earlier);
                }
            }
            return error;
        }
    }
}
