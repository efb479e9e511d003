package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.Dialect;
import io.github.reactorratelimit.signal.Dialects;
import io.github.reactorratelimit.signal.Headers;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.util.context.ContextView;

/**
 * How calls are limited, heard and tried again: the function for {@code transform}. Immutable: every method returns a
 * changed copy; one operator may be used by any number of calls at once.
 *
 * <p>{@link #limit()} takes one permit per attempt and holds it to the attempt's end. It tries again what
 * {@link RetryPolicy} says, as far as it can see it: our own attempt timeout, the responses that an installed
 * {@link ResponseReader} reads, the exceptions that an installed {@link FailureReader} knows. Of several such operators
 * around one call only the innermost hears and retries; the others only limit.
 *
 * <p>Defaults: {@link RetryPolicy#standard()}, the limiter's dialect, no readers; a call is idempotent if its demand's
 * {@code method} attribute is a method that RFC 9110 (9.2.2) defines as idempotent.
 */
public final class RateLimitOperator implements PermitSource {

    private static final Logger LOG = LoggerFactory.getLogger(RateLimiter.class);
    private static final Set<String> IDEMPOTENT = Set.of("GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE");

    private final Admission admission;
    private final RetryBudget limiterBudget;
    private final Dialect dialect;
    private final RetryPolicy policy;
    private final List<TypedReader<?>> responses;
    private final List<FailureReader> failures;
    private final @Nullable Boolean idempotent;
    private final boolean replayable;
    private final boolean failsFast;
    private final PermitSource source;
    private final @Nullable Patience patience;

    private RateLimitOperator(Draft draft) {
        this.admission = draft.admission;
        this.limiterBudget = draft.limiterBudget;
        this.dialect = draft.dialect;
        this.policy = draft.policy;
        this.responses = draft.responses;
        this.failures = draft.failures;
        this.idempotent = draft.idempotent;
        this.replayable = draft.replayable;
        this.failsFast = draft.failsFast;
        this.source = draft.source == null ? this : draft.source;
        this.patience = draft.patience;
    }

    static RateLimitOperator of(Admission admission, Dialect dialect) {
        return new RateLimitOperator(new Draft(admission, RetryBudget.standard(), dialect));
    }

    private RateLimitOperator with(Consumer<Draft> change) {
        Draft draft = new Draft(this);
        change.accept(draft);
        return new RateLimitOperator(draft);
    }

    /**
     * Sets what is tried again, how often and until when.
     *
     * @param retry the policy
     * @return the changed operator
     */
    public RateLimitOperator retry(RetryPolicy retry) {
        Objects.requireNonNull(retry, "retry");
        return with(draft -> draft.policy = retry);
    }

    /**
     * Reads responses of this type, so that refusals in them are heard and tried again.
     *
     * @param type the class of the elements that are responses
     * @param reader how to read one
     * @param <R> the client's type of response
     * @return the changed operator
     */
    public <R> RateLimitOperator responses(Class<R> type, ResponseReader<? super R> reader) {
        List<TypedReader<?>> more = new ArrayList<>(responses);
        more.add(new TypedReader<>(type, reader));
        return with(draft -> draft.responses = List.copyOf(more));
    }

    /**
     * Recognises exceptions. Readers are asked in the order they were installed.
     *
     * @param reader how to read an exception
     * @return the changed operator
     */
    public RateLimitOperator failures(FailureReader reader) {
        List<FailureReader> more = new ArrayList<>(failures);
        more.add(Objects.requireNonNull(reader, "reader"));
        return with(draft -> draft.failures = List.copyOf(more));
    }

    /**
     * Says whether a call may be repeated although the server may have acted on it: by its method, or by an idempotency
     * key.
     *
     * @param repeatable true if it may
     * @return the changed operator
     */
    public RateLimitOperator idempotent(boolean repeatable) {
        return with(draft -> draft.idempotent = repeatable);
    }

    /**
     * Says whether the source can be subscribed again, true unless said. A one-shot body cannot; then nothing is tried
     * again and the original outcome surfaces.
     *
     * @param again true if it can
     * @return the changed operator
     */
    public RateLimitOperator replayable(boolean again) {
        return with(draft -> draft.replayable = again);
    }

    /**
     * Never waits for a permit: a call that can't go at once, because a limit is used up, its scope is closed or rests, or
     * others stand before it, fails with {@link RateLimitedException} and the time it would have taken, as far as that is
     * known. That holds for each attempt, and for each element of {@link #limitEach}; a call's own backoff between two
     * attempts is no wait for a permit, that after a 503 included, which closes the scope for everybody else.
     *
     * @return the changed operator
     */
    public RateLimitOperator failFast() {
        return with(draft -> draft.failsFast = true);
    }

    /**
     * Limits a Mono or Flux for {@link Demand#one()}.
     *
     * @param <T> the type of its elements
     * @return a function for {@code transform}; it gives back a Mono for a Mono and a Flux for anything else
     */
    public <T> UnaryOperator<Publisher<T>> limit() {
        return limit(Demand.one());
    }

    /**
     * Limits a Mono or Flux.
     *
     * @param demand what each attempt asks for
     * @param <T> the type of its elements
     * @return a function for {@code transform}; it gives back a Mono for a Mono and a Flux for anything else
     */
    public <T> UnaryOperator<Publisher<T>> limit(Demand demand) {
        Demand priced = priced(Objects.requireNonNull(demand, "demand"));
        return source -> source instanceof Mono
                ? MonoLimit.plain(this, priced, null, source)
                : FluxLimit.plain(this, priced, null, source);
    }

    /**
     * Limits a Mono or Flux, with the demand from the Reactor Context of each subscription.
     *
     * @param demand from the Context to what each attempt asks for; must not block
     * @param <T> the type of its elements
     * @return a function for {@code transform}; it gives back a Mono for a Mono and a Flux for anything else
     */
    public <T> UnaryOperator<Publisher<T>> limitBy(Function<? super ContextView, Demand> demand) {
        Objects.requireNonNull(demand, "demand");
        Function<? super ContextView, Demand> priced = context -> priced(
                Objects.requireNonNull(demand.apply(context), "the function of limitBy must give a demand, gave null"));
        return source -> source instanceof Mono
                ? MonoLimit.plain(this, null, priced, source)
                : FluxLimit.plain(this, null, priced, source);
    }

    /**
     * Paces a Flux: one permit per element. One element is taken from upstream per permit and only on demand from
     * downstream; nothing is taken beyond it. Elements are neither heard nor tried again.
     *
     * @param demand what each element asks for
     * @param <T> the type of its elements
     * @return a function for {@code transform}
     */
    public <T> UnaryOperator<Publisher<T>> limitEach(Demand demand) {
        Demand priced = priced(Objects.requireNonNull(demand, "demand"));
        long longest = failsFast ? 0 : priced.maxWaitNanos();
        return source -> FluxLimitEach.assemble(admission, priced, longest, source);
    }

    /**
     * For adapters: a call whose attempts tell when they are sent and what their response head said.
     *
     * @param demand what each attempt asks for
     * @param attempt subscribed once per attempt; ends in the verdict's failure where a response was to be discarded
     * @param <T> what the call gives
     * @return the call
     */
    public <T> Mono<T> exchange(Demand demand, Function<? super Exchange, ? extends Mono<? extends T>> attempt) {
        return MonoLimit.exchange(this, priced(demand), attempt);
    }

    /**
     * As {@link #exchange}, for calls that give any number of elements.
     *
     * @param demand what each attempt asks for
     * @param attempt subscribed once per attempt; ends in the verdict's failure where a response was to be discarded
     * @param <T> what the call gives
     * @return the call
     */
    public <T> Flux<T> exchangeMany(
            Demand demand, Function<? super Exchange, ? extends Publisher<? extends T>> attempt) {
        return FluxLimit.exchange(this, priced(demand), attempt);
    }

    /**
     * A bare permit, as from the limiter itself: what this operator says of retries does not concern it, but
     * {@link #failFast} does.
     *
     * @param demand what is asked for
     * @return the permit, as {@link PermitSource#acquire} has it
     */
    @Override
    public Mono<Permit> acquire(Demand demand) {
        return acquire(demand, null);
    }

    Mono<Permit> acquire(Demand demand, @Nullable Patience longest) {
        Objects.requireNonNull(demand, "demand");
        Demand asked = failsFast ? demand.waitAtMost(0) : demand;
        return Mono.from(new MonoAcquire(admission, priced(asked), longest));
    }

    /** Calls that were asked for as calls of {@code shown}, and wait no longer than that has patience. */
    RateLimitOperator on(PermitSource shown, @Nullable Patience longest) {
        return with(draft -> {
            draft.source = shown;
            draft.patience = longest;
        });
    }

    /** What a call is shown as where its permit comes from. */
    PermitSource source() {
        return source;
    }

    /** How long the calls may wait in all; null for as long as it takes. */
    @Nullable
    Patience patience() {
        return patience;
    }

    /** The demand with what it costs by the limiter's word. */
    Demand priced(Demand demand) {
        Objects.requireNonNull(demand, "demand");
        return Objects.requireNonNull(
                admission.settings().prices().apply(demand), "the function of costs must give a demand, gave null");
    }

    Admission admission() {
        return admission;
    }

    RetryPolicy policy() {
        return policy;
    }

    RetryBudget budget() {
        RetryBudget own = policy.budget();
        return own == null ? limiterBudget : own;
    }

    boolean failsFast() {
        return failsFast;
    }

    /** Whether a call with this outcome may be made again, as far as its kind decides. */
    boolean mayRetry(Outcome outcome, boolean isIdempotent) {
        return !policy.isNone() && replayable && (outcome.anyMethod() || isIdempotent);
    }

    boolean isIdempotent(Demand demand) {
        if (idempotent != null) {
            return idempotent;
        }
        String method = demand.attribute("method");
        return method != null && IDEMPOTENT.contains(method);
    }

    /** Whether a refusal goes to the caller because its hint is longer than is obeyed, and it wants the last response. */
    boolean handsOn(RateLimitSignal signal) {
        return policy.returnsLastResponse()
                && signal.delay() != null
                && !signal.guessed()
                && Exact.nanos(signal.delay()) > admission.settings().maxServerDelayNanos();
    }

    /** How long an endpoint stops after a 503 that is not tried again. */
    long pauseNanos() {
        return policy.waitNanos(true, 0, admission.settings().random().getAsDouble());
    }

    RateLimitSignal read(int status, Headers headers) {
        try {
            return dialect.read(status, headers, wallNowMillis());
        } catch (RuntimeException e) {
            return readPlainly(status, headers, e);
        }
    }

    /** How many bytes of a response's body the dialect wants to see. */
    int bodyBytes(int status, Headers headers) {
        try {
            return dialect.bodyBytes(status, headers);
        } catch (RuntimeException e) {
            return 0; // It will throw again when it reads the head, and that is told.
        }
    }

    /** Head and body, if there is one and the dialect wants to see it. */
    RateLimitSignal read(int status, Headers headers, byte @Nullable [] body, int wanted) {
        if (body == null || wanted <= 0) {
            return read(status, headers);
        }
        byte[] first = body.length > wanted ? Arrays.copyOf(body, wanted) : body;
        try {
            return dialect.readBody(status, headers, first, wallNowMillis());
        } catch (RuntimeException e) {
            return readPlainly(status, headers, e);
        }
    }

    /** A dialect of the user's own that throws must not fail the call. */
    private RateLimitSignal readPlainly(int status, Headers headers, RuntimeException e) {
        LOG.warn(
                "limiter={}: the dialect threw on a response with status {}, so the standard dialect reads it",
                admission.settings().name(),
                status,
                e);
        try {
            return Dialects.standard().read(status, headers, wallNowMillis());
        } catch (RuntimeException unreadable) {
            return RateLimitSignal.none(status); // The headers themselves throw.
        }
    }

    /** The one place that reads the wall clock, for servers that send no Date. */
    private long wallNowMillis() {
        return admission.clock().scheduler().now(TimeUnit.MILLISECONDS);
    }

    @Nullable
    Failure read(Throwable error) {
        for (FailureReader reader : failures) {
            Failure failure = readWith(reader, error);
            if (failure != null) {
                return failure;
            }
        }
        return error instanceof AttemptTimeoutException timeout
                ? timeout.mayHaveBeenSent() ? Failure.interrupted() : Failure.notSent()
                : null;
    }

    /** A reader that throws knows nothing of the failure: the call fails with that. */
    private @Nullable Failure readWith(FailureReader reader, Throwable error) {
        try {
            return reader.read(error);
        } catch (RuntimeException e) {
            LOG.warn(
                    "limiter={}: a failure reader threw, so it is passed over",
                    admission.settings().name(),
                    e);
            return null;
        }
    }

    @SuppressWarnings("unchecked") // The reader was installed for this class.
    <T> @Nullable ResponseReader<? super T> readerOf(T element) {
        for (int i = 0; i < responses.size(); i++) {
            TypedReader<?> reader = responses.get(i);
            if (reader.type.isInstance(element)) {
                return (ResponseReader<? super T>) reader.reader;
            }
        }
        return null;
    }

    private record TypedReader<R>(Class<R> type, ResponseReader<? super R> reader) {}

    /** An operator while it is put together. */
    private static final class Draft {

        final Admission admission;
        final RetryBudget limiterBudget;
        final Dialect dialect;
        RetryPolicy policy = RetryPolicy.standard();
        List<TypedReader<?>> responses = List.of();
        List<FailureReader> failures = List.of();

        @Nullable
        Boolean idempotent;

        boolean replayable = true;
        boolean failsFast;
        /** Null for the operator itself. */
        @Nullable
        PermitSource source;

        @Nullable
        Patience patience;

        Draft(Admission admission, RetryBudget limiterBudget, Dialect dialect) {
            this.admission = admission;
            this.limiterBudget = limiterBudget;
            this.dialect = dialect;
        }

        Draft(RateLimitOperator from) {
            this(from.admission, from.limiterBudget, from.dialect);
            this.policy = from.policy;
            this.responses = from.responses;
            this.failures = from.failures;
            this.idempotent = from.idempotent;
            this.replayable = from.replayable;
            this.failsFast = from.failsFast;
            this.source = from.source == from ? null : from.source;
            this.patience = from.patience;
        }
    }
}
