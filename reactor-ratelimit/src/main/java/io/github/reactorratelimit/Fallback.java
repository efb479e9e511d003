package io.github.reactorratelimit;

import io.github.reactorratelimit.RateLimitedException.Prospect;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/**
 * Several sources in the order they are preferred: the first whose permit comes soon enough, else the one with the shortest
 * wait. A call made with {@link #use} also goes on to the next source when it failed for good at one, before its first
 * element.
 *
 * <p>The longest wait bounds what a call waits in all before the last resort: in line, for scopes to open, and between its
 * attempts, at all sources together. It does not bound the calls themselves; for that there is the attempt timeout. The
 * last resort is asked only if a source was left for its wait and none served: the one that would have had a permit first, or
 * else, where that is not a matter of time but of calls in flight, the preferred one of those. It waits as long as its demand
 * allows. A source that never would serve, because its budget is spent or the demand too heavy, is none. One that refuses at
 * once again, because it has no room to wait in, is closed for longer than is obeyed or would take longer than its demand may
 * wait, is left for the next of them, and so is one whose call fails for good. A source of a user's own that has not answered
 * by then is left too, whatever it makes of the {@link Demand#maxWait} that it is told; a permit that it gives later goes
 * back. A choice among the sources stands for its own sources, with its own reasons; of two longest waits the outer one
 * holds.
 *
 * <p>Immutable and thread-safe. Defaults: every {@link Reason} makes a call go on. Cancelling cancels the call under way;
 * nothing is asked after that. If no source served, the last failure surfaces, with the earlier ones as suppressed; of
 * refusals alone the one of the source that would have served first, or else is preferred.
 */
public final class Fallback implements PermitSource {

    private static final Logger LOG = LoggerFactory.getLogger(Fallback.class);
    /** Its own and ours: an error that is one and the same for every call must not gather what came before each of them. */
    private static final int MOST_SUPPRESSED = 16;

    /** Why a call goes on to the next source. */
    public enum Reason {
        /**
         * No permit in time: the wait would be, or was, too long, for a limit or a cooldown; or there is no room to wait in.
         */
        WAIT,
        /**
         * A breaker is open, because too many calls there failed or timed out, which is not waited for; switched off, it is a
         * wait like any other.
         */
        BREAKER,
        /** All attempts failed, or all refusals that a call bears. */
        EXHAUSTED,
        /** No response head in time, in an attempt that was not to be repeated or in the last one. */
        TIMEOUT,
        /** Refused for a limit that waiting does not help with, such as a spend limit. */
        TERMINAL,
        /** The limiter itself is out of order: the store that its limits are in does not answer, or it is disposed. */
        UNAVAILABLE;

        static @Nullable Reason of(Throwable error) {
            if (error instanceof RateLimitedException refused && refused.prospect() == Prospect.BREAKER) {
                return BREAKER;
            }
            if (error instanceof RateLimitedException || error instanceof QueueFullException) {
                return WAIT;
            }
            if (error instanceof LimiterUnavailableException || error instanceof LimiterDisposedException) {
                return UNAVAILABLE;
            }
            if (error instanceof TerminalThrottleException) {
                return TERMINAL;
            }
            if (error instanceof AttemptTimeoutException || error.getCause() instanceof AttemptTimeoutException) {
                return TIMEOUT;
            }
            return error instanceof RetriesExhaustedException ? EXHAUSTED : null;
        }
    }

    /** One source, as whom a call sees it, and after which errors of its own a call goes on. */
    record Choice(PermitSource source, PermitSource shown, Set<Reason> reasons, Predicate<? super Throwable> also) {

        boolean goesOn(Throwable error) {
            Reason reason = Reason.of(error);
            return reason == null ? also.test(error) : reasons.contains(reason);
        }
    }

    private final Duration maxWait;
    private final List<Choice> choices;

    private Fallback(Duration maxWait, List<Choice> choices) {
        this.maxWait = maxWait;
        this.choices = choices;
    }

    static Fallback of(Duration maxWait, PermitSource preferred, PermitSource... fallbacks) {
        if (Objects.requireNonNull(maxWait, "maxWait").isNegative()) {
            throw new IllegalArgumentException("the longest wait must not be negative, was " + maxWait);
        }
        List<Choice> choices = new ArrayList<>(choices(Objects.requireNonNull(preferred, "preferred")));
        Arrays.stream(fallbacks).forEach(one -> choices.addAll(choices(Objects.requireNonNull(one, "fallback"))));
        for (int i = 0; i < choices.size(); i++) {
            PermitSource source = choices.get(i).source;
            if (choices.subList(0, i).stream().anyMatch(before -> before.source == source)) {
                throw new IllegalArgumentException("a source must be named once, was named twice: " + source);
            }
        }
        return new Fallback(maxWait, List.copyOf(choices));
    }

    private static List<Choice> choices(PermitSource source) {
        if (source instanceof Fallback inner) {
            return inner.choices;
        }
        if (source instanceof AskingSource view
                && !choices(view.source()).get(0).source.equals(view.source())) {
            return choices(view.source()).stream()
                    .map(one -> new Choice(one.source.asking(view.change()), one.shown, one.reasons, one.also))
                    .toList();
        }
        return List.of(new Choice(source, source, EnumSet.allOf(Reason.class), error -> false));
    }

    /**
     * Switches reasons off: what a call fails with for one of them is its outcome. Without {@link Reason#WAIT} it waits at
     * the preferred source as long as its demand allows.
     *
     * @param unwanted the reasons
     * @return the changed source
     */
    public Fallback without(Reason... unwanted) {
        List<Choice> changed = new ArrayList<>();
        for (Choice choice : choices) {
            Set<Reason> left = EnumSet.noneOf(Reason.class);
            left.addAll(choice.reasons);
            left.removeAll(List.of(unwanted));
            changed.add(new Choice(choice.source, choice.shown, left, choice.also));
        }
        return new Fallback(maxWait, List.copyOf(changed));
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
        return new Fallback(
                maxWait,
                choices.stream()
                        .map(one -> new Choice(
                                one.source,
                                one.shown,
                                one.reasons,
                                error -> one.also.test(error) || failures.test(error)))
                        .toList());
    }

    @Override
    public Mono<Permit> acquire(Demand demand) {
        return Mono.from(walk((choice, patience) -> Sources.acquire(choice.source, demand, patience), true));
    }

    <T> Publisher<T> use(Sources.Use<T> use) {
        return walk((choice, patience) -> Sources.use(choice.source, choice.shown, use, patience), use.single());
    }

    // A Mono stays one: what gathers the elements of a Flux loses a permit that a cancel overtakes.
    private <T> Publisher<T> walk(BiFunction<Choice, Patience, Publisher<T>> asking, boolean single) {
        return single
                ? Mono.defer(() -> Mono.from(new Walk<>(asking, true).from(0)))
                : Flux.defer(() -> new Walk<>(asking, false).from(0));
    }

    /** By the time of the first limiter among the sources. */
    private Patience patience() {
        long nanos = Exact.nanos(maxWait);
        for (Choice choice : choices) {
            PermitSource source = choice.source;
            while (source instanceof AskingSource view) {
                source = view.source();
            }
            if (source instanceof RateLimiter limiter) {
                source = limiter.calls();
            }
            if (source instanceof RateLimitOperator operator) {
                Admission admission = operator.admission();
                return new Patience(
                        nanos, admission::now, () -> admission.clock().scheduler());
            }
        }
        return new Patience(nanos, () -> Schedulers.parallel().now(TimeUnit.NANOSECONDS), Schedulers::parallel);
    }

    @Override
    public String toString() {
        return "first within " + maxWait + " of "
                + choices.stream().map(Choice::source).toList();
    }

    /** One call on its way from source to source. */
    private final class Walk<T> {

        private final BiFunction<Choice, Patience, Publisher<T>> asking;
        private final boolean single;
        private final Patience patience = patience();
        private final List<Throwable> failures = new ArrayList<>();
        private final LastResort lastResort = new LastResort();
        private boolean waitedOut;

        Walk(BiFunction<Choice, Patience, Publisher<T>> asking, boolean single) {
            this.asking = asking;
            this.single = single;
        }

        Publisher<T> from(int place) {
            Choice choice = choices.get(place);
            // Who may not go on for a wait waits as long as it takes.
            patience.turnTo(choice.reasons.contains(Reason.WAIT), choice.reasons.contains(Reason.BREAKER));
            return ask(choice, error -> after(place, error));
        }

        private Publisher<T> ask(Choice choice, Function<Throwable, Publisher<T>> next) {
            Function<Throwable, Publisher<T>> after = error -> choice.goesOn(error) ? next.apply(error) : failed(error);
            Publisher<T> asked = asking.apply(choice, patience);
            if (single) {
                return Mono.from(asked).onErrorResume(error -> Mono.from(after.apply(error)));
            }
            AtomicBoolean emitted = new AtomicBoolean();
            return Flux.from(asked)
                    .doOnNext(element -> emitted.setPlain(true))
                    .onErrorResume(error -> emitted.getPlain() ? Flux.error(error) : after.apply(error));
        }

        private Publisher<T> after(int place, Throwable error) {
            Choice choice = choices.get(place);
            if (isWait(error)) {
                // With patience left it was the demand that allowed no more.
                boolean over = hasWaited(error) && patience.leftNanos() > 0;
                lastResort.add(choice, error, patience.nowNanos(), !over);
            }
            if (place + 1 == choices.size()) {
                return again(choice, error);
            }
            tell(error, choice.source, choices.get(place + 1).source);
            failures.add(error);
            return from(place + 1);
        }

        /** None served; now those that were left for their waits, until one has waited for as long as it may. */
        private Publisher<T> again(Choice before, Throwable error) {
            Choice next = lastResort.next();
            failures.add(error);
            if (next == null) {
                return failed(failures.stream().allMatch(Walk::isWait) ? lastResort.telling(error) : error);
            }
            tell(error, before.source, next.source);
            patience.turnTo(waitedOut, waitedOut);
            return ask(next, end -> {
                if (isWait(end)) {
                    lastResort.refusedAgain(end);
                    // Nobody waits all that a demand allows only to wait as long for another source.
                    waitedOut |= hasWaited(end);
                }
                return again(next, end);
            });
        }

        private static boolean hasWaited(Throwable error) {
            return error instanceof RateLimitedException refused && refused.prospect() == Prospect.WAITED;
        }

        private static boolean isWait(Throwable error) {
            Reason reason = Reason.of(error);
            return reason == Reason.WAIT || reason == Reason.BREAKER;
        }

        /** Without the error's message, which may be a client's and tell of tokens or queries. */
        private void tell(Throwable error, PermitSource from, PermitSource to) {
            Reason reason = Reason.of(error);
            LOG.debug(
                    "{} is left for {}: {}",
                    from,
                    to,
                    reason == null ? error.getClass().getSimpleName() : reason);
        }

        private Publisher<T> failed(Throwable error) {
            for (Throwable earlier : failures) {
                List<Throwable> told = List.of(error.getSuppressed());
                if (earlier != error && !told.contains(earlier) && told.size() < MOST_SUPPRESSED) {
                    error.addSuppressed(earlier);
                }
            }
            return single ? Mono.error(error) : Flux.error(error);
        }
    }
}
