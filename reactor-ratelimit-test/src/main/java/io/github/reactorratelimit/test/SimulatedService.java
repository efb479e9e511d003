package io.github.reactorratelimit.test;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.NANOSECONDS;

import java.time.Duration;
import java.time.Instant;
import java.util.function.Supplier;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/**
 * A rate-limited service without sockets, in the time of a scheduler: under {@code StepVerifier.withVirtualTime} an
 * hour passes in a millisecond. Its decisions are those of the real {@link RateLimitedServer}.
 *
 * <p>The scheduler is asked for at each call, {@link Schedulers#parallel()} by default, and its {@code
 * now(MILLISECONDS)} is the server's wall clock. The virtual clock of {@code StepVerifier} starts in 1970, where seconds
 * since the epoch can't be told from a number of seconds; the server's then starts in 2026, at {@value InVirtualTime#START}.
 *
 * <p>A request that was sent arrives, whether its caller is still there or not: cancelling a call does not take it
 * back, as on a real wire.
 */
public final class SimulatedService {

    /** From here on, in 2001, a number of seconds is read as a time and not as a span. */
    private static final long FIRST_EPOCH_MILLIS = 1_000_000_000_000L;

    private final RateLimitedService service;
    private final Supplier<? extends Scheduler> scheduler;
    private final Supplier<Duration> there;
    private final Supplier<Duration> back;

    private SimulatedService(
            RateLimitedService service,
            Supplier<? extends Scheduler> scheduler,
            Supplier<Duration> there,
            Supplier<Duration> back) {
        this.service = service;
        this.scheduler = scheduler;
        this.there = there;
        this.back = back;
    }

    /**
     * A service that knows no path yet; the same as {@link ServiceRules#create()}, whose {@link
     * ServiceRules#simulate()} ends it.
     *
     * @return the empty rules
     */
    public static ServiceRules create() {
        return ServiceRules.create();
    }

    static SimulatedService of(RateLimitedService service) {
        return new SimulatedService(service, Schedulers::parallel, () -> Duration.ZERO, () -> Duration.ZERO);
    }

    /**
     * Sets how long every request and every answer is on its way; both are 0 by default.
     *
     * @param there from sending to arrival, not negative
     * @param back from the answer to its head at the caller, not negative
     * @return the same service, with the same counts and log, at that distance
     */
    public SimulatedService latency(Duration there, Duration back) {
        Checks.notNegative("the latency there", there);
        Checks.notNegative("the latency back", back);
        return latency(() -> there, () -> back);
    }

    /**
     * Sets how long each request and each answer is on its way, asked anew for each.
     *
     * @param there from sending to arrival; a negative one counts as 0
     * @param back from the answer to its head at the caller; a negative one counts as 0
     * @return the same service, with the same counts and log, at that distance
     */
    public SimulatedService latency(Supplier<Duration> there, Supplier<Duration> back) {
        return new SimulatedService(service, scheduler, there, back);
    }

    /**
     * Sets the scheduler whose time it is, in place of {@link Schedulers#parallel()}.
     *
     * @param scheduler asked at each call
     * @return the same service, with the same counts and log, in that time
     */
    public SimulatedService on(Supplier<? extends Scheduler> scheduler) {
        return new SimulatedService(service, scheduler, there, back);
    }

    /**
     * Sends one request per subscription. The answer comes on the scheduler's thread, or on the caller's where there is
     * no latency. A connection that is reset before the head fails with {@link java.net.SocketException}, a closed one
     * with {@link java.io.EOFException}; one that hangs never answers.
     *
     * @param request what is asked
     * @return the head of the answer, whatever its status
     */
    public Mono<SimulatedResponse> call(SimulatedRequest request) {
        return Mono.defer(() -> {
            Scheduler at = scheduler.get();
            return send(request, at).flatMap(reply -> deliver(reply, at));
        });
    }

    /**
     * What it has seen so far.
     *
     * @return the live log
     */
    public RequestLog log() {
        return service.log();
    }

    private Mono<Reply> send(SimulatedRequest request, Scheduler at) {
        Duration way = there.get();
        if (!isPositive(way)) {
            return Mono.just(service.answer(request, wallMillis(at)));
        }
        Sinks.One<Reply> answer = Sinks.one();
        // Not tied to the subscriber: what is on the wire arrives.
        at.schedule(() -> arrive(request, at, answer), way.toNanos(), NANOSECONDS);
        return answer.asMono();
    }

    private static long wallMillis(Scheduler at) {
        long now = at.now(MILLISECONDS);
        return now < FIRST_EPOCH_MILLIS ? Instant.parse(InVirtualTime.START).toEpochMilli() + now : now;
    }

    private void arrive(SimulatedRequest request, Scheduler at, Sinks.One<Reply> answer) {
        try {
            answer.tryEmitValue(service.answer(request, wallMillis(at)));
        } catch (RuntimeException | AssertionError failed) {
            // Beyond the script; or a limit of the test's own, which else nobody would hear of.
            answer.tryEmitError(failed);
        }
    }

    private Mono<SimulatedResponse> deliver(Reply reply, Scheduler at) {
        Mono<SimulatedResponse> head = switch (reply.delivery()) {
            case HANG -> Mono.never();
            case RESET, CLOSE -> Mono.error(ReplyBody.cut(reply));
            default -> Mono.just(new SimulatedResponse(reply, at));
        };
        Duration way = back.get();
        Duration rest = isPositive(way) ? reply.delay().plus(way) : reply.delay();
        return ReplyBody.pause(rest, at).then(head);
    }

    private static boolean isPositive(Duration duration) {
        return !duration.isZero() && !duration.isNegative();
    }

    @Override
    public String toString() {
        return "SimulatedService[" + log() + "]";
    }
}
