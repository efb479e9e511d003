package io.github.reactorratelimit;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import reactor.core.scheduler.Scheduler;

/**
 * A limiter and what is done with it.
 *
 * @param shares a share per lane, the highest first
 * @param limits those of the root, then those of the keys of each scope
 * @param otherLimits what a change brings
 * @param strict whether windows are
 * @param ageing the bound for the lowest lane
 * @param pending how many may wait in all, and in one line
 * @param jitter of cooldowns
 * @param learning whether it learns
 * @param steps what is done
 */
record RandomProgram(
        List<Share> shares,
        List<List<Limit>> limits,
        List<List<Limit>> otherLimits,
        boolean strict,
        Duration ageing,
        List<Integer> pending,
        double jitter,
        Learning.Mode learning,
        List<Step> steps) {

    static final List<String> SCOPES = List.of("method", "endpoint");
    private static final List<String> LANES = List.of(Lanes.FIRST, "lower", "lowest");

    enum Op {
        ACQUIRE,
        REST,
        TRY,
        ESTIMATE,
        TIME,
        TO_NEXT,
        TO_JUST_BEFORE_NEXT,
        CANCEL,
        ABORT,
        SENT,
        HEAR,
        COMPLETE,
        RELEASE,
        SETTLE,
        WATCH,
        PAUSE,
        RESUME,
        CHANGE,
        DISPOSE
    }

    /**
     * One command; every figure is taken modulo what there is to choose from.
     *
     * @param op what is done
     * @param key which key
     * @param lane which lane
     * @param cost in requests
     * @param tokens the cost in tokens
     * @param pick which of those who wait or hold a permit, or which kind
     * @param time how long
     */
    record Step(Op op, int key, int lane, int cost, int tokens, int pick, int time) {}

    int depth() {
        return limits.size() - 1;
    }

    String lane(Step step) {
        return LANES.get(step.lane() % shares.size());
    }

    RateLimiterSpec spec(List<List<Limit>> applied, Scheduler scheduler) {
        RateLimiterSpec spec = RateLimiter.named("random")
                .limit(limits(applied, 0))
                .ageing(ageing)
                .maxPending(pending.get(0), pending.get(1))
                .maxServerDelay(Duration.ofSeconds(10))
                .cooldown(Duration.ofSeconds(1), Duration.ofSeconds(20))
                .forgetAfter(Duration.ofDays(1_000))
                .jitter(jitter)
                .random(() -> 0.5)
                .scheduler(() -> scheduler);
        spec = switch (learning) {
            case OFF -> spec;
            case ON -> spec.learn();
            case PACED -> spec.learnPaced();
        };
        for (int i = 0; i < shares.size(); i++) {
            spec = spec.lane(LANES.get(i), shares.get(i));
        }
        for (int i = 0; i < depth(); i++) {
            spec = spec.scope(Scope.by(SCOPES.get(i)).limits(limits(applied, i + 1)));
        }
        return spec;
    }

    private static Limit[] limits(List<List<Limit>> applied, int level) {
        return applied.get(level).toArray(Limit[]::new);
    }

    List<List<Limit>> applied(boolean changed) {
        List<List<Limit>> applied = new ArrayList<>();
        for (List<Limit> level : changed ? otherLimits : limits) {
            applied.add(level.stream()
                    .map(limit -> strict && limit.kind() == Limit.Kind.WINDOW ? limit.strict() : limit)
                    .toList());
        }
        return applied;
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("lanes ").append(shares);
        text.append("\nlimits ").append(applied(false));
        text.append("\nchanged to ").append(applied(true));
        text.append("\nageing ").append(ageing).append(", pending ").append(pending);
        text.append(", jitter ").append(jitter).append(", learning ").append(learning);
        steps.forEach(step -> text.append("\n  ").append(step));
        return text.toString();
    }
}
