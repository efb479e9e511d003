package io.github.reactorratelimit.test;

import io.github.reactorratelimit.test.PermitAsk.State;
import java.util.List;
import org.assertj.core.api.AbstractAssert;

/** Assertions on what became of a test's permits; from {@link RateLimitAssertions#assertThat(TestPermitSource)}. */
public final class TestPermitSourceAssert extends AbstractAssert<TestPermitSourceAssert, TestPermitSource> {

    TestPermitSourceAssert(TestPermitSource source) {
        super(source, TestPermitSourceAssert.class);
    }

    /**
     * All permits are balanced: each that was granted was released or completed, and nobody waits.
     *
     * @return these assertions
     * @throws AssertionError if one was not, or somebody waits; it shows whose
     */
    public TestPermitSourceAssert isBalanced() {
        isNotNull();
        List<PermitAsk> asks = actual.asks();
        List<String> open = asks.stream()
                .filter(ask -> ask.state() == State.WAITING || (ask.state() == State.GRANTED && !ask.isReleased()))
                .map(ask -> "#" + (asks.indexOf(ask) + 1) + " " + ask)
                .toList();
        if (!open.isEmpty()) {
            failWithMessage(
                    "%s",
                    "Expecting every permit to be released and nobody to wait, but of " + asks.size() + " demands these"
                            + " are open:" + System.lineSeparator() + Lines.indented(open));
        }
        return this;
    }

    /**
     * So many permits were asked for, whatever became of them.
     *
     * @param expected their number, 0 for none
     * @return these assertions
     * @throws AssertionError if there were more or fewer; it shows all
     */
    public TestPermitSourceAssert demands(int expected) {
        isNotNull();
        List<PermitAsk> asks = actual.asks();
        if (asks.size() != expected) {
            failWithMessage(
                    "%s",
                    "Expecting " + expected + " demands, but there were " + asks.size() + ":" + System.lineSeparator()
                            + Lines.indented(
                                    asks.stream().map(PermitAsk::toString).toList()));
        }
        return this;
    }
}
