package io.github.reactorratelimit;

/**
 * By what the keys that share a learned quota were placed in their rings. As long as that says the same to everybody, a
 * change at one of them is nobody else's business.
 */
final class LearnedPlaces {

    private boolean known;
    /** When those can go who could not. */
    private long until;

    private long left;
    /** One of them was placed by something else. */
    private boolean apart = true;
    /** The highest cost that anybody asked for: what is left beyond that changes nothing for anybody. */
    private long most = 1;

    /** A further key is to be placed. */
    void joined() {
        apart = true;
    }

    /** Somebody asks for this cost. */
    void asked(long cost) {
        if (cost > most) {
            most = cost;
            apart = true;
        }
    }

    /** All of them are placed. */
    void all(boolean nowKnown, long nowUntil, long nowLeft) {
        known = nowKnown;
        until = nowUntil;
        left = nowLeft;
        apart = false;
    }

    /** One of them is placed, and the others are not; whether that makes a difference. */
    void one(boolean unlike) {
        apart = unlike;
    }

    boolean isUnlike(boolean nowKnown, long nowUntil, long nowLeft) {
        return apart || known != nowKnown || until != nowUntil || (known && isUnlike(left, nowLeft));
    }

    /** Whether the one or the other left makes a difference to anybody. */
    boolean isUnlike(long one, long other) {
        return Math.min(one, most) != Math.min(other, most);
    }
}
