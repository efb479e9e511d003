package io.github.reactorratelimit;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * One call of {@link BatchRetry}, in rounds: every part that is pending and waits for no other is sent, and when all those
 * batches are over the next round begins. The batches of a round may be answered on several threads at once, but a part is
 * in one of them only.
 */
final class BatchRun<P, S> {

    private final RateLimitOperator calls;
    private final BatchReader<P, S> reader;
    private final Demand each;
    private final Function<? super List<P>, ? extends Mono<? extends List<S>>> function;
    private final BatchParts<P, S> parts;
    private final long startedAt;
    private final AtomicInteger most;
    /** A batch of this round was too large: what is behind it waits, so that no part overtakes those in it. */
    private volatile boolean tooLarge;

    /** @throws IllegalArgumentException if the requests are no batch */
    BatchRun(
            RateLimitOperator calls,
            BatchReader<P, S> reader,
            int most,
            List<P> requests,
            Demand each,
            Function<? super List<P>, ? extends Mono<? extends List<S>>> function) {
        this.calls = calls;
        this.reader = reader;
        this.most = new AtomicInteger(most);
        this.each = each;
        this.function = function;
        this.startedAt = calls.admission().now();
        this.parts = new BatchParts<>(requests, reader, () -> behind(each));
    }

    private Retries behind(Demand demand) {
        return new Retries(calls.admission().settings(), calls.policy(), calls.budget(), demand, startedAt);
    }

    Mono<List<BatchOutcome<S>>> outcomes() {
        return Mono.defer(this::round)
                .repeat(() -> parts.asked().stream().anyMatch(BatchPart::isPending))
                .then(Mono.fromSupplier(
                        () -> parts.asked().stream().map(BatchPart::outcome).toList()));
    }

    private Mono<Void> round() {
        tooLarge = false;
        fit();
        List<List<BatchPart<P, S>>> batches = cut();
        return batches.isEmpty()
                ? Mono.empty()
                : Flux.fromIterable(batches).flatMap(this::send, batches.size()).then();
    }

    /**
     * What can be sent now, in batches of at most the size that fits. What waits only so long for its first permit is not
     * sent with parts that are sent again: those wait for as long as it takes.
     */
    private List<List<BatchPart<P, S>>> cut() {
        boolean apart = each.maxWaitNanos() != Exact.NEVER;
        List<List<BatchPart<P, S>>> batches = new ArrayList<>();
        List<BatchPart<P, S>> fresh = new ArrayList<>();
        List<BatchPart<P, S>> again = new ArrayList<>();
        int size = most.get();
        for (BatchPart<P, S> part : parts.toSend()) {
            BatchPart<P, S> failed = part.isPending() ? part.failedParent() : null;
            if (failed != null) {
                part.failedFor(failed, calls.admission().settings().name());
            }
            List<BatchPart<P, S>> current = apart && part.isNew() ? fresh : again;
            if (part.isPending() && !part.waitsFor(current)) {
                current.add(part);
                if (current.size() == size) {
                    batches.add(List.copyOf(current));
                    current.clear();
                }
            }
        }
        Stream.of(again, fresh).filter(rest -> !rest.isEmpty()).forEach(batches::add);
        return batches;
    }

    private Mono<Void> send(List<BatchPart<P, S>> some) {
        if (tooLarge) {
            return Mono.empty();
        }
        Retries behind = behind(calls.priced(each.times(some.size())));
        int before = 0;
        long longest = 0;
        for (BatchPart<P, S> part : some) {
            before = Math.max(before, part.retries.attempts());
            longest = Math.max(longest, part.retries.takeRest());
        }
        long rest = longest;
        behind.goesOn(before);
        behind.rest(rest);
        BatchSend<P, S> batch = new BatchSend<>(calls, reader, function, some, behind);
        return batch.then().onErrorResume(error -> {
            if (!batch.wasGranted()) {
                refused(some, behind.demand(), rest, error);
            }
            return Mono.empty(); // Else the attempt has had its verdict.
        });
    }

    private void refused(List<BatchPart<P, S>> some, Demand demand, long rest, Throwable error) {
        long fits = error instanceof RateLimitedException refusal ? fits(some.size(), demand, refusal.limit()) : 0;
        if (fits > 0) {
            tooLarge = true;
            most.accumulateAndGet((int) fits, Math::min);
            some.forEach(part -> part.retries.rest(rest));
        } else {
            some.forEach(part -> part.refused(error));
        }
    }

    /** As far as it is known without asking for a permit, so that nobody is told of refusals that refuse nothing. */
    private void fit() {
        long size = parts.asked().stream()
                .filter(BatchPart::isPending)
                .limit(most.get())
                .count();
        while (size > 1) {
            Demand demand = calls.priced(each.times((int) size));
            size = fits((int) size, demand, refusing(demand));
            if (size > 0) {
                most.set((int) size);
            }
        }
    }

    private @Nullable Limit refusing(Demand demand) {
        try {
            Decision now = calls.admission().decisions().estimate(demand);
            return now.allowed() ? null : now.limit();
        } catch (RuntimeException e) {
            return null; // Asking for the permit will tell.
        }
    }

    /** How many parts would pass a limit that is smaller than a batch; 0 if that is not why it refuses. */
    private static long fits(int size, Demand demand, @Nullable Limit limit) {
        if (limit == null || size == 1) {
            return 0;
        }
        if (limit.kind() == Limit.Kind.TOTAL) {
            return size / 2;
        }
        long cost = demand.cost(limit.unit());
        return cost > limit.permits() ? Math.max(1, size * limit.permits() / cost) : 0;
    }
}
