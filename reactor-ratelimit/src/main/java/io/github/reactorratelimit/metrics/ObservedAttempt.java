package io.github.reactorratelimit.metrics;

import io.github.reactorratelimit.RateLimitListener.AttemptListener;
import io.github.reactorratelimit.RateLimitListener.Ending;
import io.github.reactorratelimit.RateLimitListener.Retry;
import io.github.reactorratelimit.RateLimitListener.Subject;
import io.github.reactorratelimit.signal.RateLimitSignal;
import io.micrometer.common.KeyValues;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import reactor.util.context.Context;

/** The observations of one attempt: of all of it, and of its waiting. Told of one event after another. */
final class ObservedAttempt implements AttemptListener {

    private final Observation attempt;
    private final Observation wait;
    private volatile @Nullable String outcome;

    ObservedAttempt(ObservationRegistry registry, Subject who, @Nullable Observation parent) {
        KeyValues keys = KeyValues.of(
                "limiter",
                who.limiter(),
                "endpoint",
                RateLimitMetrics.endpoint(who.endpoint()),
                "lane",
                who.lane(),
                "outcome",
                "none");
        this.attempt = Observation.createNotStarted("ratelimit.attempt", registry)
                .contextualName("rate-limited attempt")
                .lowCardinalityKeyValues(keys)
                .highCardinalityKeyValue("attempt", Integer.toString(who.attempt()));
        if (parent != null) {
            attempt.parentObservation(parent);
        }
        attempt.start();
        this.wait = Observation.createNotStarted("ratelimit.wait", registry)
                .contextualName("wait for a permit")
                .lowCardinalityKeyValues(keys)
                .parentObservation(attempt)
                .start();
    }

    @Override
    public Context context(Context context) {
        return context.put(RateLimitObservations.IN_CONTEXT, attempt);
    }

    @Override
    public void granted(Subject who, Duration waited) {
        stop(wait, "granted");
    }

    @Override
    public void refused(Subject who, Duration waited, Throwable why) {
        stop(wait.error(why), "refused");
        stop(attempt.error(why), "refused");
    }

    @Override
    public void left(Subject who, Duration waited) {
        stop(wait, "cancelled");
        stop(attempt, "cancelled");
    }

    @Override
    public void sent(Subject who) {
        attempt.event(Observation.Event.of("sent", "request sent"));
    }

    @Override
    public void answered(Subject who, RateLimitSignal signal) {
        attempt.highCardinalityKeyValue("status", Integer.toString(signal.status()));
    }

    @Override
    public void retried(Subject who, Retry retry) {
        attempt.error(retry.failure());
        outcome = "retried";
    }

    @Override
    public void failed(Subject who, Throwable error) {
        attempt.error(error);
        outcome = "failed";
    }

    @Override
    public void released(Subject who, Duration held, Ending ending) {
        String known = outcome;
        stop(attempt, ending != Ending.DONE ? "cancelled" : known == null ? "done" : known);
    }

    private static void stop(Observation observation, String outcome) {
        observation.lowCardinalityKeyValue("outcome", outcome).stop();
    }
}
