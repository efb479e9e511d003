package io.github.reactorratelimit;

/**
 * A number that rises with everything that an earlier permit cannot have known of: a closing, a new window, new books. A
 * permit carries the one of its grant.
 */
final class Generations {

    private int current;

    int current() {
        return current;
    }

    /** From here on permits are told apart from those of before. */
    int next() {
        return ++current;
    }
}
