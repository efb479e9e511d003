package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;

/**
 * What one call has behind it, from its first failure on: attempts, refusals, time waited, failures. Used by one attempt at
 * a time.
 */
final class Retries {

    private static final int KEPT_FAILURES = 10;

    private final Settings settings;
    private final RetryPolicy policy;
    private final RetryBudget budget;
    private final Demand demand;
    private final long startedAt;

    private int attempts;
    private int failures;
    private int refusals;
    private long waitedNanos;
    private long restNanos;
    private @Nullable Duration lastHint;
    private int lastStatus;
    private boolean maybeSent;
    private boolean failing;
    private @Nullable Throwable last;
    private volatile @Nullable Subscription current;
    private volatile boolean abandoned;
    private @Nullable Throwable sentence;
    private @Nullable Failure told;
    private volatile boolean usedUp;
    private final List<Throwable> earlier = new ArrayList<>(2);

    Retries(Settings settings, RetryPolicy policy, RetryBudget budget, Demand demand, long startedAt) {
        this.settings = settings;
        this.policy = policy;
        this.budget = budget;
        this.demand = demand;
        this.startedAt = startedAt;
    }

    Demand demand() {
        return demand;
    }

    int attempts() {
        return attempts;
    }

    long waitedNanos() {
        return waitedNanos;
    }

    /** How long the next attempt rests before it stands in line; asked for once. */
    long takeRest() {
        long rest = restNanos;
        restNanos = 0;
        return rest;
    }

    void rest(long nanos) {
        restNanos = nanos;
    }

    /** Goes on where so many attempts were made. */
    void goesOn(int behind) {
        attempts = behind;
    }

    /** How long the next attempt will rest. */
    long restNanos() {
        return restNanos;
    }

    /** How long the next attempt may wait: until the deadline. */
    long leftNanos(long now) {
        long deadline = policy.deadlineNanos();
        return deadline == Exact.NEVER ? Exact.NEVER : Math.max(0, deadline - (now - startedAt));
    }

    @Nullable
    Throwable last() {
        return last;
    }

    /** An adapter tells how far the attempt got, for an error that nobody knows. */
    void told(Failure failure) {
        told = failure;
    }

    @Nullable
    Failure takeTold() {
        Failure last = told;
        told = null;
        return last;
    }

    /** The current attempt uses up what another one would need. */
    void usedUp() {
        usedUp = true;
    }

    boolean isUsedUp() {
        return usedUp;
    }

    /** What the attempt has to end with, once its response is discarded. */
    void sentence(Throwable end) {
        sentence = end;
    }

    boolean isSentence(Throwable error) {
        return error.equals(sentence);
    }

    /** Whether the current attempt failed, even if its response is handed on. */
    boolean isFailing() {
        return failing;
    }

    /** Whether any attempt so far may have reached the server. */
    boolean maybeSent() {
        return maybeSent;
    }

    /**
     * The next attempt. A cancel reaches it here too: one that comes while retryWhen takes up a new subscription can get
     * lost there, between its look at {@code cancelled} and its look at who else is at work.
     */
    void begins(Subscription attempt) {
        current = attempt;
        if (abandoned) {
            attempt.cancel();
        }
    }

    void abandon() {
        abandoned = true;
        Subscription attempt = current;
        if (attempt != null) {
            attempt.cancel();
        }
    }

    void attempted(long waited) {
        attempts++;
        failing = false;
        waitedNanos = Exact.add(waitedNanos, waited);
    }

    void failed(Throwable failure, int status, boolean sent) {
        if (last != null && earlier.size() < KEPT_FAILURES) {
            earlier.add(last);
        }
        failing = true;
        last = failure;
        lastStatus = status;
        maybeSent |= sent;
    }

    /** A refusal for a limit: null if the call goes on, or why not. */
    @Nullable
    String refused(RateLimitSignal signal, boolean heardElsewhere) {
        lastHint = signal.hint();
        if (refusals >= policy.refusals()) {
            return "it was refused for a limit " + (refusals + 1) + " times";
        }
        refusals++;
        // The closed scope makes it wait; where somebody else's is closed, it backs off by itself.
        restNanos = heardElsewhere ? Math.max(1, policy.waitNanos(true, refusals - 1, random())) : 0;
        if (heardElsewhere && signal.delay() != null) {
            restNanos = Math.max(restNanos, Exact.nanos(signal.delay()));
        }
        return null;
    }

    /** A failure that is not a limit: null if the call goes on, or why not. */
    @Nullable
    String failedFor(boolean unavailable) {
        if (failures + 1 >= policy.attempts()) {
            return "it has no attempts left";
        }
        if (!budget.takeRetry()) {
            return "the retry budget is used up";
        }
        restNanos = policy.waitNanos(unavailable, failures, random());
        failures++;
        return null;
    }

    RetriesExhaustedException exhausted(List<String> keys, String why) {
        Throwable cause = last;
        if (cause == null) {
            throw new IllegalStateException("a call is exhausted by a failure");
        }
        RetriesExhaustedException exhausted = new RetriesExhaustedException(
                settings.name(),
                keys,
                why,
                attempts,
                lastStatus,
                lastHint,
                Duration.ofNanos(waitedNanos),
                maybeSent,
                cause);
        earlier.forEach(exhausted::addSuppressed);
        return exhausted;
    }

    private double random() {
        return settings.random().getAsDouble();
    }
}
