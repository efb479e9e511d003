package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.Quota;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The quotas of one key that responses told of. */
final class Learned {

    /** A server that names a new quota with every answer must not fill the memory. */
    private static final int MOST = 8;

    private static final LearnedMeter[] NONE = {};

    private LearnedMeter[] meters = NONE;
    /** Per lane, its shares of them; none for a lane that may use all of each. */
    private Meters[] shares = {};

    LearnedMeter[] meters() {
        return meters;
    }

    /** Those that a store can keep for several processes. */
    Meter[] shareable() {
        for (LearnedMeter meter : meters) {
            if (!meter.isShareable()) {
                return Arrays.stream(meters).filter(LearnedMeter::isShareable).toArray(Meter[]::new);
            }
        }
        return meters;
    }

    /** What a lane may use of them, if that is not all. */
    Meters shares(int lane) {
        return lane < shares.length ? shares[lane] : Meters.NONE;
    }

    private void setMeters(LearnedMeter[] changed, int lanes) {
        meters = changed;
        shares = new Meters[lanes];
        for (int lane = 0; lane < lanes; lane++) {
            int of = lane;
            shares[lane] = Meters.of(Arrays.stream(changed)
                    .map(meter -> meter.share(of))
                    .filter(Objects::nonNull)
                    .toArray(Meter[]::new));
        }
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

    /** Whether something of what its quotas say to others than this key changed since all of them were placed, as they are now. */
    boolean placeAll(long now) {
        boolean anew = false;
        for (LearnedMeter meter : meters) {
            anew |= meter.members().size() > 1 && meter.placeAll(now);
        }
        return anew;
    }

    /** This key is placed, and those with which it shares a quota are not. */
    void placeOne(long now) {
        for (LearnedMeter meter : meters) {
            if (meter.members().size() > 1) {
                meter.placeOne(now);
            }
        }
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
        setMeters(more, node.slots.length);
        meter.join(node);
        return oldest;
    }

    /** What is out now stands in these books no more. */
    void begin() {
        for (LearnedMeter meter : meters) {
            meter.begin();
        }
    }

    /** Whether a store is to be told of one that it can keep. */
    boolean hasWord() {
        for (LearnedMeter meter : meters) {
            if (meter.hasWord() && meter.isShareable()) {
                return true;
            }
        }
        return false;
    }

    /** So many more were granted at its key and are not answered yet. */
    void unanswered(long more) {
        for (LearnedMeter meter : meters) {
            meter.unanswered(more);
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
        setMeters(fewer, node.slots.length);
    }

    long readyAt(long now, Demand demand) {
        long at = now;
        for (LearnedMeter meter : meters) {
            at = Math.max(at, meter.readyAt(now, demand.costFor(meter)));
        }
        return at;
    }

    long expectedAt(long now, Demand demand, int lane, long ahead) {
        long at = now;
        for (LearnedMeter meter : meters) {
            at = Math.max(at, meter.expectedAt(now, meter.countsRequests ? ahead : 0, demand.costFor(meter)));
        }
        return Math.max(at, shares(lane).expectedAt(now, demand, ahead));
    }

    /** Even what costs nothing in a quota's unit is out, and may be what asks for it. */
    void take(long now, Demand demand, int lane, Booking.Phase phase) {
        for (LearnedMeter meter : meters) {
            meter.take(now, demand.costFor(meter), phase);
        }
        for (Meter share : shares(lane).each) {
            share.take(now, demand.costFor(share), phase);
        }
    }

    void moved(long now, Ticket ticket, int lane, Booking.Phase to) {
        for (LearnedMeter meter : meters) {
            meter.isKnown(now);
            if (meter.knows(ticket)) {
                long cost = ticket.costFor(meter);
                LearnedShare share = meter.share(lane);
                meter.moved(now, cost, ticket.phase, ticket.at, ticket.sentAt, to);
                if (share != null) {
                    share.moved(now, cost, ticket.phase, ticket.at, ticket.sentAt, to);
                }
            }
        }
    }

    void settle(long now, Ticket ticket, int lane, String unit, long delta) {
        for (LearnedMeter meter : meters) {
            meter.isKnown(now);
            if (meter.knows(ticket) && meter.limit.unit().equals(unit)) {
                LearnedShare share = meter.share(lane);
                long counted = meter.limit.counted(delta);
                meter.settle(now, counted, ticket);
                if (share != null) {
                    share.settle(now, counted, ticket);
                }
            }
        }
    }

    void refund(long now, Ticket ticket, int lane) {
        for (LearnedMeter meter : meters) {
            meter.isKnown(now);
            if (meter.knows(ticket)) {
                if (ticket.tells() == Ticket.Tells.NOTHING) {
                    unused(now, meter, ticket, lane);
                } else {
                    refund(now, meter, ticket, lane);
                }
            }
        }
    }

    private static void refund(long now, LearnedMeter meter, Ticket ticket, int lane) {
        LearnedShare share = meter.share(lane);
        meter.refund(now, ticket.costFor(meter), ticket);
        if (share != null) {
            share.refund(now, ticket.costFor(meter), ticket);
        }
    }

    private static void unused(long now, LearnedMeter meter, Ticket bare, int lane) {
        LearnedShare share = meter.share(lane);
        meter.unused(now, bare.demand.costFor(meter), bare);
        if (share != null) {
            share.unused(bare.demand.costFor(meter), bare);
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
