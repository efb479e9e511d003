package io.github.reactorratelimit;

import io.github.reactorratelimit.RateLimitListener.Cause;
import io.github.reactorratelimit.RateLimiterSnapshot.ScopeState;
import io.github.reactorratelimit.Tree.KeyLimits;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** What people do to a limiter by hand: close and open keys, change limits, look at it. */
final class Controls {

    private final Settings settings;
    private final Passes passes;
    private final Tree tree;
    private final Timers timers;
    private final Turns turns;
    private final Departures departures;
    private final Generations generations;
    private final News news;
    /** Who calls the store that decides; null if nobody else has a say. */
    private final @Nullable StoreCaller caller;

    Controls(
            Settings settings,
            Passes passes,
            Tree tree,
            Timers timers,
            Turns turns,
            Departures departures,
            Generations generations,
            News news,
            @Nullable StoreCaller caller) {
        this.settings = settings;
        this.passes = passes;
        this.tree = tree;
        this.timers = timers;
        this.turns = turns;
        this.departures = departures;
        this.generations = generations;
        this.news = news;
        this.caller = caller;
    }

    void pause(Demand whom, long nanos) {
        atKey(whom, (now, node) -> {
            news.closed(now, node, node.close(now, Exact.add(now, nanos)), Cause.BY_HAND);
            tellStore(now, node);
        });
    }

    void resume(Demand whom) {
        atKey(whom, (now, node) -> {
            node.open(now);
            if (node.parent != null) {
                turns.touchAll(now, node.parent); // It may have left others with whom it shared a quota.
            }
            news.opened(node);
            tellStore(now, node);
        });
    }

    private void tellStore(long now, Node node) {
        if (caller != null) {
            caller.closed(now, node);
        }
    }

    /** How a key stands, in the store if there is one. */
    Mono<ScopeState> status(Demand whom) {
        return caller != null && caller.decides() ? caller.status(whom) : Mono.fromSupplier(() -> statusHere(whom));
    }

    ScopeState statusHere(Demand whom) {
        ScopeState[] state = new ScopeState[1];
        atKey(whom, (now, node) -> state[0] = stateOf(now, node));
        return state[0];
    }

    ScopeState stateOf(long now, Node node) {
        return Snapshots.scope(settings, tree, node, now);
    }

    /** Forgets what is known of a key, in the store too if there is one. */
    Mono<Void> reset(Demand whom) {
        return caller != null && caller.decides() ? caller.reset(whom) : Mono.fromRunnable(() -> resetHere(whom));
    }

    void resetHere(Demand whom) {
        atKey(whom, (now, node) -> {
            node.reset(now, generations.next());
            if (node.parent != null) {
                turns.touchAll(now, node.parent); // It may have left others with whom it shared a quota.
            }
            news.opened(node);
            if (caller != null) {
                caller.forgot(node);
            }
        });
    }

    void atKey(Demand whom, KeyChange change) {
        Object[] keys = tree.keysNamed(whom);
        boolean[] changed = new boolean[1];
        while (!changed[0]) {
            KeyLimits limits = tree.limitsOf(keys);
            passes.pass(now -> {
                Node node = tree.grow(now, keys, limits);
                if (node != null) {
                    change.at(now, node);
                    turns.touch(now, node);
                    changed[0] = true;
                }
            });
        }
    }

    interface KeyChange {
        void at(long now, Node node);
    }

    /** Changes the limits of every key. Waits are reckoned anew; those that can never pass any more fail. */
    void change(List<Limit> rootLimits, List<Scope> scopes) {
        if (caller == null) {
            changeTo(rootLimits, scopes);
        } else {
            caller.change(rootLimits, scopes);
        }
    }

    void changeTo(List<Limit> rootLimits, List<Scope> scopes) {
        Map<Node, List<Limit>> limits = new HashMap<>();
        boolean[] changed = new boolean[1];
        while (!changed[0]) {
            List<Node> nodes;
            synchronized (passes) {
                nodes = tree.nodes();
            }
            for (Node node : nodes) {
                if (!limits.containsKey(node)) {
                    limits.put(node, scopes.get(node.depth - 1).limitsOf(node.key, tree.path(node)));
                }
            }
            passes.pass(now -> changed[0] = change(now, rootLimits, scopes, limits));
        }
    }

    /** False, and nothing is changed, if keys came to be known meanwhile. */
    private boolean change(long now, List<Limit> rootLimits, List<Scope> scopes, Map<Node, List<Limit>> limits) {
        List<Node> nodes = tree.nodes();
        if (!limits.keySet().containsAll(nodes)) {
            return false;
        }
        // By the limits of before, which those of a narrower key are reckoned by too.
        tree.root.advance(now);
        nodes.forEach(node -> node.advance(now));
        tree.change(rootLimits, scopes);
        long generation = generations.next();
        tree.root.change(now, rootLimits, settings.lanes(), generation, passes.clock()::wallMillis);
        for (Node node : nodes) {
            node.change(
                    now,
                    limits.getOrDefault(node, List.of()),
                    settings.lanes(),
                    generation,
                    passes.clock()::wallMillis);
        }
        if (caller != null) {
            caller.limitsChanged(tree.root);
        }
        turns.touchAll(now, tree.root);
        departures.failForbidden(now, tree.root);
        return true;
    }

    RateLimiterSnapshot snapshot() {
        @Nullable Snapshots[] taking = new @Nullable Snapshots[1];
        boolean[] done = new boolean[1];
        while (!done[0]) {
            passes.pass(now -> {
                Snapshots known = taking[0] == null ? new Snapshots(settings, tree, turns, timers, now) : taking[0];
                taking[0] = known;
                done[0] = known.more(now);
            });
        }
        return Objects.requireNonNull(taking[0]).taken();
    }

    long evaluations() {
        synchronized (passes) {
            return turns.evaluations();
        }
    }
}
