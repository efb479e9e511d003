package io.github.reactorratelimit;

import io.github.reactorratelimit.LimitStore.Answer;
import io.github.reactorratelimit.LimitStore.Ask;
import io.github.reactorratelimit.LimitStore.Batch;
import io.github.reactorratelimit.LimitStore.Closing;
import io.github.reactorratelimit.LimitStore.KeyState;
import io.github.reactorratelimit.LimitStore.Part;
import io.github.reactorratelimit.LimitStore.Reply;
import io.github.reactorratelimit.RateLimiterSnapshot.LimitState;
import io.github.reactorratelimit.RateLimiterSnapshot.ScopeState;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import reactor.core.publisher.Mono;
import reactor.core.publisher.MonoSink;

/** One key as a store knows it, beside all that callers ask for: for operators. */
final class StoreLook {

    private final StoreCall call;
    private final ScopeState here;
    private final Reply reply;

    private StoreLook(StoreCall call, ScopeState here, Reply reply) {
        this.call = call;
        this.here = here;
        this.reply = reply;
    }

    /** Asks how a key stands; or makes the store forget it, and asks how it stands then. */
    static Mono<StoreLook> at(Demand whom, boolean forget, Admission admission, Sharing sharing) {
        return Mono.create(sink -> look(whom, forget, admission, sharing, sink));
    }

    private static void look(
            Demand whom, boolean forget, Admission admission, Sharing sharing, MonoSink<StoreLook> sink) {
        StoreCall[] made = new StoreCall[1];
        ScopeState[] here = new ScopeState[1];
        admission.controls().atKey(whom, (now, node) -> {
            StoreCall call = sharing.aside(now);
            call.batch = batch(now, node, call.draft, forget);
            // Under the monitor, so that nobody finds it late before it can say so.
            List<String> keys = Tree.labels(node);
            call.givenUp = () -> sink.error(unavailable(admission, keys, sharing.tooLate()));
            made[0] = call;
            here[0] = admission.controls().stateOf(now, node);
        });
        StoreCall call = made[0];
        Batch batch = call.batch;
        assert batch != null;
        sink.onDispose(() -> {
            admission.passes().pass(now -> sharing.asideEnded(call));
            call.subscription.dispose();
        });
        call.subscription.update(sharing.decide(batch)
                .publishOn(admission.clock().scheduler())
                .subscribe(
                        reply -> sink.success(new StoreLook(call, here[0], reply)),
                        error -> sink.error(unavailable(admission, here[0].keys(), error))));
    }

    private static Batch batch(long now, Node node, StoreDraft draft, boolean forget) {
        draft.mentionAll(node);
        List<Ask> asks = new ArrayList<>();
        for (int books = 0; books < draft.books.size(); books++) {
            asks.add(new Ask(0, 0, 0, true, List.of(), List.of(new Part(books, 1, 0))));
        }
        List<Closing> closings = forget ? List.of(new Closing(0, Closing.FORGET, 0)) : List.of();
        return new Batch(
                0, now, draft.keys, draft.books, closings, List.of(), List.of(), List.of(), false, List.of(), asks);
    }

    private static LimiterUnavailableException unavailable(Admission admission, List<String> keys, Throwable why) {
        return new LimiterUnavailableException(admission.settings().name(), keys, why);
    }

    /** Limits and cooldown as the store says; lines, and what was learned, as they are here. */
    ScopeState state() {
        StoreDraft draft = call.draft;
        List<LimitState> limits = new ArrayList<>();
        for (int books = 0; books < draft.books.size() && draft.lanes.get(books) < 0; books++) {
            Limit limit = draft.limits.get(books);
            LimitState state = state(limit, reply.answers().get(books));
            int last = limits.size() - 1;
            if (books > 0 && draft.limits.get(books - 1) == limit) {
                limits.set(last, tighter(limits.get(last), state));
            } else {
                limits.add(state);
            }
        }
        limits.addAll(here.limits().subList(limits.size(), here.limits().size()));
        KeyState key = reply.keys().get(0);
        Duration closed = Duration.ofNanos(Math.max(0, key.closedNanos()));
        return new ScopeState(here.by(), here.endpoint(), here.keys(), limits, closed, key.waves(), here.lines());
    }

    private static LimitState state(Limit limit, Answer answer) {
        Duration full = answer.fullNanos() < 0 ? null : Duration.ofNanos(answer.fullNanos());
        return new LimitState(limit, answer.left(), full);
    }

    /** A window and its spacing are one limit. */
    private static LimitState tighter(LimitState window, LimitState spacing) {
        Duration full = window.fullAfter();
        Duration spaced = spacing.fullAfter();
        boolean later = full != null && spaced != null && spaced.compareTo(full) > 0;
        long available = Math.min(window.available(), spacing.available());
        return new LimitState(window.limit(), available, later ? spaced : full);
    }
}
