package io.github.reactorratelimit;

import io.github.reactorratelimit.RateLimitListener.AttemptListener;
import io.github.reactorratelimit.RateLimitListener.Closing;
import io.github.reactorratelimit.RateLimitListener.Ending;
import io.github.reactorratelimit.RateLimitListener.Queue;
import io.github.reactorratelimit.RateLimitListener.Retry;
import io.github.reactorratelimit.RateLimitListener.Subject;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.Exceptions;
import reactor.util.context.Context;
import reactor.util.context.ContextView;

/** Tells the listeners what happened, outside the monitor. What they throw harms nobody. */
final class Herald {

    private static final Logger LOG = LoggerFactory.getLogger(RateLimiter.class);

    private final Settings settings;
    private final Tree tree;
    private final Set<Class<?>> failed = ConcurrentHashMap.newKeySet();
    /** Kept, so that whoever has only an operator of it keeps the limiter that listeners know. */
    private volatile @Nullable RateLimiter limiter;

    private Herald(Settings settings, Tree tree) {
        this.settings = settings;
        this.tree = tree;
    }

    /** Null if nobody listens. */
    static @Nullable Herald of(Settings settings, Tree tree) {
        return settings.listeners().isEmpty() ? null : new Herald(settings, tree);
    }

    // ------------------------------------------------------------------------------------------------ one permit

    void asked(Ticket ticket, int lane, Object[] keys) {
        Subject who = who(ticket, lane, keys);
        ContextView caller = ticket.caller();
        if (caller != null) {
            List<AttemptListener> own = new ArrayList<>(1);
            each(listener -> {
                AttemptListener watching = listener.attempt(who, caller);
                if (watching != null) {
                    own.add(watching);
                }
            });
            ticket.watchedBy(new Watch(who, own));
        }
        each(ticket, who, RateLimitListener::asked);
    }

    void waiting(Ticket ticket, Queue queue) {
        each(ticket, (listener, who) -> listener.waiting(who, queue));
    }

    void granted(Ticket ticket, long waitedNanos) {
        Duration waited = Duration.ofNanos(waitedNanos);
        each(ticket, (listener, who) -> listener.granted(who, waited));
    }

    void refused(Ticket ticket, long waitedNanos, Throwable why) {
        Duration waited = Duration.ofNanos(waitedNanos);
        each(ticket, (listener, who) -> listener.refused(who, waited, why));
    }

    void left(Ticket ticket, long waitedNanos) {
        Duration waited = Duration.ofNanos(waitedNanos);
        each(ticket, (listener, who) -> listener.left(who, waited));
    }

    void sent(Ticket ticket) {
        each(ticket, (listener, who) -> listener.sent(who));
    }

    void answered(Ticket ticket, RateLimitSignal signal, long closedNanos) {
        each(ticket, (listener, who) -> listener.answered(who, signal));
        if (signal.throttled()) {
            Duration closed = Duration.ofNanos(closedNanos);
            each(ticket, (listener, who) -> listener.throttled(who, signal, closed));
        }
    }

    void settled(Ticket ticket, String unit, long actual) {
        long asked = ticket.demand.cost(unit);
        each(ticket, (listener, who) -> listener.settled(who, unit, asked, actual));
    }

    void retried(Ticket ticket, Retry retry) {
        each(ticket, (listener, who) -> listener.retried(who, retry));
    }

    void exhausted(Ticket ticket, RetriesExhaustedException why) {
        each(ticket, (listener, who) -> listener.exhausted(who, why));
    }

    void failed(Ticket ticket, Throwable error) {
        each(ticket, (listener, who) -> listener.failed(who, error));
    }

    void proxyFailed(Ticket ticket, String proxy, Throwable error) {
        each(ticket, (listener, who) -> listener.proxyFailed(who, proxy, error));
    }

    /** With how its permit ended; nothing is told where there was none. */
    void released(Ticket ticket, long heldNanos, @Nullable Ending ending) {
        if (ending == null) {
            return;
        }
        Duration held = Duration.ofNanos(heldNanos);
        each(ticket, (listener, who) -> listener.released(who, held, ending));
    }

    /** What an attempt's source sees in its Context. */
    Context context(Watch watch, Context context) {
        Context[] seen = {context};
        for (AttemptListener listener : watch.listeners()) {
            tell(listener, watching -> seen[0] = watching.context(seen[0]));
        }
        return seen[0];
    }

    // -------------------------------------------------------------------------------------------------- the limiter

    void built(RateLimiter built) {
        limiter = built;
        each(listener -> listener.built(built));
    }

    void changed() {
        RateLimiter known = limiter;
        if (known != null) {
            each(listener -> listener.changed(known));
        }
    }

    void news(List<News.Item> items) {
        for (News.Item item : items) {
            List<String> keys = Tree.labels(item.node());
            if (item.cause() == null) {
                each(listener -> listener.opened(settings.name(), keys));
                continue;
            }
            Closing closing = new Closing(
                    settings.name(),
                    keys,
                    tree.endpoint(item.node()),
                    Duration.ofNanos(item.remainingNanos()),
                    Duration.ofNanos(item.addedNanos()),
                    item.cause());
            each(listener -> listener.closed(closing));
        }
    }

    // ------------------------------------------------------------------------------------------------------ telling

    private interface Event {
        void tell(RateLimitListener listener, Subject who);
    }

    private void each(Ticket ticket, Event event) {
        Watch watch = ticket.watched();
        each(ticket, watch == null ? who(ticket) : watch.who(), event);
    }

    private void each(Ticket ticket, Subject who, Event event) {
        Watch watch = ticket.watched();
        each(listener -> event.tell(listener, who));
        if (watch != null) {
            for (AttemptListener listener : watch.listeners()) {
                tell(listener, watching -> event.tell(watching, who));
            }
        }
    }

    private void each(Consumer<RateLimitListener> event) {
        for (RateLimitListener listener : settings.listeners()) {
            tell(listener, event);
        }
    }

    private <L extends RateLimitListener> void tell(L listener, Consumer<? super L> event) {
        try {
            event.accept(listener);
        } catch (Throwable e) {
            Exceptions.throwIfJvmFatal(e);
            if (failed.add(listener.getClass())) {
                LOG.warn(
                        "limiter={}: the listener {} threw; its next failures are not logged",
                        settings.name(),
                        listener.getClass().getName(),
                        e);
            }
        }
    }

    // ----------------------------------------------------------------------------------------------------- who it is

    private Subject who(Ticket ticket) {
        Slot slot = ticket.slot;
        return slot == null
                ? who(
                        ticket,
                        settings.lanes().indexOf(ticket.demand.lane()),
                        tree.keys(ticket.demand)) // It got nowhere.
                : who(ticket, slot.lane, Tree.labels(slot.node), tree.endpoint(slot.node));
    }

    private Subject who(Ticket ticket, int lane, Object[] keys) {
        return who(ticket, lane, tree.labels(keys), tree.endpoint(keys));
    }

    private Subject who(Ticket ticket, int lane, List<String> labels, @Nullable String endpoint) {
        String laneName = settings.lanes().name(lane);
        return new Subject(ticket, settings.name(), labels, endpoint, laneName, ticket.demand, ticket.number());
    }
}
