package io.github.reactorratelimit;

/** That a scope opens again, for those who want to be told of it. */
final class Reopening extends Timed {

    final Node node;

    Reopening(Node node) {
        this.node = node;
    }
}
