package io.github.reactorratelimit;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The lanes of a limiter, highest first, each with its share of every limit. Immutable. */
final class Lanes {

    /** The lane of those who name none. */
    static final String FIRST = "interactive";

    static final Lanes ONE = new Lanes(List.of(FIRST), List.of(Share.of(1)));

    private final List<String> names;
    private final List<Share> shares;

    private Lanes(List<String> names, List<Share> shares) {
        this.names = names;
        this.shares = shares;
    }

    /** Adds a lane below the others; the first lane is always there and only takes another share. */
    Lanes with(String name, Share share) {
        List<String> moreNames = new ArrayList<>(names);
        List<Share> moreShares = new ArrayList<>(shares);
        int known = names.indexOf(name);
        if (known >= 0) {
            moreShares.set(known, share);
        } else {
            moreNames.add(name);
            moreShares.add(share);
        }
        return new Lanes(List.copyOf(moreNames), List.copyOf(moreShares));
    }

    int count() {
        return names.size();
    }

    Share share(int lane) {
        return shares.get(lane);
    }

    String name(int lane) {
        return names.get(lane);
    }

    int indexOf(@Nullable String name) {
        if (name == null) {
            return 0;
        }
        int lane = names.indexOf(name);
        if (lane < 0) {
            throw new IllegalArgumentException("a lane must be one of " + names + ", was '" + name + "'");
        }
        return lane;
    }
}
