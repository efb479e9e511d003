package io.github.reactorratelimit;

import io.github.reactorratelimit.ModelDemand.State;
import io.github.reactorratelimit.ModelKey.ModelTurn;
import io.github.reactorratelimit.signal.Quota;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.function.Predicate;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * The slow, obvious model of a limiter: one list of those who wait, books that are lists of who was granted what, and
 * after everything that happens a look at everybody. No queue, no ring, no timer.
 *
 * <p><b>The rule of turns.</b> Demands of the same keys and the same lane stand in line: those that try again first, then
 * the others, each as they came. Every key has one turn per lane, and one candidate for it:
 *
 * <ol>
 *   <li>The candidate of a narrowest key is the first in its line. The candidate of a wider key is the candidate of that
 *       open key right below it which has been open the longest.
 *   <li>A key is <em>open</em> in a lane while its candidate fits that key itself: its cooldown is over, and every limit
 *       and the lane's share of it have room. But whoever doesn't fit keeps the turn: while the candidate of a higher lane
 *       doesn't fit the key (if only its lane's share is used up, that is nobody else's business), the key isn't open in
 *       the lanes below.
 *   <li>While the root is open in some lane, the candidate of the highest such lane goes. It counts at once, and every key
 *       on its path that is still open counts as opened just now: its neighbours come first.
 *   <li>A lowest lane that a key has passed over for the ageing bound is looked at there before all other lanes. It is
 *       passed over since it was last served there, or since it got a candidate there.
 *   <li>Keys that open at the same moment open in the order in which they came to be known. At one instant keys open first,
 *       then rests, deadlines and timeouts end in the order in which they were fixed; before a deadline fails anybody, all
 *       who can go at that instant go.
 *   <li>When nobody can go, a candidate fails for whom a budget of that key is spent: nothing would ever let it go.
 *   <li>Who comes goes at once if it fits everywhere, unless one of its keys has a candidate in the same lane, in a higher
 *       one that is not held up by its own share alone, or in a lowest lane that is overdue.
 * </ol>
 */
final class Model {

    /** Something that somebody is told. */
    record Told(long at, int id, String what) {}

    private static final long SECOND = 1_000_000_000L;
    private static final long COOLDOWN_FLOOR = 10_000_000L;

    private final Settings settings;
    private final ModelKey root;
    private final List<ModelDemand> all = new ArrayList<>();
    private final List<Told> told = new ArrayList<>();
    private long now;
    private long count;
    private final int depth;
    private boolean disposed;
    private boolean limited;

    /** A limiter with limits of the root, and of the keys of each scope. */
    Model(Settings settings, List<List<Limit>> limits) {
        this.settings = settings;
        this.depth = limits.size() - 1;
        this.limited = isLimited(limits);
        this.root = new ModelKey(null, List.of(), limits.get(0), settings.lanes(), 0, 0);
        tryOut(root);
    }

    private static boolean isLimited(List<List<Limit>> limits) {
        return limits.stream().anyMatch(level -> !level.isEmpty());
    }

    /** A narrowest key about which nobody knows anything is tried out with one. */
    private void tryOut(ModelKey key) {
        if (key.labels.size() == depth && (learns() || !limited)) {
            key.trial.begin(++count, 1, learns());
        }
    }

    private boolean learns() {
        return settings.learning() != Learning.Mode.OFF;
    }

    // ------------------------------------------------------------------------------------------------------- turns

    /** Looks at a key, after those below it: whether it is open, lane by lane. */
    private void look(ModelKey key) {
        key.children.forEach(this::look);
        boolean kept = false;
        for (int lane : lanes(key)) {
            ModelTurn turn = key.turns.get(lane);
            ModelDemand candidate = candidate(key, lane);
            if (candidate == null) {
                turn.wanted = false;
                turn.openSince = ModelTurn.NOT_OPEN;
                continue;
            }
            if (!turn.wanted) {
                turn.wanted = true;
                turn.passedOverSince = now;
            }
            boolean fits = readyAt(key, candidate.asked) <= now;
            if (!fits || kept || shareReadyAt(key, candidate.asked, lane) > now) {
                turn.openSince = ModelTurn.NOT_OPEN;
            } else if (turn.openSince == ModelTurn.NOT_OPEN) {
                turn.openSince = ++count;
            }
            kept |= !fits;
        }
    }

    /** The lanes in the order in which a key is looked at. */
    private List<Integer> lanes(ModelKey key) {
        List<Integer> lanes = new ArrayList<>();
        for (int lane = 0; lane < key.turns.size(); lane++) {
            lanes.add(lane);
        }
        if (isOverdue(key)) {
            Collections.rotate(lanes, 1);
        }
        return lanes;
    }

    private boolean isOverdue(ModelKey key) {
        ModelTurn lowest = key.turns.get(key.turns.size() - 1);
        return key.turns.size() > 1 && lowest.wanted && now - lowest.passedOverSince >= settings.ageingNanos();
    }

    private @Nullable ModelDemand candidate(ModelKey key, int lane) {
        List<ModelDemand> line = line(key, lane);
        if (!line.isEmpty()) {
            return line.get(0);
        }
        return key.children.stream()
                .filter(child -> child.turns.get(lane).openSince != ModelTurn.NOT_OPEN)
                .min(Comparator.comparingLong(child -> child.turns.get(lane).openSince))
                .map(child -> candidate(child, lane))
                .orElse(null);
    }

    private List<ModelDemand> line(ModelKey key, int lane) {
        return all.stream()
                .filter(demand -> demand.state == State.WAITING && demand.leaf == key && demand.lane == lane)
                .sorted(Comparator.comparing((ModelDemand demand) -> !demand.front)
                        .thenComparingLong(demand -> demand.arrival))
                .toList();
    }

    /** Lets everybody go whose turn it is. */
    private void letGo() {
        look(root);
        while (true) {
            ModelDemand next = next();
            ModelDemand late = next == null ? tooLate(root) : null;
            if (next != null) {
                for (ModelKey key : next.leaf.path()) {
                    key.turns.get(next.lane).openSince = ModelTurn.NOT_OPEN;
                    key.turns.get(next.lane).passedOverSince = now;
                }
                grant(next);
                tell(next, "granted");
                look(root);
            } else if (late != null) {
                leave(late);
                tell(late, "refused: never");
            } else {
                return;
            }
        }
    }

    /** The first candidate that its key can never pass any more. */
    private @Nullable ModelDemand tooLate(ModelKey key) {
        for (ModelKey child : key.children) {
            ModelDemand late = tooLate(child);
            if (late != null) {
                return late;
            }
        }
        for (int lane = 0; lane < key.turns.size(); lane++) {
            ModelDemand candidate = candidate(key, lane);
            if (candidate != null && neverFits(key, candidate)) {
                return candidate;
            }
        }
        return null;
    }

    private @Nullable ModelDemand next() {
        for (int lane : lanes(root)) {
            if (root.turns.get(lane).openSince != ModelTurn.NOT_OPEN) {
                return candidate(root, lane);
            }
        }
        return null;
    }

    private boolean othersComeFirst(ModelKey leaf, int lane) {
        for (ModelKey key : leaf.path()) {
            for (int other = 0; other < key.turns.size(); other++) {
                boolean before = other == lane
                        || (other < lane && !isHeldUpByItsShare(key, other))
                        || (other == key.turns.size() - 1 && isOverdue(key));
                if (before && key.turns.get(other).wanted) {
                    return true;
                }
            }
        }
        return false;
    }

    private boolean isHeldUpByItsShare(ModelKey key, int lane) {
        ModelDemand candidate = candidate(key, lane);
        return candidate != null
                && readyAt(key, candidate.asked) <= now
                && shareReadyAt(key, candidate.asked, lane) > now;
    }

    /** When a demand fits a key: its limits, what is known of its quotas, and its trial. */
    private long readyAt(ModelKey key, Demand demand) {
        long at = Math.max(key.readyAt(now, demand), trialReadyAt(key));
        for (ModelQuota quota : key.quotas) {
            at = Math.max(at, readyAt(quota, demand.cost(quota.unit)));
        }
        return at;
    }

    /** When a demand fits its lane's share of a key's limits and quotas. */
    private long shareReadyAt(ModelKey key, Demand demand, int lane) {
        return Math.max(key.shareReadyAt(now, demand, lane), quotaShareReadyAt(key, demand, lane, 0));
    }

    private long quotaShareReadyAt(ModelKey key, Demand demand, int lane, long ahead) {
        Share share = settings.lanes().share(lane);
        return key.quotas.stream()
                .filter(quota -> !share.isWhole())
                .mapToLong(quota -> quota.shareReadyAt(
                        now, lane, share, quota.unit.equals(Limit.REQUESTS) ? ahead : 0, demand.cost(quota.unit)))
                .max()
                .orElse(now);
    }

    private long trialReadyAt(ModelKey key) {
        if (!key.trial.on || placesTaken(key) < key.trial.atOnce) {
            return now;
        }
        return firstTakenForAnswered(key, key.trial.began);
    }

    /** Who has a place in a key's trial: attempts until they end, others until they end or are taken for answered. */
    private long placesTaken(ModelKey key) {
        return grantedSince(key, key.trial.began).stream()
                .filter(demand -> demand.state == State.HELD)
                .filter(demand -> !demand.isBare() || demand.isAwaited(now))
                .count();
    }

    private long firstTakenForAnswered(ModelKey key, long since) {
        return grantedSince(key, since).stream()
                .filter(demand -> demand.isAwaited(now))
                .mapToLong(demand -> demand.grantedAt + 20 * SECOND)
                .min()
                .orElse(Exact.NEVER);
    }

    private List<ModelDemand> grantedSince(ModelKey key, long since) {
        return all.stream()
                .filter(demand -> demand.granted > since && demand.leaf.path().contains(key))
                .toList();
    }

    private List<ModelDemand> unanswered(ModelQuota quota, long since) {
        return quota.keys.stream()
                .flatMap(key -> unanswered(key, since).stream())
                .toList();
    }

    private long firstTakenForAnswered(ModelQuota quota) {
        return quota.keys.stream()
                .mapToLong(key -> firstTakenForAnswered(key, quota.began))
                .min()
                .orElse(Exact.NEVER);
    }

    private List<ModelDemand> unanswered(ModelKey key, long since) {
        return grantedSince(key, since).stream()
                .filter(ModelDemand::isUnanswered)
                .toList();
    }

    private long readyAt(ModelQuota quota, long cost) {
        if (!quota.known) {
            // One at a time asks.
            return !unanswered(quota, quota.began).isEmpty()
                    ? Exact.NEVER
                    : Math.max(now, orNow(firstTakenForAnswered(quota)));
        }
        long left = available(quota);
        if (left < Math.max(1, cost)) {
            return quota.notAfter;
        }
        return settings.learning() == Learning.Mode.PACED
                ? Math.max(now, quota.lastGrantAt + (quota.notAfter - quota.lastGrantAt) / (left + 1))
                : now;
    }

    private long orNow(long at) {
        return at == Exact.NEVER ? now : at;
    }

    /** What a quota leaves beside what is in flight. */
    private long available(ModelQuota quota) {
        if (!quota.known) {
            return readyAt(quota, 1) <= now ? 1 : 0;
        }
        long older = unanswered(quota, 0).stream()
                .filter(demand -> demand.granted <= quota.began)
                .count();
        return quota.left
                - older
                - unanswered(quota, quota.began).stream()
                        .mapToLong(demand -> demand.dueCost(quota.unit))
                        .sum();
    }

    private void grant(ModelDemand demand) {
        demand.state = State.HELD;
        demand.dueAt = Exact.NEVER;
        demand.granted = ++count;
        demand.grantedAt = now;
        demand.sentAt = demand.tells == Ticket.Tells.SENDING ? Exact.NEVER : now;
        demand.headAt = demand.tells == Ticket.Tells.NOTHING ? now : Exact.NEVER;
        for (ModelKey key : demand.leaf.path()) {
            for (ModelBooks books : key.booksOf(demand.lane)) {
                if (demand.cost(books.limit) > 0) {
                    books.take(now, demand, demand.cost(books.limit));
                }
            }
            key.trial.filled |= placesTaken(key) >= key.trial.atOnce;
            for (ModelQuota quota : key.quotas) {
                quota.lastGrantAt = now;
                quota.left -= demand.isBare() && quota.known ? demand.asked.cost(quota.unit) : 0;
                quota.taken.put(demand, demand.asked.cost(quota.unit));
            }
        }
    }

    // -------------------------------------------------------------------------------------------------------- time

    long now() {
        return now;
    }

    /** The next instant at which something happens by itself. */
    long nextInstant() {
        long next = all.stream().mapToLong(demand -> demand.dueAt).min().orElse(Exact.NEVER);
        return Math.min(next, nextInstant(root));
    }

    private long nextInstant(ModelKey key) {
        long next = Exact.NEVER;
        for (int lane = 0; lane < key.turns.size(); lane++) {
            ModelTurn turn = key.turns.get(lane);
            ModelDemand candidate = candidate(key, lane);
            if (candidate != null && turn.openSince == ModelTurn.NOT_OPEN) {
                next = Math.min(next, later(readyAt(key, candidate.asked)));
                next = Math.min(next, later(shareReadyAt(key, candidate.asked, lane)));
                next = Math.min(next, later(Exact.add(turn.passedOverSince, settings.ageingNanos())));
            }
        }
        for (ModelKey child : key.children) {
            next = Math.min(next, nextInstant(child));
        }
        return next;
    }

    private long later(long at) {
        return at > now ? at : Exact.NEVER;
    }

    void advanceTo(long to) {
        for (long next = nextInstant(); next <= to; next = nextInstant()) {
            now = next;
            forget();
            instant();
        }
        now = to;
        forget();
    }

    private void forget() {
        keys().forEach(key -> key.all().forEach(books -> books.forget(now)));
        for (ModelKey key : keys()) {
            for (ModelQuota quota : key.quotas) {
                // A quota of several keys is forgotten once.
                if (quota.known && quota.notAfter <= now) {
                    quota.forgetWindow(now, ++count);
                }
            }
        }
        for (ModelDemand demand : all) {
            if (demand.isBare() && demand.state == State.HELD && !demand.isAwaited(now) && !demand.takenForAnswered) {
                demand.takenForAnswered = true;
                demand.leaf.path().forEach(key -> silent(key, demand));
            }
        }
    }

    /** A good answer to a demand that has a place in a key's trial. */
    private void good(ModelKey key, ModelDemand demand) {
        if (demand.granted > key.trial.began && key.trial.good(key.permits())) {
            key.waves = 0;
        }
    }

    /** Nobody said what became of it: a good answer without a figure. */
    private void silent(ModelKey key, ModelDemand demand) {
        key.trial.figure(Double.NaN, demand.granted > key.trial.began, 0, count);
        good(key, demand);
    }

    private void instant() {
        look(root);
        for (ModelDemand due = firstDue(); due != null; due = firstDue()) {
            due.dueAt = Exact.NEVER;
            switch (due.state) {
                case RESTING -> rested(due);
                case WAITING -> {
                    letGo();
                    if (due.state == State.WAITING) {
                        leave(due);
                        tell(due, "refused: waited " + Duration.ofNanos(now - due.joinedAt));
                    }
                }
                default -> tell(due, "timeout");
            }
        }
        letGo();
    }

    private @Nullable ModelDemand firstDue() {
        return all.stream()
                .filter(demand -> demand.dueAt <= now)
                .min(Comparator.comparingLong(demand -> demand.dueFixed))
                .orElse(null);
    }

    private void fix(ModelDemand demand, long dueAt) {
        if (demand.dueAt != dueAt) {
            demand.dueAt = dueAt;
            demand.dueFixed = ++count;
        }
    }

    // ------------------------------------------------------------------------------------------------------ coming

    ModelKey key(List<String> labels, List<List<Limit>> limits) {
        ModelKey key = root;
        for (int i = 0; i < labels.size(); i++) {
            List<String> path = labels.subList(0, i + 1);
            ModelKey wider = key;
            key = key.children.stream()
                    .filter(child -> child.labels.equals(path))
                    .findFirst()
                    .orElse(null);
            if (key == null) {
                key = new ModelKey(wider, List.copyOf(path), limits.get(i), settings.lanes(), now, count);
                wider.children.add(key);
                tryOut(key);
            }
        }
        return key;
    }

    void acquire(ModelDemand demand, long restNanos, long maxWaitNanos) {
        all.add(demand);
        demand.joinedAt = now;
        String answer = null;
        if (disposed) {
            answer = "disposed";
        } else if (neverFits(demand)) {
            answer = "refused: never";
        } else if (restNanos > maxWaitNanos) {
            answer = "refused: after " + Duration.ofNanos(restNanos);
        } else if (restNanos > 0) {
            demand.state = State.RESTING;
            demand.deadline = Exact.add(now, maxWaitNanos);
            fix(demand, now + restNanos);
        } else if (!othersComeFirst(demand.leaf, demand.lane) && fitsEverywhere(demand)) {
            grant(demand);
            answer = "granted";
        } else {
            answer = cannotWait(demand, maxWaitNanos);
            if (answer == null) {
                join(demand, Exact.add(now, maxWaitNanos));
            }
        }
        letGo();
        // Whoever is answered at once is told after those whom this set free.
        if (answer != null) {
            tell(demand, answer);
        }
    }

    private void join(ModelDemand demand, long deadline) {
        demand.state = State.WAITING;
        demand.arrival = ++count;
        fix(demand, deadline);
        look(root);
    }

    private void rested(ModelDemand demand) {
        String refusal = neverFits(demand) ? "refused: never" : cannotWait(demand, Math.max(1, demand.deadline - now));
        if (refusal == null) {
            join(demand, demand.deadline);
        } else {
            demand.state = State.DONE;
            tell(demand, refusal);
        }
    }

    private boolean neverFits(ModelDemand demand) {
        return demand.leaf.path().stream().anyMatch(key -> neverFits(key, demand));
    }

    private static boolean neverFits(ModelKey key, ModelDemand demand) {
        return key.booksOf(demand.lane).stream().anyMatch(books -> !books.canEver(demand.cost(books.limit)));
    }

    private boolean fitsEverywhere(ModelDemand demand) {
        return demand.leaf.path().stream()
                .allMatch(key ->
                        readyAt(key, demand.asked) <= now && shareReadyAt(key, demand.asked, demand.lane) <= now);
    }

    /** Why a demand may not wait, or null: no room, a server's wait that isn't obeyed, a wait known to be too long. */
    private @Nullable String cannotWait(ModelDemand demand, long maxWaitNanos) {
        List<ModelDemand> line = line(demand.leaf, demand.lane);
        long waiting = waiting().size();
        if (!demand.front && (waiting >= settings.maxPending() || line.size() >= settings.maxPendingPerLine())) {
            return "full";
        }
        for (ModelKey key : demand.leaf.path()) {
            if (isClosedTooLong(key)) {
                return "refused: after " + Duration.ofNanos(key.closedUntil - now);
            }
        }
        long ahead = line.stream()
                .filter(other -> !demand.front || other.front)
                .mapToLong(other -> other.asked.cost(Limit.REQUESTS))
                .sum();
        long wait = expectedAt(demand, ahead) - now;
        if (wait > maxWaitNanos || maxWaitNanos == 0) {
            return "refused: after " + (wait > 0 ? Duration.ofNanos(wait) : "an unknown time");
        }
        return null;
    }

    private long expectedAt(ModelDemand demand, long ahead) {
        return demand.leaf.path().stream()
                .mapToLong(key -> Math.max(
                        key.expectedAt(now, demand.asked, demand.lane, ahead),
                        Math.max(
                                expectedByQuotas(key, demand.asked, ahead),
                                quotaShareReadyAt(key, demand.asked, demand.lane, ahead))))
                .max()
                .orElse(now);
    }

    private long expectedByQuotas(ModelKey key, Demand demand, long ahead) {
        return key.quotas.stream()
                .filter(quota -> quota.known)
                .filter(quota -> (quota.unit.equals(Limit.REQUESTS) ? ahead : 0) + Math.max(1, demand.cost(quota.unit))
                        > available(quota))
                .mapToLong(quota -> quota.notAfter)
                .max()
                .orElse(now);
    }

    /** What is answered at once: allowed or not, what the deciding limit has left, and how long to wait. */
    String tryAcquire(ModelDemand demand, boolean take) {
        long readyAt = now;
        long left = Long.MAX_VALUE;
        for (ModelKey key : demand.leaf.path()) {
            if (key.closedUntil > readyAt || (key.closedUntil > now && key.closedUntil == readyAt)) {
                left = key.closedUntil > readyAt ? 0 : Math.min(left, 0);
                readyAt = key.closedUntil;
            }
            long trialAt = trialReadyAt(key);
            if (trialAt > now && trialAt >= readyAt) {
                left = trialAt > readyAt ? 0 : Math.min(left, 0);
                readyAt = trialAt;
            }
            for (ModelBooks books : key.booksOf(demand.lane)) {
                long cost = demand.cost(books.limit);
                if (cost == 0) {
                    continue;
                }
                long at = books.canEver(cost) ? books.readyAt(now, cost) : Exact.NEVER;
                long has = books.available(now) - (at <= now ? cost : 0);
                left = at > readyAt ? has : at == readyAt ? Math.min(left, has) : left;
                readyAt = Math.max(readyAt, at);
            }
            for (ModelQuota quota : key.quotas) {
                long cost = demand.asked.cost(quota.unit);
                long at = readyAt(quota, cost);
                if (cost == 0 && at <= now) {
                    continue;
                }
                long has = available(quota) - (at <= now ? cost : 0);
                left = at > readyAt ? has : at == readyAt ? Math.min(left, has) : left;
                readyAt = Math.max(readyAt, at);
            }
            Share share = settings.lanes().share(demand.lane);
            for (ModelQuota quota : share.isWhole() ? List.<ModelQuota>of() : key.quotas) {
                long cost = demand.asked.cost(quota.unit);
                if (cost == 0) {
                    continue;
                }
                long at = quota.shareReadyAt(now, demand.lane, share, 0, cost);
                long has = quota.left(demand.lane, share) - (at <= now ? cost : 0);
                left = at > readyAt ? has : at == readyAt ? Math.min(left, has) : left;
                readyAt = Math.max(readyAt, at);
            }
        }
        boolean allowed = readyAt <= now && !disposed && !othersComeFirst(demand.leaf, demand.lane);
        String answer = allowed ? "allowed" : "refused, retry after " + retryAfter(demand, readyAt);
        if (allowed && take) {
            all.add(demand);
            grant(demand);
        }
        letGo();
        return answer + ", " + Math.max(0, left) + " left";
    }

    private @Nullable Duration retryAfter(ModelDemand demand, long readyAt) {
        long ahead = line(demand.leaf, demand.lane).stream()
                .mapToLong(other -> other.asked.cost(Limit.REQUESTS))
                .sum();
        long at = Math.max(readyAt, expectedAt(demand, ahead));
        return disposed || at <= now || at == Exact.NEVER ? null : Duration.ofNanos(at - now);
    }

    // ----------------------------------------------------------------------------------------------------- hearing

    void sent(ModelDemand demand) {
        if (demand.state == State.HELD && demand.sentAt == Exact.NEVER && !demand.isHeaded()) {
            demand.sentAt = now;
        }
        letGo();
    }

    void watch(ModelDemand demand, long nanos) {
        if (demand.state == State.HELD && !demand.isHeaded()) {
            fix(demand, now + nanos);
        }
        letGo();
    }

    void settle(ModelDemand demand, String unit, long actual) {
        costs(demand, unit, actual);
        letGo();
    }

    private void costs(ModelDemand demand, String unit, long actual) {
        if (demand.isCharged() && demand.settled.putIfAbsent(unit, actual) == null) {
            long asked = demand.asked.cost(unit);
            correct(demand, books -> books.limit.unit().equals(unit), books -> books.counted(asked, actual) - asked);
            demand.leaf.path().forEach(key -> key.quotas.forEach(quota -> quota.settled(demand, unit)));
        }
    }

    private void correct(ModelDemand demand, Predicate<ModelBooks> which, ToLongFunction<ModelBooks> delta) {
        for (ModelKey key : demand.leaf.path()) {
            key.booksOf(demand.lane).stream()
                    .filter(which)
                    .filter(books -> demand.granted > books.since)
                    .forEach(books -> books.correct(now, demand, delta.applyAsLong(books)));
        }
    }

    void hear(ModelDemand demand, RateLimitSignal signal, long pauseNanos, boolean release) {
        if (demand.isCharged() && !(release && demand.state == State.DONE)) {
            if (signal.cost() == 0) {
                costs(demand, Limit.REQUESTS, 0);
            }
            boolean first = demand.isBare() ? !demand.heard : demand.isUnanswered();
            if (first && signal.throttled() && signal.status() >= 400) {
                demand.asked.units().forEach(unit -> costs(demand, unit, 0));
            }
            answer(demand, List.of(signal), pauseNanos);
        }
        if (release) {
            end(demand, false, false);
        }
        letGo();
    }

    /** Several responses in one answer, of which the server counts so much. */
    void hearAll(ModelDemand demand, List<RateLimitSignal> signals, long actual, long pauseNanos) {
        if (demand.isCharged()) {
            if (actual != demand.asked.requests()) {
                costs(demand, Limit.REQUESTS, actual);
            }
            answer(demand, signals, pauseNanos);
        }
        letGo();
    }

    private void answer(ModelDemand demand, List<RateLimitSignal> signals, long pauseNanos) {
        boolean first = demand.isUnanswered();
        if (first) {
            demand.headAt = now;
            demand.sentAt = Math.min(demand.sentAt, now);
            demand.dueAt = Exact.NEVER;
        }
        demand.heard = true;
        for (int i = 0; i < signals.size(); i++) {
            boolean last = i == signals.size() - 1;
            hear(demand, signals.get(i), first && i == 0, last);
            if (last) {
                demand.leaf.close(now, now + pauseNanos);
            }
            demand.leaf.path().forEach(this::turnAwayBelow);
        }
        look(root);
    }

    /** Of several responses in one answer only the last is an answer to those on trial, or an all clear. */
    private void hear(ModelDemand demand, RateLimitSignal signal, boolean first, boolean last) {
        learn(demand, signal, first);
        if (signal.throttled()) {
            throttled(demand, signal);
            return;
        }
        figure(demand, signal, last);
        if (last && signal.status() < 500) {
            demand.leaf.path().forEach(key -> good(key, demand));
        }
        Duration delay = signal.delay();
        List<Quota> empty = signal.quotas().stream().filter(Quota::exhausted).toList();
        if (delay != null && !empty.isEmpty()) {
            empty(about(demand, signal), empty, signal, delay.toNanos(), toldAtTheEarliest(demand));
        }
    }

    /** An empty quota closes its key for as long as the server says, unless somebody knows that better. */
    private void empty(ModelKey key, List<Quota> empty, RateLimitSignal signal, long nanos, long toldAt) {
        boolean wholeSeconds = signal.coarse() || nanos % SECOND == 0;
        long sureUntil = toldAt + nanos - (wholeSeconds ? Math.min(nanos, SECOND) : 0);
        boolean ours = empty.stream().anyMatch(quota -> isAsEmpty(key, signal, quota, sureUntil));
        // Of what is said of a quota more than once its own books have the closest figure; a longer delay is no such
        // thing.
        boolean learned = nanos <= settings.maxServerDelayNanos()
                && empty.stream()
                        .filter(quota -> ModelQuota.spanNanos(quota) >= nanos)
                        .anyMatch(quota -> key.quotas.stream().anyMatch(one -> one.isOf(quota) && one.known));
        if (!learned && !ours) {
            closeAsTold(key, nanos, nanos + (signal.coarse() ? SECOND : 0));
        }
    }

    /** When an answer was given at the earliest. If nobody told when it was asked for, that was with its head or its end. */
    private static long toldAtTheEarliest(ModelDemand demand) {
        return demand.isBare() ? demand.grantedAt : Math.min(demand.sentAt, demand.endedAt);
    }

    /** Our own books say the same: then the finer clock, ours, decides. */
    private boolean isAsEmpty(ModelKey key, RateLimitSignal signal, Quota quota, long sureUntil) {
        boolean neverRefused = key.lastWave == 0 && !signal.throttled();
        return key.books.stream()
                .anyMatch(books -> isAsEmpty(books, quota, sureUntil)
                        || (neverRefused && books instanceof ModelBooks.Window window && window.explains(now, quota)));
    }

    private boolean isAsEmpty(ModelBooks books, Quota quota, long sureUntil) {
        boolean timed = books instanceof ModelBooks.Window || books instanceof ModelBooks.Bucket;
        return timed && books.limit.unit().equals(quota.unit()) && books.readyAt(now, 1) >= sureUntil;
    }

    // ---------------------------------------------------------------------------------------------------- learning

    private void learn(ModelDemand demand, RateLimitSignal signal, boolean first) {
        if (!learns()) {
            return;
        }
        List<Quota> told = signal.quotas().stream()
                .filter(quota -> quota.remaining() >= 0 && ModelQuota.span(quota) != null)
                .toList();
        for (Quota quota : told) {
            learn(keyOf(demand, signal, quota), demand, signal, quota);
        }
        for (ModelKey key : demand.leaf.path()) {
            List<Quota> toldHere = told.stream()
                    .filter(quota -> keyOf(demand, signal, quota) == key)
                    .toList();
            saysNothing(key, toldHere, demand, signal, first);
        }
    }

    private ModelKey keyOf(ModelDemand demand, RateLimitSignal signal, Quota quota) {
        ModelKey own = keyOfValue(demand, quota.partition());
        return own != null ? own : about(demand, signal);
    }

    private void learn(ModelKey key, ModelDemand demand, RateLimitSignal signal, Quota quota) {
        ModelQuota known =
                key.quotas.stream().filter(one -> one.isOf(quota)).findFirst().orElse(null);
        long sentAt = toldAtTheEarliest(demand);
        long sureUntil = ModelQuota.earliest(sentAt, quota);
        if (quota.exhausted() && isAsEmpty(key, signal, quota, sureUntil)) {
            if (known != null) {
                forget(key, known);
            }
            return;
        }
        if (known == null) {
            known = sharedWith(key, quota);
            if (key.quotas.size() == 8) {
                leave(key, key.quotas.get(0));
            }
            key.quotas.add(known);
            known.keys.add(key);
            known.began = ++count;
        }
        known.answer(now, demand, sentAt, quota, ++count);
    }

    /** What becomes of a key's quotas that an answer does not mention. */
    private void saysNothing(
            ModelKey key, List<Quota> told, ModelDemand demand, RateLimitSignal signal, boolean first) {
        for (ModelQuota quota : List.copyOf(key.quotas)) {
            if (told.stream().anyMatch(quota::isOf)) {
                continue;
            }
            if (quota.known) {
                // One of the same name says that the other one was used.
                boolean used = first && told.stream().noneMatch(quota::hasNameOf);
                quota.left -= used ? demand.dueCost(quota.unit) : 0;
            } else if (demand.granted > quota.began && signal.status() < 500 && !signal.throttled()) {
                forget(key, quota);
            }
        }
    }

    /** A partition that is told of at several routes of one wider key is one quota, but for the one that is named like it. */
    private ModelQuota sharedWith(ModelKey key, Quota quota) {
        return keys().stream()
                .filter(other -> key.parent != null && other.parent == key.parent)
                .filter(other -> mayShare(key, quota) && mayShare(other, quota))
                .flatMap(other -> other.quotas.stream())
                .filter(one -> one.isOf(quota))
                .findFirst()
                .orElseGet(() -> new ModelQuota(quota, ++count));
    }

    private boolean mayShare(ModelKey key, Quota quota) {
        return quota.partition() != null
                && List.of("endpoint", "method").contains(key.attribute())
                && key.path().stream()
                        .noneMatch(one -> one != root && one.value().equals(quota.partition()));
    }

    private void leave(ModelKey key, ModelQuota quota) {
        key.quotas.remove(quota);
        quota.keys.remove(key);
        quota.began = ++count;
    }

    private void forget(ModelKey key, ModelQuota quota) {
        leave(key, quota);
        if (key.permits() == Exact.NEVER) {
            key.trial.begin(++count, 1, true);
        }
    }

    /** A key's figure of how full it is slows it down; no figure means all clear. */
    private void figure(ModelDemand demand, RateLimitSignal signal, boolean clears) {
        double share = signal.usage();
        for (Quota quota : signal.quotas()) {
            if (quota.used() >= 0 && quota.limit() > 0 && quota.remaining() < 0 && quota.reset() == null) {
                share = Double.isNaN(share) || share < quota.used() / (double) quota.limit()
                        ? quota.used() / (double) quota.limit()
                        : share;
            }
        }
        if (!(share >= 0.8) && (signal.status() >= 500 || !clears)) {
            return;
        }
        List<ModelKey> keys = share >= 0.8 ? List.of(about(demand, signal)) : demand.leaf.path();
        for (ModelKey key : keys) {
            long busy = key.books.stream()
                    .filter(books -> books instanceof ModelBooks.InFlight
                            && books.limit.unit().equals(Limit.REQUESTS))
                    .mapToLong(books -> books.limit.permits() / Math.max(1, demand.asked.cost(Limit.REQUESTS)))
                    .reduce(Math.max(1, out(key) + (demand.isBare() ? 0 : 1)), Math::max);
            key.trial.figure(share, demand.granted > key.trial.began, busy, count);
        }
    }

    private long out(ModelKey key) {
        return all.stream()
                .filter(demand -> demand.leaf.path().contains(key))
                .filter(demand -> demand.isUnanswered() || demand.isInHand(now))
                .count();
    }

    // ------------------------------------------------------------------------------------------------- whom it names

    private ModelKey about(ModelDemand demand, RateLimitSignal signal) {
        ModelKey named = named(demand, signal);
        return named == null ? demand.leaf : named;
    }

    /** The widest key that is named, by its attribute, as everybody, or by its value as that of a quota's partition. */
    private @Nullable ModelKey named(ModelDemand demand, RateLimitSignal signal) {
        List<String> words =
                signal.scope() == null ? List.of() : List.of(signal.scope().split(", ", -1));
        if (words.contains("application")) {
            return root;
        }
        ModelKey widest = null;
        for (ModelKey key : demand.leaf.path()) {
            widest = words.contains(key.attribute()) ? key : widest;
        }
        for (Quota quota : signal.quotas()) {
            if (widest == null && (quota.exhausted() || signal.quotas().size() == 1)) {
                widest = keyOfValue(demand, quota.partition());
            }
        }
        return widest;
    }

    private @Nullable ModelKey keyOfValue(ModelDemand demand, @Nullable String value) {
        return demand.leaf.path().stream()
                .filter(key -> key != root && key.value().equals(value))
                .findFirst()
                .orElse(null);
    }

    // ---------------------------------------------------------------------------------------------------- refusals

    private void throttled(ModelDemand demand, RateLimitSignal signal) {
        ModelKey named = named(demand, signal);
        throttled(named == null ? demand.leaf : named, demand, signal);
        boolean aPartition =
                learns() && signal.quotas().stream().anyMatch(quota -> quota.exhausted() && quota.partition() != null);
        boolean widens = named == null && !aPartition;
        for (ModelKey key : demand.leaf.path()) {
            ModelKey wider = key.parent;
            widens = widens && wider != null;
            if (widens && wider != null) {
                widens = wider.children.stream().anyMatch(other -> other != key && other.refusedUntil > now);
                key.refusedUntil = Math.max(key.refusedUntil, key.closedUntil);
                if (widens) {
                    throttled(wider, demand, signal);
                }
            }
        }
    }

    private void throttled(ModelKey key, ModelDemand demand, RateLimitSignal signal) {
        // Whoever was granted before the last wave began belongs to it.
        boolean nextWave = demand.granted > key.lastWave;
        if (nextWave) {
            key.waves++;
            key.trial.refused(++count, placesTaken(key));
            key.lastWave = count;
        }
        Duration delay = signal.delay();
        if (delay != null) {
            long wait = delay.toNanos() + (signal.coarse() ? SECOND : 0);
            if (wait < COOLDOWN_FLOOR) {
                key.close(now, now + jittered(doubled(COOLDOWN_FLOOR, key.waves)));
            } else {
                closeAsTold(key, delay.toNanos(), jittered(wait));
            }
        } else if (nextWave) {
            key.close(now, now + jittered(doubled(settings.cooldownNanos(), key.waves)));
        }
    }

    private void closeAsTold(ModelKey key, long said, long nanos) {
        key.serverSaidUntil = Math.max(key.serverSaidUntil, now + said);
        key.close(now, now + nanos);
    }

    private long doubled(long nanos, int wave) {
        return Math.min(settings.maxCooldownNanos(), nanos << Math.min(Math.max(wave, 1) - 1, 20));
    }

    private long jittered(long nanos) {
        return nanos + (long) (nanos * settings.jitter() * settings.random().getAsDouble());
    }

    private boolean isClosedTooLong(ModelKey key) {
        return key.isClosed(now) && Exact.subtract(key.serverSaidUntil, now) > settings.maxServerDelayNanos();
    }

    private void turnAwayBelow(ModelKey key) {
        if (isClosedTooLong(key)) {
            turnAway(
                    demand ->
                            demand.state == State.WAITING && demand.leaf.path().contains(key),
                    "refused: after " + Duration.ofNanos(key.closedUntil - now));
        }
    }

    // ----------------------------------------------------------------------------------------------------- leaving

    void release(ModelDemand demand) {
        end(demand, false, true);
        letGo();
    }

    /** Cancelled while it ran: given back whole if it is known not to be sent. */
    void abort(ModelDemand demand) {
        end(demand, demand.state == State.HELD && demand.sentAt == Exact.NEVER && !demand.isHeaded(), false);
        letGo();
    }

    /** Nobody got to use it. */
    void cancel(ModelDemand demand) {
        end(demand, true, false);
        letGo();
    }

    /** Of a bare permit nobody else will tell: its end is its answer. */
    private void end(ModelDemand demand, boolean refund, boolean isAnswer) {
        switch (demand.state) {
            case RESTING, WAITING -> leave(demand);
            case HELD -> {
                for (ModelKey key : demand.leaf.path()) {
                    for (ModelQuota quota : key.quotas) {
                        boolean mayBeUsed = !refund && demand.isUnanswered() && demand.granted > quota.began;
                        quota.left -= mayBeUsed && quota.known ? demand.dueCost(quota.unit) : 0;
                        if (refund) {
                            quota.refunded(demand);
                        }
                    }
                    if (isAnswer && demand.isAwaited(now) && !demand.heard) {
                        silent(key, demand);
                    }
                }
                demand.state = State.DONE;
                demand.dueAt = Exact.NEVER;
                demand.endedAt = now;
                demand.refunded = refund;
                for (ModelKey key : demand.leaf.path()) {
                    for (ModelBooks books : key.booksOf(demand.lane)) {
                        if (refund && demand.granted > books.since) {
                            Long settled = demand.settledCost(books.limit);
                            long asked = demand.cost(books.limit);
                            books.correct(now, demand, -(settled == null ? asked : books.counted(asked, settled)));
                        }
                        books.ended(demand);
                    }
                }
            }
            case DONE -> {}
        }
        look(root);
    }

    private void leave(ModelDemand demand) {
        demand.state = State.DONE;
        demand.dueAt = Exact.NEVER;
        look(root);
    }

    private void turnAway(Predicate<ModelDemand> whom, String why) {
        for (ModelKey key : keys()) {
            for (int lane = 0; lane < key.turns.size(); lane++) {
                for (ModelDemand demand : line(key, lane)) {
                    if (whom.test(demand)) {
                        leave(demand);
                        tell(demand, why);
                    }
                }
            }
        }
    }

    // ----------------------------------------------------------------------------------------------------- by hand

    void pause(ModelKey key, long nanos) {
        key.close(now, now + nanos);
        letGo();
    }

    void resume(ModelKey key) {
        key.open(now);
        List.copyOf(key.quotas).forEach(quota -> leave(key, quota));
        letGo();
    }

    /** New limits: those of the root, and those of the keys of each scope. */
    void change(List<List<Limit>> limits) {
        limited = isLimited(limits);
        for (ModelKey key : keys()) {
            key.limits(limits.get(key.labels.size()), settings.lanes(), now, count);
        }
        look(root);
        turnAway(this::neverFits, "refused: never");
        letGo();
    }

    void dispose() {
        disposed = true;
        turnAway(demand -> true, "disposed");
        for (ModelDemand demand : all) {
            if (demand.state == State.RESTING) {
                leave(demand);
                tell(demand, "disposed");
            }
        }
        letGo();
    }

    // ---------------------------------------------------------------------------------------------- looking inside

    /** What each of a key's limits has left, and then what each of its quotas has. */
    List<Long> available(ModelKey key) {
        List<Long> available = new ArrayList<>();
        key.books.forEach(one -> available.add(one.available(now)));
        key.quotas.forEach(one -> available.add(available(one)));
        return available;
    }

    /** All keys, each before those below it. */
    List<ModelKey> keys() {
        List<ModelKey> keys = new ArrayList<>();
        collect(root, keys);
        return keys;
    }

    private static void collect(ModelKey key, List<ModelKey> into) {
        into.add(key);
        key.children.forEach(child -> collect(child, into));
    }

    List<ModelDemand> waiting() {
        return all.stream().filter(demand -> demand.state == State.WAITING).toList();
    }

    List<ModelDemand> in(State state) {
        return all.stream().filter(demand -> demand.state == state).toList();
    }

    List<ModelDemand> all() {
        return all;
    }

    private void tell(ModelDemand demand, String what) {
        told.add(new Told(now, demand.id, what));
    }

    /** What was told since this was asked last. */
    List<Told> takeTold() {
        List<Told> taken = List.copyOf(told);
        told.clear();
        return taken;
    }
}
