package io.github.reactorratelimit;

import io.github.reactorratelimit.RateLimiterSnapshot.ScopeState;
import io.github.reactorratelimit.Sharing.Mode;
import java.util.ArrayList;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.publisher.Mono;

/**
 * What passes leave to be done about a store, outside the monitor: calls it, gives up what is late, changes the limits to a
 * part of them while it is out of order, and says so.
 */
final class StoreCaller implements Runnable {

    private static final Logger LOG = LoggerFactory.getLogger(RateLimiter.class);

    private final Admission admission;
    private final Sharing sharing;
    private final String name;
    /** As they were configured, whatever part of them is used while the store is out of order. */
    private volatile List<Limit> limits;

    private volatile List<Scope> scopes;
    private volatile int division = 1;
    private volatile boolean hinted;
    /** Read after the monitor is left: whoever sees it does what is left to do. */
    private volatile boolean wanted;
    /** It can't be left until everybody is told: more is to come before those who are told ask again. */
    private volatile boolean urgent;

    StoreCaller(Admission admission, Sharing sharing, List<Limit> limits, List<Scope> scopes) {
        this.admission = admission;
        this.sharing = sharing;
        this.name = admission.settings().name();
        this.limits = limits;
        this.scopes = scopes;
    }

    /** Whether those who fit here have to be asked for there. */
    boolean decides() {
        return sharing.decides();
    }

    // ------------------------------------------------------------------------------------------ under the monitor

    /** A key was closed or opened by hand. */
    void closed(long now, Node node) {
        sharing.news().closed(node, !node.gate.isClosed(now));
    }

    /** A key was forgotten. */
    void forgot(Node node) {
        sharing.stocks().drop(node);
        sharing.news().forget(node);
    }

    /** At the end of a pass: whether something is to be called. */
    void prepare() {
        boolean calls = sharing.mayCall();
        if (!wanted && (calls || sharing.isSome())) {
            wanted = true;
        }
        if (calls && sharing.stocks().isLow()) {
            urgent = true;
        }
    }

    /** The clock was set back. */
    void clockStands() {
        sharing.stocks().giveBack();
    }

    /** Other limits are in force from now on. */
    void limitsChanged(Node root) {
        sharing.stocks().drop(root);
    }

    void dispose(long now) {
        sharing.dispose(now);
    }

    // ---------------------------------------------------------------------------------------- outside the monitor

    /** What is to be done; where callers are just told of their permits, after they had the time to ask for more. */
    void carryOut() {
        if (wanted && (urgent || !Emissions.afterwards(this))) {
            run();
        }
    }

    @Override
    public void run() {
        List<StoreCall> late = new ArrayList<>(0);
        int[] parts = new int[1];
        admission.passes().inMonitor(() -> {
            wanted = false;
            urgent = false;
            for (StoreCall call = sharing.takeOverdue(); call != null; call = sharing.takeOverdue()) {
                late.add(call);
            }
            parts[0] = sharing.takeDivision();
        });
        late.forEach(StoreCaller::giveUp);
        if (parts[0] > 0) {
            division = parts[0];
            change();
            admission.passes().pass(sharing::changed);
        }
        sayWhatChanged();
        StoreCall[] next = new StoreCall[1];
        admission.passes().pass(now -> next[0] = sharing.next(now));
        if (next[0] != null) {
            send(next[0]);
        }
    }

    private static void giveUp(StoreCall late) {
        late.subscription.dispose();
        if (late.givenUp != null) {
            late.givenUp.run();
        }
    }

    private void send(StoreCall call) {
        LimitStore.Batch batch = call.batch;
        assert batch != null;
        call.subscription.update(sharing.decide(batch)
                .subscribe(
                        reply -> admission.passes().pass(now -> answered(now, call, reply)),
                        error -> lost(call, error)));
    }

    private void answered(long now, StoreCall call, LimitStore.Reply reply) {
        if (sharing.ends(call)) {
            try {
                sharing.answered(now, call, reply);
            } catch (RuntimeException e) { // A reply that isn't one: nobody else would ever tell those who are left.
                sharing.lost(now, call, e);
            }
        }
    }

    private void lost(StoreCall call, Throwable why) {
        admission.passes().pass(now -> {
            if (sharing.ends(call)) {
                sharing.lost(now, call, why);
            }
        });
    }

    // ------------------------------------------------------------------------------------------------- operators

    /** How a key stands: its limits and its cooldown as the store says, its lines as they are here. */
    Mono<ScopeState> status(Demand whom) {
        return StoreLook.at(whom, false, admission, sharing).map(StoreLook::state);
    }

    /** Makes the store forget a key, then forgets it here. */
    Mono<Void> reset(Demand whom) {
        return StoreLook.at(whom, true, admission, sharing)
                .doOnNext(forgotten -> admission.controls().resetHere(whom))
                .then();
    }

    /** What is known here of a demand that nobody has asked the store for: it may be refused for sure, never allowed. */
    Decision unasked(Decision known) {
        if (known.allowed() && !hinted) {
            hinted = true;
            LOG.warn("Limiter '{}': tryAcquire refuses whatever the store would have to be asked for; use ask", name);
        }
        return known.unasked();
    }

    private void sayWhatChanged() {
        Mode[] mode = new Mode[1];
        Throwable[] why = new Throwable[1];
        admission.passes().inMonitor(() -> {
            mode[0] = sharing.takeChangedMode();
            why[0] = sharing.failure();
        });
        String reason = why[0] == null ? "" : why[0].getMessage();
        if (mode[0] == Mode.SHARED) {
            LOG.info("Limiter '{}': its store answers again, and decides from now on", name);
        } else if (mode[0] == Mode.CLOSED) {
            LOG.warn("Limiter '{}': its store is out of order, and demands fail meanwhile: {}", name, reason);
        } else if (mode[0] == Mode.ALONE) {
            LOG.warn(
                    "Limiter '{}': its store is out of order, and 1/{} of every limit is used without it meanwhile: {}",
                    name,
                    division,
                    reason);
        }
    }

    /** Changes the limits, or that part of them which is used now. */
    void change(List<Limit> rootLimits, List<Scope> changed) {
        limits = rootLimits;
        scopes = changed;
        change();
    }

    private void change() {
        int parts;
        do {
            parts = division;
            int by = parts;
            if (by == 1) {
                admission.controls().changeTo(limits, scopes);
            } else {
                admission
                        .controls()
                        .changeTo(
                                Scope.each(limits, limit -> limit.part(by)),
                                scopes.stream()
                                        .map(scope -> scope.each(limit -> limit.part(by)))
                                        .toList());
            }
        } while (parts != division);
    }
}
