package io.github.reactorratelimit;

import static java.time.Duration.ofHours;

import io.github.reactorratelimit.RetryScript.ClientError;
import io.github.reactorratelimit.signal.Headers;
import java.net.ConnectException;
import java.net.SocketException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.test.subscriber.TestSubscriber;

/**
 * A server of batches by script, and a limiter in front of it: each part gets its next answer, a 200 when there is none
 * left, and the answers come in another order than they were asked in.
 */
abstract class BatchScript {

    record Part(String id, boolean idempotent, List<String> dependsOn) {}

    record Answer(String id, int status, List<String> lines) {}

    /** A batch as it came over the wire. */
    record Wire(Duration at, List<String> ids) {}

    static class Reader implements BatchReader<Part, Answer> {

        @Override
        public Object id(Part part) {
            return part.id;
        }

        @Override
        public Object idOf(Answer answer) {
            return answer.id;
        }

        @Override
        public int status(Answer answer) {
            return answer.status;
        }

        @Override
        public Headers headers(Answer answer) {
            return Headers.of(answer.lines.toArray(new String[0]));
        }

        @Override
        public boolean isIdempotent(Part part) {
            return part.idempotent;
        }

        @Override
        public Collection<?> dependsOn(Part part) {
            return part.dependsOn;
        }
    }

    /** Knows how far a batch got that failed as a whole. */
    static final FailureReader FAILURES = error -> {
        if (error instanceof ConnectException) {
            return Failure.notSent();
        }
        return error instanceof SocketException ? Failure.interrupted() : RetryScript.FAILURES.read(error);
    };

    final VirtualTime time = new VirtualTime();
    final List<Wire> wire = new ArrayList<>();
    /** What the function saw of its attempt: the number, and how long it waited. */
    final List<String> seen = new ArrayList<>();

    private final Map<String, Deque<Answer>> script = new HashMap<>();
    private final Deque<Throwable> broken = new ArrayDeque<>();
    Duration takes = Duration.ZERO;
    RateLimiter limiter = time.spec().random(() -> 0.5).build();
    RetryPolicy policy = RetryPolicy.standard();
    int most = 20;

    static Part get(String id, String... dependsOn) {
        return new Part(id, true, List.of(dependsOn));
    }

    static Part post(String id, String... dependsOn) {
        return new Part(id, false, List.of(dependsOn));
    }

    static List<Part> gets(int count) {
        List<Part> parts = new ArrayList<>();
        for (int i = 1; i <= count; i++) {
            parts.add(get("p" + i));
        }
        return parts;
    }

    static Answer answer(String id, int status, String... lines) {
        return new Answer(id, status, List.of(lines));
    }

    /** The next answer to a part; of status 0 it is none at all. */
    final BatchScript then(String id, int status, String... lines) {
        script.computeIfAbsent(id, key -> new ArrayDeque<>()).add(answer(id, status, lines));
        return this;
    }

    /** What a batch fails with as a whole, instead of any answer. */
    final BatchScript thenFails(Throwable error) {
        broken.add(error);
        return this;
    }

    /** What a batch is refused with as a whole; the client throws it. */
    final BatchScript thenFails(int status, String... lines) {
        return thenFails(new ClientError("the batch got a " + status, Failure.response(status, Headers.of(lines))));
    }

    final Mono<List<Answer>> answers(List<Part> parts) {
        Mono<List<Answer>> answered = Mono.fromCallable(() -> {
            wire.add(new Wire(time.elapsed(), parts.stream().map(Part::id).toList()));
            Throwable failure = broken.poll();
            if (failure instanceof Exception e) {
                throw e;
            }
            List<Answer> answers = new ArrayList<>();
            for (Part part : parts) {
                Deque<Answer> next = script.getOrDefault(part.id, new ArrayDeque<>());
                Answer scripted = next.poll();
                if (scripted == null || scripted.status != 0) {
                    answers.add(0, scripted == null ? answer(part.id, 200) : scripted);
                }
            }
            return answers;
        });
        return Mono.deferContextual(context -> {
            seen.add(RateLimitContext.attempt(context) + " after " + RateLimitContext.waited(context));
            return takes.isZero() ? answered : answered.delayElement(takes, time.scheduler());
        });
    }

    RateLimitOperator calls() {
        return limiter.calls().retry(policy).failures(FAILURES);
    }

    final BatchRetry<Part, Answer> batches() {
        return BatchRetry.of(calls(), new Reader()).atMost(most);
    }

    final TestSubscriber<List<BatchOutcome<Answer>>> start(Demand demand, List<Part> parts) {
        TestSubscriber<List<BatchOutcome<Answer>>> result = TestSubscriber.create();
        batches().send(parts, demand, this::answers).subscribe(result);
        return result;
    }

    final List<BatchOutcome<Answer>> run(Part... parts) {
        return run(List.of(parts));
    }

    final List<BatchOutcome<Answer>> run(List<Part> parts) {
        return run(Demand.one(), parts);
    }

    final List<BatchOutcome<Answer>> run(Demand demand, List<Part> parts) {
        TestSubscriber<List<BatchOutcome<Answer>>> result = start(demand, parts);
        time.advance(ofHours(2));
        return result.getReceivedOnNext().get(0);
    }

    static Throwable failure(BatchOutcome<Answer> outcome) {
        return outcome.failure().orElseThrow();
    }

    final @Nullable Throwable error(Part... parts) {
        return start(Demand.one(), List.of(parts)).expectTerminalError();
    }

    static List<String> texts(List<BatchOutcome<Answer>> outcomes) {
        return outcomes.stream().map(BatchScript::text).toList();
    }

    private static String text(BatchOutcome<Answer> outcome) {
        String answer =
                outcome.answer().map(known -> known.id + "=" + known.status).orElse("none");
        return answer
                + outcome.failure()
                        .map(why -> " " + why.getClass().getSimpleName())
                        .orElse("")
                + " ×" + outcome.sends();
    }

    static Wire at(Duration at, String... ids) {
        return new Wire(at, List.of(ids));
    }
}
