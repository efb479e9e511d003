package io.github.reactorratelimit;

import io.github.reactorratelimit.LimitStore.Batch;
import io.github.reactorratelimit.LimitStore.KeyState;
import io.github.reactorratelimit.LimitStore.Reply;

/** How keys stand for all processes, as replies tell, and what follows from it here; under the monitor. */
final class SharedKeys {

    private final StoreNews news;
    private final StoreVerdicts verdicts;
    private final Turns turns;
    private final Generations generations;

    SharedKeys(StoreNews news, StoreVerdicts verdicts, Turns turns, Generations generations) {
        this.news = news;
        this.verdicts = verdicts;
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
            if (node.forgotten) {
                continue;
            }
            if (!news.isToClose(node)) {
                follow(now, node, state);
            }
            // Unless it is what is known here: the way there and back makes no closing longer.
            if (Exact.add(sentAt, state.closedNanos()) > Math.max(sentAt, node.gate.closedUntil)) {
                verdicts.closedElsewhere(now, node, state.closedNanos());
            }
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
                news.ramps(node); // Else its answers tell, or there is nothing to tell.
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
