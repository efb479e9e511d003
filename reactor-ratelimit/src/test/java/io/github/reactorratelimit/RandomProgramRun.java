package io.github.reactorratelimit;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Model.Told;
import io.github.reactorratelimit.ModelDemand.State;
import io.github.reactorratelimit.RandomProgram.Step;
import io.github.reactorratelimit.RateLimiterSnapshot.ScopeState;
import io.github.reactorratelimit.signal.Quota;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import reactor.test.scheduler.VirtualTimeScheduler;

/** Runs one program against the model and against the core, and compares them after every step. */
final class RandomProgramRun {

    private static final long MILLI = 1_000_000;
    private static final long[] TIMES = {
        0,
        1,
        MILLI,
        50 * MILLI,
        300 * MILLI,
        700 * MILLI,
        1_000 * MILLI,
        1_001 * MILLI,
        2_000 * MILLI,
        2_002 * MILLI,
        5_000 * MILLI,
        12_000 * MILLI,
        40_000 * MILLI
    };
    private static final long[] WAITS = {
        Exact.NEVER,
        0,
        Exact.NEVER,
        300 * MILLI,
        701 * MILLI,
        1_001 * MILLI,
        2_002 * MILLI,
        3_003 * MILLI,
        30_000 * MILLI
    };
    private static final List<RateLimitSignal> SIGNALS = List.of(
            RateLimitSignal.none(200),
            RateLimitSignal.of(429).throttled(true).build(),
            RateLimitSignal.none(500),
            RateLimitSignal.of(304).cost(0).build(),
            RateLimitSignal.of(429).throttled(true).delay(Duration.ZERO).build(),
            RateLimitSignal.of(429)
                    .throttled(true)
                    .delay(Duration.ofMillis(500))
                    .build(),
            RateLimitSignal.of(429)
                    .throttled(true)
                    .delay(Duration.ofSeconds(3))
                    .coarse(true)
                    .build(),
            RateLimitSignal.of(429)
                    .throttled(true)
                    .delay(Duration.ofSeconds(20))
                    .build(),
            exhausted(Limit.REQUESTS, Duration.ofMillis(1_500), false),
            exhausted(Limit.REQUESTS, Duration.ofSeconds(3), true),
            exhausted("tokens", Duration.ofSeconds(2), false),
            exhausted(Limit.REQUESTS, Duration.ofSeconds(15), false),
            RateLimitSignal.none(200),
            refused("endpoint", Duration.ofMillis(700)),
            refused("method", Duration.ofMillis(700)),
            refused("application", null),
            refused("endpoint, method", null),
            left(3, 5, Duration.ofSeconds(2), false, null),
            left(1, 5, Duration.ofMillis(1_300), false, null),
            left(4, 5, Duration.ofSeconds(3), true, null),
            left(2, 9, Duration.ofSeconds(1), true, null),
            left(0, 5, Duration.ofSeconds(1), true, "o1"),
            left(2, 2, Duration.ofSeconds(2), false, "u2"),
            left(2, 3, Duration.ofSeconds(2), false, "shared"),
            left(0, 3, Duration.ofMillis(1_700), false, "shared"),
            left(List.of("minute", "day"), 4, Duration.ofSeconds(2), 3, Duration.ofSeconds(5), null),
            left(List.of("minute", "day"), 2, Duration.ofMillis(900), 0, Duration.ofMillis(1_600), null),
            left(List.of("minute"), 3, Duration.ofSeconds(2), 0, Duration.ZERO, null),
            left(List.of("day"), 0, Duration.ofSeconds(3), 0, Duration.ZERO, Duration.ofSeconds(5)),
            used(0.85),
            used(0.9),
            used(1.3));

    private static RateLimitSignal refused(String scope, @Nullable Duration delay) {
        return RateLimitSignal.of(429).throttled(true).scope(scope).delay(delay).build();
    }

    private static RateLimitSignal left(
            long remaining, long limit, Duration reset, boolean coarse, @Nullable String partition) {
        Quota quota = new Quota("", Limit.REQUESTS, limit, remaining, -1, reset, null, partition, coarse);
        RateLimitSignal.Builder signal = RateLimitSignal.of(200).quotas(List.of(quota));
        return remaining > 0
                ? signal.build()
                : signal.delay(reset).coarse(coarse).build();
    }

    /** What is left of one or two quotas under names of their own, and a hint. */
    private static RateLimitSignal left(
            List<String> names, long one, Duration oneReset, long other, Duration otherReset, @Nullable Duration hint) {
        List<Quota> quotas = new ArrayList<>();
        quotas.add(new Quota(names.get(0), Limit.REQUESTS, 6, one, -1, oneReset, null, null));
        if (names.size() > 1) {
            quotas.add(new Quota(names.get(1), Limit.REQUESTS, 8, other, -1, otherReset, null, null));
        }
        Duration longest = quotas.stream()
                .filter(Quota::exhausted)
                .map(Quota::reset)
                .reduce(hint, (a, b) -> a == null || (b != null && b.compareTo(a) > 0) ? b : a);
        return RateLimitSignal.of(200).quotas(quotas).delay(longest).build();
    }

    private static RateLimitSignal used(double share) {
        return RateLimitSignal.of(200).usage(share).build();
    }

    private static RateLimitSignal exhausted(String unit, Duration delay, boolean coarse) {
        return RateLimitSignal.of(200)
                .quotas(List.of(new Quota("", unit, 5, 0, -1, delay, null, null)))
                .delay(delay)
                .coarse(coarse)
                .build();
    }

    private final RandomProgram program;
    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final Admission core;
    private final Model model;
    private final Map<Integer, Ticket> tickets = new HashMap<>();
    private final List<Told> told = new ArrayList<>();
    private boolean changed;

    RandomProgramRun(RandomProgram program) {
        this.program = program;
        RateLimiterSpec spec = program.spec(program.applied(false), time);
        core = new Admission(spec.settings(), spec.rootLimits(), spec.scopes(), spec.schedulers());
        core.now();
        model = new Model(spec.settings(), program.applied(false));
    }

    void run() {
        for (int i = 0; i < program.steps().size(); i++) {
            Step step = program.steps().get(i);
            String where = "step " + i + ", " + step + " at " + model.now();
            carryOut(step, where);
            compare(where, step.pick() % 2 == 0);
        }
        comeToRest();
    }

    private void carryOut(Step step, String where) {
        switch (step.op()) {
            case ACQUIRE -> acquire(step, 0);
            case REST -> acquire(step, TIMES[step.time() % 6]);
            case TRY -> tryAcquire(step, true, where);
            case ESTIMATE -> tryAcquire(step, false, where);
            case TIME -> advance(TIMES[step.time() % TIMES.length]);
            case TO_NEXT -> advanceToNext(0);
            case TO_JUST_BEFORE_NEXT -> advanceToNext(1);
            case PAUSE, RESUME, CHANGE, DISPOSE -> byHand(step);
            default -> tell(step);
        }
    }

    // -------------------------------------------------------------------------------------------------------- steps

    private void acquire(Step step, long restNanos) {
        Demand demand = demand(step);
        Ticket.Tells tells = List.of(Ticket.Tells.values()).get(step.pick() % 3);
        Recorded ticket = new Recorded(model.all().size() + 1000, demand, tells);
        ticket.front = step.pick() % 7 == 6;
        ModelDemand modelled = modelled(step, ticket.id, demand, ticket.front, tells);
        tickets.put(ticket.id, ticket);
        long maxWait = WAITS[step.time() % WAITS.length];
        core.acquire(ticket, null, restNanos, maxWait);
        model.acquire(modelled, restNanos, maxWait);
    }

    private void tryAcquire(Step step, boolean take, String where) {
        Demand demand = demand(step);
        Decision decision =
                take ? core.decisions().tryAcquire(demand) : core.decisions().estimate(demand);
        ModelDemand modelled = modelled(step, model.all().size() + 1000, demand, false, Ticket.Tells.NOTHING);
        String answer = (decision.allowed() ? "allowed" : "refused, retry after " + decision.retryAfter()) + ", "
                + decision.remaining() + " left";
        assertThat(answer).as(where).isEqualTo(model.tryAcquire(modelled, take));
        if (take && decision.allowed()) {
            tickets.put(modelled.id, (Ticket) decision.permit());
        }
    }

    private void advance(long nanos) {
        time.advanceTimeBy(Duration.ofNanos(nanos));
        model.advanceTo(model.now() + nanos);
    }

    private boolean advanceToNext(long before) {
        long next = model.nextInstant();
        if (next == Exact.NEVER) {
            return false;
        }
        advance(Math.max(0, next - before - model.now()));
        return true;
    }

    private void byHand(Step step) {
        long nanos = TIMES[step.time() % TIMES.length];
        switch (step.op()) {
            case PAUSE -> {
                core.controls().pause(named(step), nanos);
                model.pause(key(step, step.pick() % (program.depth() + 1)), nanos);
            }
            case RESUME -> {
                core.controls().resume(named(step));
                model.resume(key(step, step.pick() % (program.depth() + 1)));
            }
            case CHANGE -> {
                changed = !changed;
                RateLimiterSpec spec = program.spec(program.applied(changed), time);
                core.controls().change(spec.rootLimits(), spec.scopes());
                model.change(program.applied(changed));
            }
            default -> {
                core.passes().dispose();
                model.dispose();
            }
        }
    }

    private void tell(Step step) {
        List<ModelDemand> some = switch (step.op()) {
            case CANCEL -> step.key() % 2 == 0 ? model.waiting() : model.all();
            case SETTLE, HEAR -> step.key() % 3 == 0 ? model.all() : model.in(State.HELD);
            default -> step.key() % 7 == 0 ? model.all() : model.in(State.HELD);
        };
        if (some.isEmpty()) {
            return;
        }
        ModelDemand demand = some.get(step.pick() % some.size());
        Ticket ticket = Objects.requireNonNull(tickets.get(demand.id));
        RateLimitSignal signal = SIGNALS.get(step.cost() % SIGNALS.size());
        switch (step.op()) {
            case CANCEL -> {
                core.cancel(ticket);
                model.cancel(demand);
            }
            case ABORT -> {
                core.abort(ticket);
                model.abort(demand);
            }
            case SENT -> {
                core.answers().sent(ticket);
                model.sent(demand);
            }
            case HEAR -> {
                long pause = step.lane() == 0 ? TIMES[step.time() % TIMES.length] : 0;
                if (step.key() % 5 == 1) {
                    hearAll(ticket, demand, step, pause);
                } else {
                    core.answers().hear(ticket, signal, pause, false);
                    model.hear(demand, signal, pause, false);
                }
            }
            case COMPLETE -> {
                core.answers().hear(ticket, signal, 0, true);
                model.hear(demand, signal, 0, true);
            }
            case RELEASE -> release(demand);
            case SETTLE -> {
                String unit = step.lane() == 0 ? Limit.REQUESTS : "tokens";
                long actual = step.time() % 12 == 0 ? Long.MAX_VALUE : step.tokens();
                core.answers().settle(ticket, unit, actual);
                model.settle(demand, unit, actual);
            }
            case WATCH -> {
                core.answers().watch(ticket, TIMES[step.time() % TIMES.length] + 1, false);
                model.watch(demand, TIMES[step.time() % TIMES.length] + 1);
            }
            default -> throw new IllegalStateException("not told to a ticket: " + step);
        }
    }

    /** An answer that is several responses in one. */
    private void hearAll(Ticket ticket, ModelDemand demand, Step step, long pause) {
        List<RateLimitSignal> signals = IntStream.range(0, 2 + step.lane() % 2)
                .mapToObj(i -> SIGNALS.get((step.cost() + i * (1 + step.time())) % SIGNALS.size()))
                .toList();
        long actual = Math.min(ticket.demand.requests(), step.tokens());
        core.answers().hearAll(ticket, signals, actual, pause);
        model.hearAll(demand, signals, actual, pause);
    }

    private void release(ModelDemand demand) {
        core.release(Objects.requireNonNull(tickets.get(demand.id)));
        model.release(demand);
    }

    // --------------------------------------------------------------------------------------------------- whom, what

    private Demand demand(Step step) {
        Demand demand = Demand.one().cost(1 + step.cost() % 3).lane(program.lane(step));
        for (int i = 0; i < program.depth(); i++) {
            demand = demand.and(RandomProgram.SCOPES.get(i), value(step, i));
        }
        return step.tokens() == 0 ? demand : demand.cost("tokens", step.tokens());
    }

    private Demand named(Step step) {
        Demand whom = Demand.one();
        for (int i = 0; i < step.pick() % (program.depth() + 1); i++) {
            whom = whom.and(RandomProgram.SCOPES.get(i), value(step, i));
        }
        return whom;
    }

    private static String value(Step step, int level) {
        return level == 0 ? "o" + step.key() % 2 : "u" + step.key() / 2 % 3;
    }

    private ModelKey key(Step step, int depth) {
        List<String> labels = new ArrayList<>();
        for (int i = 0; i < depth; i++) {
            labels.add(RandomProgram.SCOPES.get(i) + "=" + value(step, i));
        }
        List<List<Limit>> applied = program.applied(changed);
        return model.key(labels, applied.subList(1, applied.size()));
    }

    private ModelDemand modelled(Step step, int id, Demand demand, boolean front, Ticket.Tells tells) {
        return new ModelDemand(
                id,
                demand,
                key(step, program.depth()),
                step.lane() % program.shares().size(),
                front,
                tells);
    }

    // ---------------------------------------------------------------------------------------------------- comparing

    private void compare(String where, boolean closely) {
        List<Told> expected = model.takeTold();
        List<Told> actual = List.copyOf(told);
        told.clear();
        assertThat(grants(actual)).as(where).isEqualTo(grants(expected));
        assertThat(actual).as(where).containsExactlyInAnyOrderElementsOf(expected);
        if (closely) {
            RateLimiterSnapshot snapshot = core.controls().snapshot();
            assertThat(snapshot.waiting()).as(where).isEqualTo(model.waiting().size());
            Map<List<String>, String> books = new HashMap<>();
            for (ScopeState scope : snapshot.scopes()) {
                List<Long> available =
                        scope.limits().stream().map(limit -> limit.available()).toList();
                books.put(scope.keys(), available + ", closed for " + scope.closedFor() + ", wave " + scope.waves());
            }
            Map<List<String>, String> expectedBooks = new HashMap<>();
            for (ModelKey key : model.keys()) {
                List<Long> available = model.available(key);
                Duration closedFor =
                        Duration.ofNanos(Math.max(0, key.isClosed(model.now()) ? key.closedUntil - model.now() : 0));
                expectedBooks.put(key.labels, available + ", closed for " + closedFor + ", wave " + key.waves);
            }
            assertThat(books).as(where).isEqualTo(expectedBooks);
        }
    }

    private static List<Told> grants(List<Told> all) {
        return all.stream().filter(one -> one.what().equals("granted")).toList();
    }

    /** Everybody who still waits is served or refused in the end, and nothing stays behind. */
    private void comeToRest() {
        boolean more = true;
        for (int i = 0; more && i < 2_000; i++) {
            for (ModelDemand held : model.in(State.HELD)) {
                release(held);
            }
            compare("coming to rest at " + model.now(), false);
            // What is released lets others go, who have to be released in their turn.
            more = advanceToNext(0) || !model.in(State.HELD).isEmpty();
            compare("coming to rest at " + model.now(), false);
        }
        compare("at rest", true);
        assertThat(model.waiting()).as("forgotten").isEmpty();
        assertThat(core.controls().snapshot().timers()).as("timers left").isZero();
        if (program.steps().stream().noneMatch(step -> step.op() == RandomProgram.Op.CHANGE)) {
            ModelAudit audit = new ModelAudit(model.all());
            model.keys().forEach(audit::check);
        }
    }

    /** A ticket that notes what it is told. */
    private final class Recorded extends Ticket {

        private final int id;
        private final Tells tells;

        Recorded(int id, Demand demand, Tells tells) {
            super(demand);
            this.id = id;
            this.tells = tells;
        }

        @Override
        Tells tells() {
            return tells;
        }

        private int emissions;

        @Override
        void emit() {
            told.add(new Told(time.now(TimeUnit.NANOSECONDS), id, what()));
        }

        private String what() {
            RateLimitException refused = refusal();
            if (refused == null) {
                return emissions++ > 0 ? "timeout" : "granted";
            }
            if (refused instanceof QueueFullException) {
                return "full";
            }
            if (refused instanceof LimiterDisposedException) {
                return "disposed";
            }
            String message = String.valueOf(refused.getMessage());
            int waited = message.indexOf("it waited ");
            if (waited >= 0) {
                return "refused: waited " + message.substring(waited + 10, message.indexOf(',', waited));
            }
            Duration retryAfter = ((RateLimitedException) refused).retryAfter();
            if (message.contains("can never pass") || message.contains("is spent")) {
                return "refused: never";
            }
            return "refused: after " + (retryAfter == null ? "an unknown time" : retryAfter);
        }
    }
}
