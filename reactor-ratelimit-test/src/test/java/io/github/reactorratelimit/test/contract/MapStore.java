package io.github.reactorratelimit.test.contract;

import io.github.reactorratelimit.LimitStore;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;
import reactor.core.publisher.Mono;

/** A store as a user may write one, with its books in a map; it can be made to err in one way. */
final class MapStore implements LimitStore {

    /** How it errs. */
    enum Fault {
        NONE,
        GIVES_ONE_MORE,
        GIVES_ONE_LESS,
        FORGETS_EARLY,
        REFILLS_TWICE_AS_FAST,
        REFILLS_HALF_AS_FAST,
        SPACES_NOTHING,
        STARTS_HALF_FULL,
        TAKES_FROM_THE_REFUSED,
        TAKES_ONE_WHATEVER_IT_COSTS,
        TAKES_FROM_THE_FIRST_LIMIT_ONLY,
        CORRECTS_NOTHING,
        GIVES_BACK_TWICE,
        HOLDS_FOR_EVER,
        REFILLS_BUDGETS,
        SAYS_TO_WAIT_TOO_SHORT,
        SAYS_TO_WAIT_TOO_LONG,
        SAYS_THAT_MORE_IS_LEFT,
        KEEPS_ALL_KEYS_TOGETHER,
        SHARES_NOTHING,
        FORGETS_WHAT_IT_GRANTS_AHEAD,
        KEEPS_CLOSED_KEYS_OPEN,
        NEVER_FORGETS
    }

    private final LongSupplier nanos;
    private final Fault fault;
    /** What all processes share. */
    private final Map<List<Object>, Shelf> shelves;

    private final Map<String, Long> closedUntil;
    private long now;

    MapStore(LongSupplier nanos, Fault fault) {
        this(nanos, fault, new HashMap<>(), new HashMap<>());
    }

    private MapStore(LongSupplier nanos, Fault fault, Map<List<Object>, Shelf> shelves, Map<String, Long> closedUntil) {
        this.nanos = nanos;
        this.fault = fault;
        this.shelves = shelves;
        this.closedUntil = closedUntil;
    }

    /** What a further process has of it. */
    MapStore another() {
        return errs(Fault.SHARES_NOTHING)
                ? new MapStore(nanos, fault)
                : new MapStore(nanos, fault, shelves, closedUntil);
    }

    private boolean errs(Fault one) {
        return fault == one;
    }

    @Override
    public Terms terms() {
        return new Terms(Duration.ofHours(1), Duration.ofDays(1_000), Duration.ofSeconds(1), 0);
    }

    @Override
    public String key(Map<String, String> attributes) {
        return errs(Fault.KEEPS_ALL_KEYS_TOGETHER) && !attributes.isEmpty() ? "all" : attributes.toString();
    }

    @Override
    public Mono<Reply> decide(Batch batch) {
        return Mono.fromSupplier(() -> decided(batch));
    }

    private Reply decided(Batch batch) {
        now = nanos.getAsLong();
        for (Closing closing : batch.closings()) {
            close(batch.keys().get(closing.key()), closing.nanos());
        }
        for (Holding holding : batch.holdings()) {
            if (!errs(Fault.HOLDS_FOR_EVER)) {
                shelf(batch, holding.books()).hold(this, holding.held());
            }
        }
        for (Correction correction : batch.corrections()) {
            if (!errs(Fault.CORRECTS_NOTHING)) {
                long delta = correction.delta();
                shelf(batch, correction.books())
                        .correct(errs(Fault.GIVES_BACK_TWICE) && delta < 0 ? 2 * delta : delta, correction.baseNanos());
            }
        }
        List<Answer> answers =
                batch.asks().stream().map(ask -> answer(batch, ask)).toList();
        List<KeyState> keys = batch.keys().stream()
                .map(key -> new KeyState(closedFor(key), 0, 0, 0, 0, 0, List.of()))
                .toList();
        return new Reply(now, keys, answers);
    }

    private long closedFor(String key) {
        return Math.max(0, closedUntil.getOrDefault(key, 0L) - now);
    }

    private void close(String key, long nanos) {
        if (nanos == Closing.FORGET && !errs(Fault.NEVER_FORGETS)) {
            shelves.keySet().removeIf(name -> name.get(0).equals(key));
            closedUntil.remove(key);
        } else if (nanos == Closing.OPEN) {
            closedUntil.remove(key);
        } else if (nanos > 0 && !errs(Fault.KEEPS_CLOSED_KEYS_OPEN)) {
            closedUntil.merge(key, now + nanos, Math::max);
        }
    }

    private Answer answer(Batch batch, Ask ask) {
        for (int key : ask.keys()) {
            long closed = closedFor(batch.keys().get(key));
            if (closed > 0) {
                return new Answer(0, 0, closed, key, -1, 0, closed);
            }
        }
        int granted = 0;
        while (granted < ask.times() && ask.parts().stream().allMatch(part -> fits(batch, part))) {
            take(batch, ask.parts(), 0);
            granted++;
        }
        int ahead = granted == ask.times() ? ahead(batch, ask) : 0;
        if (granted < ask.times() && errs(Fault.TAKES_FROM_THE_REFUSED)) {
            take(batch, ask.parts(), 0);
        }
        long wait = 0;
        long left = -1;
        long full = 0;
        int slowest = -1;
        for (Part part : ask.parts()) {
            Shelf shelf = shelf(batch, part.books());
            long each = shelf.fits(part.cost()) ? 0 : shelf.waitFor(part.cost());
            if (wait >= 0 && (each < 0 || each > wait)) {
                wait = each;
                slowest = part.books();
            }
            left = left < 0 ? shelf.left() : Math.min(left, shelf.left());
            full = Math.max(full, shelf.full());
        }
        boolean longer = wait > 2_000;
        wait = longer && errs(Fault.SAYS_TO_WAIT_TOO_SHORT) ? wait / 2 : wait;
        wait = longer && errs(Fault.SAYS_TO_WAIT_TOO_LONG) ? wait * 2 : wait;
        left += errs(Fault.SAYS_THAT_MORE_IS_LEFT) ? 1 : 0;
        int key = slowest < 0 ? -1 : batch.books().get(slowest).key();
        return new Answer(granted, ahead, wait, key, slowest, left, full);
    }

    private boolean fits(Batch batch, Part part) {
        return shelf(batch, part.books()).fits(part.cost());
    }

    private int ahead(Batch batch, Ask ask) {
        long plenty = (long) Ask.SCARCE * ask.ahead();
        if (!ask.parts().stream().allMatch(part -> shelf(batch, part.books()).fits(plenty * part.cost()))) {
            return 0;
        }
        for (int i = 0; i < ask.ahead() && !errs(Fault.FORGETS_WHAT_IT_GRANTS_AHEAD); i++) {
            take(batch, ask.parts(), ask.keptNanos());
        }
        return ask.ahead();
    }

    private void take(Batch batch, List<Part> parts, long keptNanos) {
        for (Part part : errs(Fault.TAKES_FROM_THE_FIRST_LIMIT_ONLY) ? parts.subList(0, 1) : parts) {
            long cost = errs(Fault.TAKES_ONE_WHATEVER_IT_COSTS) ? 1 : part.cost();
            shelf(batch, part.books()).take(this, cost, now + part.transitNanos() + keptNanos);
        }
    }

    private Shelf shelf(Batch batch, int at) {
        Books books = batch.books().get(at);
        List<Object> name = List.of(batch.keys().get(books.key()), books.unit(), books.kind());
        Shelf shelf = shelves.computeIfAbsent(name, fresh -> Shelf.of(books, fault, now));
        shelf.now = now;
        return shelf;
    }
}
