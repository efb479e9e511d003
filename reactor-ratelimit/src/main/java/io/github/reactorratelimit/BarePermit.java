package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.RateLimitSignal;

/** A permit in the caller's own hands: its grant counts as the response head. */
class BarePermit extends Ticket implements Permit {

    final Admission admission;

    BarePermit(Admission admission, Demand demand) {
        super(demand);
        this.admission = admission;
    }

    /** The permit of a grant that is made already, for limits that hold nothing. */
    static BarePermit granted(Admission admission, Demand demand, Slot slot, long at, long generation) {
        BarePermit permit = new BarePermit(admission, demand);
        permit.slot = slot;
        permit.stage(Stage.HELD);
        permit.phase = Phase.HEADED;
        permit.joinedAt = at;
        permit.at = at;
        permit.sentAt = at;
        permit.generation = generation;
        return permit;
    }

    @Override
    Tells tells() {
        return Tells.NOTHING;
    }

    @Override
    void emit() {}

    @Override
    public final void sent() {
        admission.answers().sent(this);
    }

    @Override
    public final void settle(String unit, long actual) {
        admission.answers().settle(this, unit, actual);
    }

    @Override
    public final void hear(RateLimitSignal signal) {
        admission.answers().hear(this, signal, 0, false);
    }

    @Override
    public final void complete(RateLimitSignal signal) {
        admission.answers().hear(this, signal, 0, true);
    }

    @Override
    public final void release() {
        admission.release(this);
    }
}
