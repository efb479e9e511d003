package io.github.reactorratelimit;

/** How many attempts of one key were granted and not answered yet. */
final class Unanswered {

    long count;
}
