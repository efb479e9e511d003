package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.Dialect;
import io.github.reactorratelimit.signal.Dialects;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.DoubleSupplier;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/**
 * What a limiter is built from. Immutable: every method returns a changed copy, so a spec may be kept as a template.
 *
 * <p>Defaults: no limits and no scopes; the standard dialect; at most 100,000 waiting demands, 10,000 of them in one line;
 * server delays of up to 120 s are obeyed by waiting; scopes stay closed up to 20 % longer than a refusal asked; a refusal
 * without a hint closes its scope for 1 s, doubling per wave up to 5 min; keys are forgotten after 5 idle minutes once they
 * are full again; time is that of {@code Schedulers.parallel()}, looked up at every use; nobody listens.
 */
public final class RateLimiterSpec {

    private static final Settings STANDARD = new Settings(
            "limiter",
            Lanes.ONE,
            100_000,
            10_000,
            seconds(120),
            0.2,
            () -> ThreadLocalRandom.current().nextDouble(),
            seconds(1),
            seconds(300),
            seconds(30),
            seconds(300),
            List.of(),
            Learning.Mode.OFF,
            false,
            UnaryOperator.identity());

    private final Settings settings;
    private final List<Limit> rootLimits;
    private final List<Scope> scopes;
    private final Dialect dialect;
    private final Supplier<Scheduler> schedulers;

    private RateLimiterSpec(
            Settings settings,
            List<Limit> rootLimits,
            List<Scope> scopes,
            Dialect dialect,
            Supplier<Scheduler> schedulers) {
        this.settings = settings;
        this.rootLimits = rootLimits;
        this.scopes = scopes;
        this.dialect = dialect;
        this.schedulers = schedulers;
    }

    private static long seconds(long seconds) {
        return Exact.nanos(Duration.ofSeconds(seconds));
    }

    static RateLimiterSpec named(String name) {
        if (name.isBlank()) {
            throw new IllegalArgumentException("a limiter's name must not be blank, was '" + name + "'");
        }
        return new RateLimiterSpec(
                STANDARD.named(name), List.of(), List.of(), Dialects.standard(), Schedulers::parallel);
    }

    /**
     * The limiter's name in messages and metrics.
     *
     * @return the name
     */
    public String name() {
        return settings.name();
    }

    private RateLimiterSpec with(Settings changed) {
        return new RateLimiterSpec(changed, rootLimits, scopes, dialect, schedulers);
    }

    /**
     * Sets the limits of the root scope, which everybody counts against.
     *
     * @param limits all of them, in place of those set before
     * @return the changed spec
     */
    public RateLimiterSpec limit(Limit... limits) {
        return new RateLimiterSpec(settings, List.of(limits), scopes, dialect, schedulers);
    }

    /**
     * Adds a scope below those added before.
     *
     * @param scope the next narrower scope
     * @return the changed spec
     */
    public RateLimiterSpec scope(Scope scope) {
        List<Scope> more = new ArrayList<>(scopes);
        more.add(Objects.requireNonNull(scope, "scope"));
        return new RateLimiterSpec(settings, rootLimits, List.copyOf(more), dialect, schedulers);
    }

    /**
     * Sets the limits of a scope anew, keeping its place and attributes.
     *
     * @param scope the scope in its new form
     * @return the changed spec
     * @throws IllegalArgumentException if there is no scope by these attributes
     */
    public RateLimiterSpec replace(Scope scope) {
        List<Scope> changed = new ArrayList<>(scopes);
        for (int i = 0; i < changed.size(); i++) {
            if (changed.get(i).attributes().equals(scope.attributes())) {
                changed.set(i, scope);
                return new RateLimiterSpec(settings, rootLimits, List.copyOf(changed), dialect, schedulers);
            }
        }
        throw new IllegalArgumentException("a scope to replace must be one of " + scopes + ", was " + scope);
    }

    /**
     * Adds a lane below the first, which is called {@code interactive}, and those added before. Higher lanes go first; the
     * lowest is served once per ageing bound all the same.
     *
     * @param name the lane
     * @param share what it may use of every limit, rounded down, at least one permit
     * @return the changed spec
     */
    public RateLimiterSpec lane(String name, Share share) {
        return with(settings.lanes(settings.lanes().with(name, share)));
    }

    /**
     * Sets how long the lowest lane may be passed over; 30 s unless said.
     *
     * @param bound positive
     * @return the changed spec
     */
    public RateLimiterSpec ageing(Duration bound) {
        return with(settings.ageing(positive("an ageing bound", bound)));
    }

    /**
     * Sets how responses are read; {@link Dialects#standard()} unless said.
     *
     * @param reads the dialect
     * @return the changed spec
     */
    public RateLimiterSpec dialect(Dialect reads) {
        return new RateLimiterSpec(settings, rootLimits, scopes, Objects.requireNonNull(reads, "dialect"), schedulers);
    }

    /**
     * Says what demands cost by what they are, for APIs whose requests weigh differently: what every demand is turned into
     * before it asks. Unless said, a demand costs what it says itself. A demand may be of several requests.
     *
     * @param by from a demand to the same one with its costs; called on the caller's thread, once per assembly where the
     *     demand is known then; must not block, and has to give the same for its own result
     * @return the changed spec
     */
    public RateLimiterSpec costs(UnaryOperator<Demand> by) {
        return with(settings.prices(Objects.requireNonNull(by, "costs")));
    }

    /**
     * Bounds the waiting room. A demand that finds it full fails with {@link QueueFullException}.
     *
     * @param inAll the most that wait in all, positive; 100,000 unless said
     * @param perLine the most that wait for one key in one lane, positive; 10,000 unless said
     * @return the changed spec
     * @throws IllegalArgumentException if a bound is not positive
     */
    public RateLimiterSpec maxPending(int inAll, int perLine) {
        if (inAll <= 0 || perLine <= 0) {
            throw new IllegalArgumentException("maxPending must be positive, was " + inAll + " and " + perLine);
        }
        return with(settings.maxPending(inAll, perLine));
    }

    /**
     * Sets the longest delay asked for by a server that is obeyed by waiting; 120 s unless said. Calls that would have to
     * wait longer fail at once with the time that is left.
     *
     * @param longest positive
     * @return the changed spec
     */
    public RateLimiterSpec maxServerDelay(Duration longest) {
        return with(settings.maxServerDelay(positive("the longest server delay", longest)));
    }

    /**
     * Sets how much longer than asked a scope stays closed after a refusal, at most; 0.2 unless said.
     *
     * @param share between 0 and 1
     * @return the changed spec
     * @throws IllegalArgumentException if the share is out of range
     */
    public RateLimiterSpec jitter(double share) {
        if (!(share >= 0 && share <= 1)) {
            throw new IllegalArgumentException("jitter must be between 0 and 1, was " + share);
        }
        return with(settings.jitter(share));
    }

    /**
     * Sets where random numbers come from; {@code ThreadLocalRandom} unless said. For tests and simulations.
     *
     * @param uniform in [0, 1); must not block
     * @return the changed spec
     */
    public RateLimiterSpec random(DoubleSupplier uniform) {
        return with(settings.random(Objects.requireNonNull(uniform, "random")));
    }

    /**
     * Sets how long a refusal without a hint closes its scope: the first of a series, and the most it doubles to.
     *
     * @param first positive; 1 s unless said
     * @param longest at least as long; 5 min unless said
     * @return the changed spec
     * @throws IllegalArgumentException if a duration is out of range
     */
    public RateLimiterSpec cooldown(Duration first, Duration longest) {
        positive("a cooldown", first);
        if (longest.compareTo(first) < 0) {
            throw new IllegalArgumentException(
                    "the longest cooldown must be at least the first of " + first + ", was " + longest);
        }
        return with(settings.cooldown(Exact.nanos(first), Exact.nanos(longest)));
    }

    /**
     * Learns from responses what nobody configured: what is left of a quota, and until when. The first call of a key goes
     * alone and finds out; from then on no more go than the last figure leaves beside what is in flight, until the reset,
     * after which one call finds out again. Learned figures only tighten: configured limits stay the bound. If a key's
     * responses say nothing, its configured limits apply, or else it is tried out with more and more calls at once. Lanes
     * have their shares of a learned quota too. Off unless said.
     *
     * <p>What is learned belongs to the key that the response names, or else to the narrowest one. Keys that differ in
     * nothing but their route ({@code endpoint}, {@code method} or {@code route}) and are told of the same partition share
     * what is learned of it; two tokens or users never do. Of one key, at most eight quotas are kept: a ninth takes the
     * place of the one that was learned first.
     *
     * @return the changed spec
     */
    public RateLimiterSpec learn() {
        return with(settings.learning(Learning.Mode.ON));
    }

    /**
     * As {@link #learn()}, and spreads what is left of a learned quota evenly over what is left of its window, in place of
     * using it up and waiting.
     *
     * @return the changed spec
     */
    public RateLimiterSpec learnPaced() {
        return with(settings.learning(Learning.Mode.PACED));
    }

    /**
     * Lets a key rest whose calls fail, for everybody: when half or more of its last 100 calls, or of those within the last
     * 60 s, were answered with a 5xx other than 501 and 505 or ran into the attempt timeout, and they were 10 at least.
     * It rests 30 s, plus the jitter; then one call finds out whether it has to rest again. Those who come meanwhile wait.
     * Refusals for a limit, failures before sending, and cancelled calls do not count. Off unless said.
     *
     * @return the changed spec
     */
    public RateLimiterSpec breaker() {
        return with(settings.withBreaker());
    }

    /**
     * Sets after how long an unused key is forgotten, once it is full again; 5 min unless said.
     *
     * @param idle positive
     * @return the changed spec
     */
    public RateLimiterSpec forgetAfter(Duration idle) {
        return with(settings.idle(positive("the idle time", idle)));
    }

    /**
     * Adds a listener, who is told after those added before. Without one, nothing is told and nothing is spent on it.
     *
     * @param told the listener
     * @return the changed spec
     */
    public RateLimiterSpec listener(RateLimitListener told) {
        List<RateLimitListener> more = new ArrayList<>(settings.listeners());
        more.add(Objects.requireNonNull(told, "listener"));
        return with(settings.listeners(List.copyOf(more)));
    }

    /**
     * Sets whose time it is and who rings the alarm. Looked up at every use, on the caller's thread; never disposed.
     *
     * @param supplier the scheduler in force
     * @return the changed spec
     */
    public RateLimiterSpec scheduler(Supplier<Scheduler> supplier) {
        return new RateLimiterSpec(
                settings, rootLimits, scopes, dialect, Objects.requireNonNull(supplier, "scheduler"));
    }

    /**
     * Builds a limiter of this process. Reads no clock and starts no timer.
     *
     * @return the limiter
     */
    public RateLimiter build() {
        return MemoryRateLimiter.of(this, null);
    }

    /**
     * Builds a limiter that shares its limits with other processes. As long as the store decides, {@code tryAcquire} only
     * refuses, because it can't ask without waiting; {@link RateLimiter#ask} answers as soon as the store has.
     *
     * @param store where the limits' books are
     * @return the limiter
     */
    public RateLimiter build(LimitStore store) {
        return MemoryRateLimiter.of(this, Objects.requireNonNull(store, "store"));
    }

    Settings settings() {
        return settings;
    }

    List<Limit> rootLimits() {
        return rootLimits;
    }

    List<Scope> scopes() {
        return scopes;
    }

    Dialect dialect() {
        return dialect;
    }

    Supplier<Scheduler> schedulers() {
        return schedulers;
    }

    void checkOnlyLimitsDiffer(RateLimiterSpec changed) {
        boolean same = settings.equals(changed.settings)
                && dialect.equals(changed.dialect)
                && schedulers.equals(changed.schedulers)
                && scopes.size() == changed.scopes.size();
        for (int i = 0; same && i < scopes.size(); i++) {
            same = scopes.get(i).countsLike(changed.scopes.get(i));
        }
        if (!same) {
            throw new IllegalArgumentException(
                    "a running limiter can change its limits only, not its name, figures, dialect, costs, scheduler, lanes,"
                            + " scopes or patterns");
        }
    }

    private static long positive(String what, Duration value) {
        if (value.isNegative() || value.isZero()) {
            throw new IllegalArgumentException(what + " must be positive, was " + value);
        }
        return Exact.nanos(value);
    }
}
