package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.Headers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;

/**
 * A server by script: each subscription gets the next answer, the last one over and over. It notes when each attempt was
 * subscribed, and which were cancelled or discarded.
 */
final class RetryScript {

    /** What a client's response looks like: status and header lines as name, value, name, value. */
    record Response(int status, List<String> lines) {

        static Response of(int status, String... lines) {
            return new Response(status, List.of(lines));
        }
    }

    /** A client's own exception; {@link #FAILURES} knows how far its call got. */
    static final class ClientError extends RuntimeException {

        private static final long serialVersionUID = 1L;

        private final transient Failure failure;

        ClientError(String message, Failure failure) {
            super(message);
            this.failure = failure;
        }
    }

    static final FailureReader FAILURES = error -> error instanceof ClientError known ? known.failure : null;

    private final Scheduler time;
    private final List<Mono<Response>> answers = new ArrayList<>();
    private final List<Long> subscribedAt = new ArrayList<>();
    private final List<Response> discarded = new ArrayList<>();
    private int running;
    private int mostRunning;
    private int cancelled;
    private Publisher<Void> drain = Mono.empty();

    RetryScript(Scheduler time) {
        this.time = time;
    }

    RetryScript then(int status, String... lines) {
        return then(Mono.just(Response.of(status, lines)));
    }

    RetryScript then(String message, Failure failure) {
        return then(Mono.error(() -> new ClientError(message, failure)));
    }

    RetryScript then(Mono<Response> answer) {
        answers.add(answer);
        return this;
    }

    /** How long it takes to free a discarded response. */
    RetryScript draining(Publisher<Void> lasts) {
        drain = lasts;
        return this;
    }

    Mono<Response> call() {
        return Mono.defer(() -> {
                    Mono<Response> answer = answers.get(Math.min(subscribedAt.size(), answers.size() - 1));
                    subscribedAt.add(time.now(TimeUnit.NANOSECONDS));
                    mostRunning = Math.max(mostRunning, ++running);
                    return answer;
                })
                .doOnCancel(() -> cancelled++)
                .doFinally(end -> running--);
    }

    /** Installs readers for this script's responses and failures. */
    RateLimitOperator on(RateLimitOperator calls) {
        return calls.responses(Response.class, new Reader()).failures(FAILURES);
    }

    int wire() {
        return subscribedAt.size();
    }

    List<Duration> times() {
        return subscribedAt.stream().map(Duration::ofNanos).toList();
    }

    int mostRunning() {
        return mostRunning;
    }

    int running() {
        return running;
    }

    int cancelled() {
        return cancelled;
    }

    List<Response> discarded() {
        return discarded;
    }

    private final class Reader implements ResponseReader<Response> {

        @Override
        public int status(Response response) {
            return response.status();
        }

        @Override
        public Headers headers(Response response) {
            return Headers.of(response.lines().toArray(String[]::new));
        }

        @Override
        public Publisher<Void> discard(Response response) {
            discarded.add(response);
            return drain;
        }
    }
}
