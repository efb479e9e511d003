package io.github.reactorratelimit;

import io.github.reactorratelimit.BatchAnswer.Read;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * One call of {@link BatchRetry}, in rounds: every part that is pending and waits for no other is sent, and when all those
 * batches are answered the next round begins. The batches of a round may be answered on several threads at once.
 */
final class BatchRun<P, S> {

    private final RateLimitOperator calls;
    private final BatchReader<P, S> reader;
    private final Demand each;
    private final Function<? super List<P>, ? extends Mono<? extends List<S>>> batch;
    private final RateLimitOperator once;
    private final List<BatchPart<P, S>> parts = new ArrayList<>();
    private final long startedAt;
    private int most;
    private long restNanos;

    BatchRun(
            RateLimitOperator calls,
            BatchReader<P, S> reader,
            int most,
            List<P> requests,
            Demand each,
            Function<? super List<P>, ? extends Mono<? extends List<S>>> batch) {
        this.calls = calls;
        this.reader = reader;
        this.most = most;
        this.each = each;
        this.batch = batch;
        // The operator hears what a batch says and hands it on, for only parts are tried again.
        this.once = calls.retry(calls.policy().once()).responses(BatchHead.class, BatchHead.READER);
        this.startedAt = calls.admission().now();
        Map<Object, BatchPart<P, S>> byId = new HashMap<>();
        for (P request : requests) {
            BatchPart<P, S> part = new BatchPart<>(request, reader.id(request), reader.isIdempotent(request));
            if (byId.put(part.id, part) != null) {
                throw new IllegalArgumentException(
                        "the parts of a batch must each have their own id, '" + part.id + "' came twice");
            }
            parts.add(part);
        }
        parts.forEach(part -> adopt(part, byId));
    }

    private void adopt(BatchPart<P, S> part, Map<Object, BatchPart<P, S>> byId) {
        for (Object id : reader.dependsOn(part.request)) {
            BatchPart<P, S> parent = byId.get(id);
            if (parent == null) {
                throw new IllegalArgumentException(
                        "a part must depend on parts of its own batch, '" + part.id + "' depends on '" + id + "'");
            }
            part.parents.add(parent);
        }
    }

    Mono<List<BatchOutcome<S>>> rounds() {
        List<List<BatchPart<P, S>>> round = nextRound();
        if (round.isEmpty()) {
            return Mono.just(parts.stream().map(BatchPart::outcome).toList());
        }
        long rest = restNanos;
        restNanos = 0;
        return Flux.fromIterable(round)
                .flatMap(some -> send(some, rest), round.size())
                .then(Mono.defer(this::rounds));
    }

    private List<List<BatchPart<P, S>>> nextRound() {
        List<List<BatchPart<P, S>>> round = new ArrayList<>();
        List<BatchPart<P, S>> current = new ArrayList<>();
        boolean waiting = false;
        for (BatchPart<P, S> part : parts) {
            BatchPart<P, S> failed = part.isPending() ? part.failedParent() : null;
            if (failed != null) {
                giveUp(part, "'" + failed.id + "', which it depends on, failed", null);
            }
            if (!part.isPending()) {
                continue;
            }
            if (part.waitsFor(current)) {
                waiting = true;
                continue;
            }
            current.add(part);
            if (current.size() == most) {
                round.add(current);
                current = new ArrayList<>();
            }
        }
        if (!current.isEmpty()) {
            round.add(current);
        }
        if (waiting && round.isEmpty()) {
            throw new IllegalArgumentException("the parts of a batch must not depend on each other in a circle");
        }
        return round;
    }

    private Mono<Void> send(List<BatchPart<P, S>> some, long rest) {
        Demand demand = calls.priced(each.times(some.size()));
        Mono<BatchAnswer<S>> source = Mono.defer(() -> {
            some.forEach(part -> part.sends++);
            return batch.apply(some.stream().map(part -> part.request).toList())
                    .map(answers -> new BatchAnswer<>(answers, reader, calls));
        });
        return limited(some, demand, source, rest)
                .doOnNext(answer -> answered(some, answer))
                .switchIfEmpty(Mono.fromRunnable(() -> answered(some, new BatchAnswer<>(List.of(), reader, calls))))
                .onErrorResume(error -> {
                    failed(some, demand, error);
                    return Mono.empty();
                })
                .then();
    }

    /** A batch that holds a part that was sent before stands at the front of its line, after its rest. */
    private Mono<BatchAnswer<S>> limited(
            List<BatchPart<P, S>> some, Demand demand, Mono<BatchAnswer<S>> source, long rest) {
        boolean again = some.stream().anyMatch(part -> part.sends > 0);
        if (!again) {
            return Mono.from(once.<BatchAnswer<S>>limit(demand).apply(source));
        }
        Retries behind = new Retries(calls.admission().settings(), once.policy(), calls.budget(), demand, startedAt);
        behind.rest(rest);
        return MonoLimit.again(once, demand, source, behind);
    }

    // ------------------------------------------------------------------------------------------- what came of it

    private synchronized void answered(List<BatchPart<P, S>> some, BatchAnswer<S> answer) {
        for (BatchPart<P, S> part : some) {
            Read<S> read = answer.to(part.id);
            if (read == null) {
                interrupted(part, new IllegalStateException("the batch was answered without part '" + part.id + "'"));
            } else if (read.status() == 424 && part.parents.stream().anyMatch(BatchPart::isPending)) {
                part.answer = read.answer(); // It is sent again with the part that it failed for.
            } else {
                heard(part, read.answer(), read.signal());
            }
        }
    }

    private void heard(BatchPart<P, S> part, @Nullable S answer, RateLimitSignal signal) {
        Outcome outcome = Outcome.of(signal);
        part.answer = answer;
        switch (outcome) {
            case TERMINAL ->
                part.failed(new TerminalThrottleException(
                        name(), List.of(), String.valueOf(signal.terminal()), signal, null));
            case THROTTLED -> {
                if (part.refusals >= calls.policy().refusals()) {
                    giveUp(part, "it was refused for a limit " + (part.refusals + 1) + " times", signal);
                } else {
                    part.refusals++; // What the batch said has closed the scope, so there is nothing to rest for.
                }
            }
            case UNAVAILABLE, FAILED -> {
                if (part.idempotent) {
                    failedOnce(part, outcome == Outcome.UNAVAILABLE, signal, null);
                } else if (answer == null) {
                    giveUp(part, "it must not be repeated", signal);
                } else {
                    part.answered(answer, false);
                }
            }
            default -> {
                if (answer == null) {
                    giveUp(part, "its batch was answered as a whole", signal);
                } else {
                    part.answered(answer, signal.status() < 400);
                    calls.budget().returnSuccess();
                }
            }
        }
    }

    private synchronized void failed(List<BatchPart<P, S>> some, Demand demand, Throwable error) {
        Failure failure = calls.read(error);
        long fits = error instanceof RateLimitedException refusal ? fits(some.size(), demand, refusal) : 0;
        if (fits > 0) {
            most = (int) Math.min(most, fits);
            return;
        }
        for (BatchPart<P, S> part : some) {
            if (failure == null) {
                part.failed(error);
                continue;
            }
            switch (failure.kind()) {
                case RESPONSE -> heard(part, null, calls.read(failure.status(), failure.headers()));
                case NOT_SENT -> failedOnce(part, false, null, error);
                case INTERRUPTED -> interrupted(part, error);
                case REFUSED, FINAL -> part.failed(error);
            }
        }
    }

    /** How many parts would pass a limit that is smaller than a batch; 0 if that is not why it was refused. */
    private long fits(int size, Demand demand, RateLimitedException refusal) {
        Limit limit = refusal.limit();
        if (limit == null || size == 1) {
            return 0;
        }
        if (limit.kind() == Limit.Kind.TOTAL) {
            return size / 2;
        }
        long cost = calls.priced(demand).cost(limit.unit());
        return cost > limit.permits() ? Math.max(1, size * limit.permits() / cost) : 0;
    }

    private void interrupted(BatchPart<P, S> part, Throwable error) {
        if (part.idempotent) {
            failedOnce(part, false, null, error);
        } else {
            part.failed(error);
        }
    }

    private void failedOnce(
            BatchPart<P, S> part, boolean unavailable, @Nullable RateLimitSignal signal, @Nullable Throwable error) {
        RetryPolicy policy = calls.policy();
        if (part.failures + 1 >= policy.attempts()) {
            giveUp(part, "that were all its attempts", signal, error);
        } else if (!calls.budget().takeRetry()) {
            giveUp(part, "the retry budget is used up", signal, error);
        } else {
            double random = calls.admission().settings().random().getAsDouble();
            restNanos = Math.max(restNanos, policy.waitNanos(unavailable, part.failures, random));
            part.failures++;
        }
    }

    private void giveUp(BatchPart<P, S> part, String why, @Nullable RateLimitSignal signal) {
        giveUp(part, why, signal, null);
    }

    private void giveUp(BatchPart<P, S> part, String why, @Nullable RateLimitSignal signal, @Nullable Throwable error) {
        RateLimitSignal said = signal == null ? RateLimitSignal.none(0) : signal;
        Throwable cause = error != null ? error : new RefusedResponseException(name(), List.of(), said);
        Duration taken = Duration.ofNanos(calls.admission().now() - startedAt);
        part.failed(new RetriesExhaustedException(
                name(), List.of(), why, part.sends, said.status(), said.hint(), taken, part.sends > 0, cause));
    }

    private String name() {
        return calls.admission().settings().name();
    }
}
