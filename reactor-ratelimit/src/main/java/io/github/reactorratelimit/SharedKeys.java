package io.github.reactorratelimit;

import io.github.reactorratelimit.LimitStore.Batch;
import io.github.reactorratelimit.LimitStore.KeyState;
import io.github.reactorratelimit.LimitStore.Reply;
import io.github.reactorratelimit.RateLimitListener.Cause;

/** How keys stand for all processes, as replies tell, and what follows from it here; under the monitor. */
final class SharedKeys {

    /** By so much a closing may be longer here than in the store's words, for the way there and back. */
    private static final long WAY_NANOS = 1_000_000_000L;

    /** What is still to be told from here. */
    private final StoreNews toTell;

    private final News news;
    private final Cooldowns cooldowns;
    private final Turns turns;
    private final Generations generations;

    SharedKeys(StoreNews toTell, News news, Cooldowns cooldowns, Turns turns, Generations generations) {
        this.toTell = toTell;
        this.news = news;
        this.cooldowns = cooldowns;
        this.turns = turns;
        this.generations = generations;
    }

    /** What others told of the keys of a call. What is still to be told from here goes first. */
    void told(long now, StoreCall ended, Reply reply) {
        Batch batch = ended.batch;
        assert batch != null;
        long sentAt = batch.sentAtNanos();
        for (int key = 0; key < ended.draft.nodes.size(); key++) {
            Node node = ended.draft.nodes.get(key);
            KeyState state = reply.keys().get(key);
            if (node.forgotten || sentAt <= node.gate.openedAt) {
                continue; // Whoever opened it here did that after the store had decided.
            }
            if (!toTell.isToClose(node)) {
                follow(now, node, state);
            }
            if (!state.quotas().isEmpty()) {
                state.quotas().forEach(quota -> cooldowns.learned(now, node, quota));
                turns.touch(now, node);
            }
            followClosing(now, sentAt, node, state.closedNanos());
        }
    }

    private void followClosing(long now, long sentAt, Node node, long nanos) {
        Gate gate = node.gate;
        // Unless it is what is known here: the way there and back makes no closing longer.
        if (Exact.add(sentAt, nanos) > Math.max(sentAt, gate.closedUntil)) {
            closed(now, node, nanos);
            gate.sharedUntil = gate.closedUntil;
        } else if (gate.isClosed(now) && !toTell.isToClose(node)) {
            if (nanos < 0 && gate.sharedUntil == gate.closedUntil) {
                opened(now, node);
            } else if (nanos > 0 && Exact.subtract(gate.closedUntil, Exact.add(now, nanos)) <= WAY_NANOS) {
                gate.sharedUntil = gate.closedUntil;
            }
        }
    }

    /** Somebody opened a key by hand in another process. A store that merely lost what it knew says no such thing. */
    private void opened(long now, Node node) {
        node.advance(now);
        node.reopen(now);
        news.opened(node);
        turns.touch(now, node);
    }

    /** Another process heard that a key is closed. */
    private void closed(long now, Node node, long nanos) {
        long longer = node.close(now, Exact.add(now, nanos));
        news.closed(now, node, longer, Cause.REFUSED);
        if (longer > 0) {
            turns.notice(now, node);
        }
    }

    private void follow(long now, Node node, KeyState state) {
        Gate gate = node.gate;
        Ramp ramp = state.width() > 0 ? node.ramp() : node.ramp;
        boolean next = state.waveNanos() != gate.toldWave && state.waveNanos() > 0;
        if (next && gate.toldGeneration == gate.generation) {
            // Somebody else's wave: permits of before belong to it here too.
            gate.generation = generations.next();
            ramp = node.ramp();
            ramp.refused(now, gate.generation);
        }
        gate.toldWave = state.waveNanos();
        gate.toldGeneration = gate.generation;
        boolean changed = next;
        if (ramp != null) {
            boolean before = ramp.isFollowed();
            changed |= before;
            ramp.follow(now, state.width(), generations);
            if (!before) {
                toTell.ramps(node); // Else its answers tell, or there is nothing to tell.
            }
        }
        if (state.waveNanos() > 0) {
            gate.waves = state.waves();
        }
        if (state.usageNanos() > node.usageToldAt) {
            node.usageToldAt = state.usageNanos();
            double usage = state.usagePerMille() / 1_000.0;
            if (usage >= Ramp.USED || ramp != null) {
                node.ramp().usedElsewhere(now, usage, generations);
                changed = true;
            }
        }
        if (changed) {
            turns.touch(now, node);
        }
    }
}
