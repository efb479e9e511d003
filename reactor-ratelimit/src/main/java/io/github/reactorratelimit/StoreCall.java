package io.github.reactorratelimit;

import io.github.reactorratelimit.Booking.Phase;
import io.github.reactorratelimit.LimitStore.Ask;
import io.github.reactorratelimit.LimitStore.Batch;
import io.github.reactorratelimit.LimitStore.Part;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import reactor.core.Disposable;
import reactor.core.Disposables;

/** One call of a store: who waits for its reply, and what it told. It is due when it counts as lost. */
final class StoreCall extends Timed {

    /** A ticket that is asked for, and until when it may wait if it is refused. */
    record Asked(Ticket ticket, long deadline) {}

    /** Permits of one place and cost are asked for together. */
    record Group(Slot slot, Demand demand, Phase phase, List<Asked> asked) {}

    final StoreDraft draft;
    final List<Group> groups = new ArrayList<>();
    final List<Standing> moved = new ArrayList<>();
    final Disposable.Swap subscription = Disposables.swap();

    private final Map<Object, Group> byKind = new LinkedHashMap<>();
    private @Nullable Group latest;

    @Nullable
    Batch batch;
    /** Of a call that only looks, or makes a key be forgotten: who is told that it came too late. */
    @Nullable
    Runnable givenUp;

    StoreCall(StoreDraft draft) {
        this.draft = draft;
    }

    void ask(Slot slot, Asked one) {
        Ticket ticket = one.ticket;
        Group group = latest;
        if (ticket instanceof Inquiry) {
            group = byKind.computeIfAbsent(ticket, alone -> group(slot, ticket.demand, ticket.phase));
        } else if (group == null
                || group.slot != slot
                || group.demand != ticket.demand
                || group.phase != ticket.phase) {
            group = add(slot, ticket.demand, ticket.phase);
            latest = group;
        }
        group.asked.add(one);
    }

    /** Nobody waits for these yet. */
    void askAhead(Stock stock) {
        add(stock.slot, stock.demand, stock.phase);
    }

    private Group add(Slot slot, Demand demand, Phase phase) {
        return byKind.computeIfAbsent(Arrays.asList(slot, phase, demand.costs()), kind -> group(slot, demand, phase));
    }

    private static Group group(Slot slot, Demand demand, Phase phase) {
        return new Group(slot, demand, phase, new ArrayList<>());
    }

    boolean asksAhead(int ask) {
        return batch != null && batch.asks().get(ask).ahead() > 0;
    }

    List<Ask> asks(long now, long number, Stocks stocks) {
        groups.addAll(byKind.values());
        List<Ask> asks = new ArrayList<>(groups.size());
        for (Group group : groups) {
            boolean figures = !group.asked.isEmpty() && group.asked.get(0).ticket() instanceof Inquiry;
            List<Part> parts = draft.parts(group.slot, group.demand, group.phase);
            int ahead = figures ? 0 : stocks.wanted(now, number, group, parts, draft);
            asks.add(
                    new Ask(group.asked.size(), ahead, Stocks.KEPT_NANOS, figures, draft.path(group.slot.node), parts));
        }
        return asks;
    }
}
