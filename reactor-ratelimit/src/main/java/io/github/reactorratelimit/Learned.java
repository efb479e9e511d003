package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.Quota;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The quotas of one key that responses told of. */
final class Learned {

    /** A server that names a new quota with every answer must not fill the memory. */
    private static final int MOST = 8;

    private static final LearnedMeter[] NONE = {};

    private LearnedMeter[] meters = NONE;

    LearnedMeter[] meters() {
        return meters;
    }

    boolean isEmpty() {
        return meters.length == 0;
    }

    @Nullable
    LearnedMeter of(Quota quota) {
        for (LearnedMeter meter : meters) {
            if (meter.isOf(quota)) {
                return meter;
            }
        }
        return null;
    }

    /** All keys that count against one of them too, and this one, as they came to be known; none if this is the only one. */
    List<Node> sharing() {
        List<Node> sharing = List.of();
        for (LearnedMeter meter : meters) {
            if (meter.members().size() > 1) {
                sharing = sharing.isEmpty() ? meter.members() : joined(sharing, meter.members());
            }
        }
        return sharing;
    }

    private static List<Node> joined(List<Node> some, List<Node> others) {
        Set<Node> all = new HashSet<>(some);
        all.addAll(others);
        List<Node> joined = new ArrayList<>(all);
        joined.sort(Comparator.comparingLong(node -> node.number)); // All are keys right below the same one.
        return joined;
    }

    /** A further quota takes the place of the oldest, which is returned, if there are too many. */
    @Nullable
    LearnedMeter add(Node node, LearnedMeter meter) {
        LearnedMeter oldest = meters.length == MOST ? meters[0] : null;
        if (oldest != null) {
            remove(node, oldest);
        }
        LearnedMeter[] more = Arrays.copyOf(meters, meters.length + 1);
        more[more.length - 1] = meter;
        meters = more;
        meter.join(node);
        return oldest;
    }

    /** What is out now stands in these books no more. */
    void begin() {
        for (LearnedMeter meter : meters) {
            meter.begin();
        }
    }

    void leave(Node node) {
        for (LearnedMeter meter : meters) {
            meter.leave(node);
        }
    }

    void remove(Node node, LearnedMeter gone) {
        gone.leave(node);
        int kept = 0;
        LearnedMeter[] fewer = new LearnedMeter[meters.length - 1];
        for (LearnedMeter meter : meters) {
            if (meter != gone) {
                fewer[kept++] = meter;
            }
        }
        meters = fewer;
    }

    long readyAt(long now, Demand demand) {
        long at = now;
        for (LearnedMeter meter : meters) {
            at = Math.max(at, meter.readyAt(now, demand.costFor(meter)));
        }
        return at;
    }

    long expectedAt(long now, Demand demand, long ahead) {
        long at = now;
        for (LearnedMeter meter : meters) {
            at = Math.max(at, meter.expectedAt(now, meter.countsRequests ? ahead : 0, demand.costFor(meter)));
        }
        return at;
    }

    /** Even what costs nothing in a quota's unit is out, and may be what asks for it. */
    void take(long now, Demand demand, Booking.Phase phase) {
        for (LearnedMeter meter : meters) {
            meter.take(now, demand.costFor(meter), phase);
        }
    }

    void moved(long now, Ticket ticket, Booking.Phase to) {
        for (LearnedMeter meter : meters) {
            meter.isKnown(now);
            if (meter.knows(ticket)) {
                meter.moved(now, ticket.costFor(meter), ticket.phase, ticket.at, ticket.sentAt, to);
            }
        }
    }

    void settle(long now, Ticket ticket, String unit, long delta) {
        for (LearnedMeter meter : meters) {
            meter.isKnown(now);
            if (meter.knows(ticket) && meter.limit.unit().equals(unit)) {
                meter.settle(now, delta, ticket);
            }
        }
    }

    void refund(long now, Ticket ticket) {
        for (LearnedMeter meter : meters) {
            meter.isKnown(now);
            if (meter.knows(ticket)) {
                meter.refund(now, ticket.costFor(meter), ticket);
            }
        }
    }

    /** A permit of whose end nobody has to tell has ended all the same. */
    void ended(long now, Ticket bare) {
        for (LearnedMeter meter : meters) {
            meter.isKnown(now);
            if (meter.knows(bare)) {
                meter.ended(bare);
            }
        }
    }

    /** Until when one of them is empty by the server's last word; in the past if none is. */
    long emptyUntil(long now) {
        long until = Long.MIN_VALUE;
        for (LearnedMeter meter : meters) {
            until = Math.max(until, meter.emptyUntil(now));
        }
        return until;
    }

    boolean isFull(long now) {
        for (LearnedMeter meter : meters) {
            if (meter.fullAt(now) > now) {
                return false;
            }
        }
        return true;
    }

    /** The smallest of them in requests; {@link Exact#NEVER} if there is none. */
    long permits() {
        long least = Exact.NEVER;
        for (LearnedMeter meter : meters) {
            least = meter.countsRequests ? Math.min(least, meter.limit.permits()) : least;
        }
        return least;
    }
}
