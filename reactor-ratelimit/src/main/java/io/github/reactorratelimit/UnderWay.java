package io.github.reactorratelimit;

import org.jspecify.annotations.Nullable;

/** How many calls of one key are under way. */
final class UnderWay {

    /** Attempts that were granted and not answered yet. */
    private long unanswered;
    /** Permits that nobody else tells of; null as long as there was none. */
    private @Nullable InHand inHand;

    long unanswered() {
        return unanswered;
    }

    void unanswered(long more) {
        unanswered += more;
    }

    /** Permits of which nobody else tells were granted. */
    void take(long now, long count) {
        inHand().take(now, count);
    }

    /** One that was granted at {@code grantedAt} was given back. */
    void end(long now, long grantedAt) {
        inHand().end(now, grantedAt);
    }

    private InHand inHand() {
        InHand known = inHand;
        if (known == null) {
            known = new InHand();
            inHand = known;
        }
        return known;
    }

    long count(long now) {
        return unanswered + (inHand == null ? 0 : inHand.count(now));
    }

    /** Those in hand of another key are counted here from now on. */
    void absorb(long now, UnderWay other) {
        if (other.inHand != null) {
            inHand().absorb(now, other.inHand);
        }
    }
}
