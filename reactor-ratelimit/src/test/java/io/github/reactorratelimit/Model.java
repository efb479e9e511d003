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
    private boolean disposed;

    Model(Settings settings, List<Limit> rootLimits) {
        this.settings = settings;
        this.root = new ModelKey(null, List.of(), rootLimits, settings.lanes(), 0, 0);
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
            boolean fits = key.readyAt(now, candidate.asked) <= now;
            if (!fits || kept || key.shareReadyAt(now, candidate.asked, lane) > now) {
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
                && key.readyAt(now, candidate.asked) <= now
                && key.shareReadyAt(now, candidate.asked, lane) > now;
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
                next = Math.min(next, later(key.readyAt(now, candidate.asked)));
                next = Math.min(next, later(key.shareReadyAt(now, candidate.asked, lane)));
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
                .allMatch(key -> key.readyAt(now, demand.asked) <= now
                        && key.shareReadyAt(now, demand.asked, demand.lane) <= now);
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
                .mapToLong(key -> key.expectedAt(now, demand.asked, demand.lane, ahead))
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
            for (ModelBooks books : key.booksOf(demand.lane)) {
                long cost = demand.cost(books.limit);
                long at = books.canEver(cost) ? books.readyAt(now, cost) : Exact.NEVER;
                long has = books.available(now) - (at <= now ? cost : 0);
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
        if (demand.isCharged() && demand.settled.putIfAbsent(unit, actual) == null) {
            correct(demand, books -> books.limit.unit().equals(unit), actual - demand.asked.cost(unit));
        }
        letGo();
    }

    private void correct(ModelDemand demand, Predicate<ModelBooks> which, long delta) {
        for (ModelKey key : demand.leaf.path()) {
            key.booksOf(demand.lane).stream()
                    .filter(which)
                    .filter(books -> demand.granted > books.since)
                    .forEach(books -> books.correct(now, demand, delta));
        }
    }

    void hear(ModelDemand demand, RateLimitSignal signal, long pauseNanos, boolean release) {
        if (demand.isCharged() && !(release && demand.state == State.DONE)) {
            if (demand.state == State.HELD && !demand.isHeaded()) {
                demand.headAt = now;
                demand.dueAt = Exact.NEVER;
            }
            hear(demand, signal);
            demand.leaf.close(now, now + pauseNanos);
            turnAwayBelow(demand.leaf);
            look(root);
        }
        if (release) {
            end(demand, false);
        }
        letGo();
    }

    private void hear(ModelDemand demand, RateLimitSignal signal) {
        ModelKey key = demand.leaf;
        Duration delay = signal.delay();
        Quota empty =
                signal.quotas().stream().filter(Quota::exhausted).findFirst().orElse(null);
        if (signal.throttled()) {
            throttled(demand, signal);
        } else if (delay != null && empty != null) {
            long nanos = delay.toNanos();
            boolean wholeSeconds = signal.coarse() || nanos % SECOND == 0;
            long sureUntil = now + nanos - (wholeSeconds ? Math.min(nanos, SECOND) : 0);
            if (key.books.stream().noneMatch(books -> isAsEmpty(books, empty, sureUntil))) {
                closeAsTold(key, nanos, nanos + (signal.coarse() ? SECOND : 0));
            }
        } else if (signal.status() < 500 && demand.granted > key.lastWave) {
            key.waves = 0;
        }
    }

    /** Our own books say the same: then the finer clock, ours, decides. */
    private boolean isAsEmpty(ModelBooks books, Quota quota, long sureUntil) {
        boolean timed = books instanceof ModelBooks.Window || books instanceof ModelBooks.Bucket;
        return timed && books.limit.unit().equals(quota.unit()) && books.readyAt(now, 1) >= sureUntil;
    }

    private void throttled(ModelDemand demand, RateLimitSignal signal) {
        ModelKey key = demand.leaf;
        // Whoever was granted before the last wave began belongs to it.
        boolean nextWave = demand.granted > key.lastWave;
        if (nextWave) {
            key.waves++;
            key.lastWave = ++count;
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
        end(demand, false);
        letGo();
    }

    /** Cancelled while it ran: given back whole if it is known not to be sent. */
    void abort(ModelDemand demand) {
        end(demand, demand.state == State.HELD && demand.sentAt == Exact.NEVER && !demand.isHeaded());
        letGo();
    }

    /** Nobody got to use it. */
    void cancel(ModelDemand demand) {
        end(demand, true);
        letGo();
    }

    private void end(ModelDemand demand, boolean refund) {
        switch (demand.state) {
            case RESTING, WAITING -> leave(demand);
            case HELD -> {
                demand.state = State.DONE;
                demand.dueAt = Exact.NEVER;
                demand.endedAt = now;
                demand.refunded = refund;
                for (ModelKey key : demand.leaf.path()) {
                    for (ModelBooks books : key.booksOf(demand.lane)) {
                        if (refund && demand.granted > books.since) {
                            Long settled = demand.settledCost(books.limit);
                            books.correct(now, demand, -(settled == null ? demand.cost(books.limit) : settled));
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
        letGo();
    }

    /** New limits: those of the root, and those of the keys of each scope. */
    void change(List<List<Limit>> limits) {
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
