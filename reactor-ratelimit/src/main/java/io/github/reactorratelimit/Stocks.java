package io.github.reactorratelimit;

import io.github.reactorratelimit.LimitStore.Kind;
import io.github.reactorratelimit.LimitStore.Part;
import io.github.reactorratelimit.StoreCall.Group;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a store grants ahead of whoever will want it, so that callers who come in quick succession don't wait for a call
 * each; under the monitor. Only where the last call asked for the same and one follows the other at once, only from windows
 * and buckets, and only while a store has far more: a quota that is scarce is never kept from other processes. What nobody
 * wants is given back soon.
 */
final class Stocks {

    /** For how long permits are kept; the store counts them from so much later. */
    static final long KEPT_NANOS = 5_000_000;
    /** How soon after a reply, or after the last of them that was wanted. */
    private static final long FOLLOWING_NANOS = 1_000_000;

    private final Timers timers;
    private final StoreNews news;
    private final IdentityHashMap<Slot, Stock> stocks = new IdentityHashMap<>();
    /** More of these should come before the last is taken. */
    private final List<Stock> low = new ArrayList<>(1);

    private @Nullable Stock latest;
    private boolean disposed;
    /** Read by those who ask, without the monitor. */
    private volatile boolean some;

    /** Whoever asks until then follows those before at once. */
    private long followsUntil = Long.MIN_VALUE;
    /** When somebody came first whom the next call asks for. */
    private long firstAskedAt;

    Stocks(Timers timers, StoreNews news) {
        this.timers = timers;
        this.news = news;
    }

    /** Where a permit that is there for this ticket stands in the store's books; null if it has to be asked for. */
    @Nullable
    Standing take(long now, Ticket ticket) {
        if (ticket instanceof Inquiry) {
            return null; // It wants the store's figures too.
        }
        Stock stock = latest;
        Slot slot = ticket.place();
        if (stock == null || stock.slot != slot) {
            stock = stocks.get(slot);
            if (stock == null) {
                return null;
            }
            latest = stock;
        }
        if (!stock.isFor(ticket.demand, ticket.phase) || isHeldBack(now, slot.node)) {
            return null;
        }
        Standing standing = stock.take(now);
        if (standing != null) {
            answered(now);
            noteLow(stock);
        }
        return standing;
    }

    /** Takes as many more of those of which one was taken just now, {@code most} at the most; how many there were. */
    long takeMore(Slot slot, long most) {
        Stock stock = stocks.get(slot);
        long count = stock == null ? 0 : stock.takeMore(most);
        if (stock != null) {
            noteLow(stock);
        }
        return count;
    }

    private void noteLow(Stock stock) {
        if (stock.isLow()) {
            stock.askedFor(true);
            low.add(stock);
        }
    }

    /** Whether more is known by now than when the store granted them: a closing, a ramp, or a quota. */
    private static boolean isHeldBack(long now, Node leaf) {
        for (Node node = leaf; node != null; node = node.parent) {
            if (node.gate.isClosed(now) || node.learned != null || (node.ramp != null && node.ramp.isOn())) {
                return true;
            }
        }
        return false;
    }

    /** How many more to ask for than stand and wait. */
    int wanted(long now, long call, Group group, List<Part> parts, StoreDraft draft) {
        int waiting = group.asked().size();
        Stock stock = stocks.get(group.slot());
        if (stock != null && !stock.isFor(group.demand(), group.phase())) {
            return 0;
        }
        if (!areKept(parts, draft)
                || isHeldBack(now, group.slot().node)
                || (waiting > 0 && firstAskedAt > followsUntil)) {
            return stock == null ? 0 : none(now, stock);
        }
        if (stock == null) {
            stock = new Stock(group.slot(), group.demand(), group.phase());
            stocks.put(group.slot(), stock);
            some = true;
        }
        int wanted = waiting == 0 ? stock.wantedSoon(call) : stock.wanted(call, waiting);
        if (wanted == 0) {
            return none(now, stock);
        }
        stock.askedFor(true); // It is kept however long the call takes.
        return wanted;
    }

    private int none(long now, Stock stock) {
        stock.askedFor(false);
        if (stock.place == Timed.NOWHERE) {
            timers.set(stock, Exact.add(now, KEPT_NANOS));
        }
        return 0;
    }

    private static boolean areKept(List<Part> parts, StoreDraft draft) {
        for (Part part : parts) {
            Kind kind = draft.books.get(part.books()).kind();
            if (kind != Kind.WINDOW && kind != Kind.BUCKET) {
                return false;
            }
        }
        return !parts.isEmpty();
    }

    /** Whether there may be something to take; may be asked without the monitor. */
    boolean isSome() {
        return some;
    }

    /** Somebody has to be asked for, the first since the last call was made. */
    void asked(long now) {
        firstAskedAt = now;
    }

    /** A call was answered, or somebody got what one brought ahead. */
    void answered(long now) {
        followsUntil = Exact.add(now, FOLLOWING_NANOS);
    }

    /** Whether a call should be made for more, though nobody waits yet. */
    boolean isLow() {
        return !low.isEmpty();
    }

    /** Those of which more are asked for with the next call. */
    List<Stock> takeLow() {
        List<Stock> all = new ArrayList<>(low);
        low.clear();
        return all;
    }

    /** The store granted so many more than stood and waited, or none. */
    void granted(long now, Group group, int count, long atNanos) {
        Standing ahead = Standing.ahead(group.slot(), group.demand(), group.phase(), atNanos, KEPT_NANOS);
        Stock stock = stocks.get(group.slot());
        if (stock != null) {
            long until = Exact.add(now, KEPT_NANOS);
            stock.granted(ahead, count, until);
            timers.set(stock, stock.keptUntil(until));
        } else if (disposed && count > 0) {
            news.permits().returned(ahead, count);
        }
    }

    /** Nobody wanted them in time. */
    void due(long now, Stock stock) {
        stock.expire(now, news.permits()::returned);
        if (stock.keptUntil(now) > now) {
            timers.set(stock, stock.keptUntil(now));
        } else if (!stock.isAskedFor()) {
            forget(stock);
        }
    }

    void dispose() {
        disposed = true;
        stocks.values().forEach(stock -> stock.askedFor(false));
        giveBack();
    }

    /** Nobody gets what is left of them, nor knows how old it is. */
    void giveBack() {
        if (some) {
            for (Stock stock : new ArrayList<>(stocks.values())) {
                due(Exact.NEVER, stock);
            }
        }
    }

    /**
     * The store can't be told, or its books of this key aren't those any more: what is left below it, or comes yet,
     * counts as spent.
     */
    void drop(Node key) {
        for (Stock stock : new ArrayList<>(stocks.values())) {
            if (stock.slot.node.above(key.depth) == key) {
                forget(stock);
            }
        }
    }

    private void forget(Stock stock) {
        stocks.remove(stock.slot);
        some = !stocks.isEmpty();
        low.remove(stock);
        timers.remove(stock);
        latest = null;
    }
}
