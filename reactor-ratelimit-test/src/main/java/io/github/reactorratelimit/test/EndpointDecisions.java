package io.github.reactorratelimit.test;

import io.github.reactorratelimit.test.ServerLimit.Counter;
import io.github.reactorratelimit.test.ServerLimit.Standing;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The decisions of a service that counts per endpoint and token. */
final class EndpointDecisions implements Decisions {

    /** What one endpoint has counted. */
    private static final class Endpoint {
        final EndpointRules rules;
        final Map<String, List<Counter>> counters = new HashMap<>();
        long arrived;
        long admitted;

        Endpoint(EndpointRules rules) {
            this.rules = rules;
        }

        List<Counter> counters(String token) {
            return counters.computeIfAbsent(
                    token,
                    key -> rules.limits().stream().map(ServerLimit::newCounter).toList());
        }
    }

    private final ServiceRules rules;
    private final Map<String, Endpoint> endpoints = new HashMap<>();

    EndpointDecisions(ServiceRules rules) {
        this.rules = rules;
    }

    @Override
    public Reply answer(SimulatedRequest request, long nowMillis, RequestLog log) {
        EndpointRules found = rules.rulesFor(request.path());
        long ownMillis = nowMillis + rules.aheadMillis();
        Reply decided = found == null
                ? Reply.status(404).body("{\"error\":\"unknown path\"}")
                : decide(endpoints.computeIfAbsent(found.path(), path -> new Endpoint(found)), request, ownMillis);
        Reply reply = QuotaFields.date(decided, ownMillis);
        log.add(nowMillis, found == null ? request.path() : found.path(), request, reply);
        return reply;
    }

    private Reply decide(Endpoint endpoint, SimulatedRequest request, long nowMillis) {
        long arrived = ++endpoint.arrived;
        List<Reply> script = endpoint.rules.script();
        if (arrived <= script.size()) {
            return script.get((int) arrived - 1);
        }
        Reply struck = fault(endpoint, true, arrived);
        if (struck != null) {
            return struck;
        }
        List<Counter> counters = endpoint.counters(request.token());
        Standing refusal = counters.stream()
                .map(counter -> counter.look(nowMillis))
                .filter(standing -> standing.remaining() <= 0)
                .max(Comparator.comparingLong(Standing::retryMillis))
                .orElse(null);
        if (refusal != null) {
            return rules.tells() ? QuotaFields.refusal(refusal, nowMillis) : Reply.status(429);
        }
        counters.forEach(counter -> counter.take(nowMillis));
        Reply reply = served(endpoint);
        if (!rules.tells()) {
            return reply;
        }
        return counters.stream()
                .map(counter -> counter.look(nowMillis))
                .filter(standing -> standing.limit() != ServerLimit.UNTOLD)
                .min(Comparator.comparingLong(Standing::remaining))
                .map(standing -> QuotaFields.quota(reply, standing))
                .orElse(reply);
    }

    private static Reply served(Endpoint endpoint) {
        long admitted = ++endpoint.admitted;
        Reply struck = fault(endpoint, false, admitted);
        if (struck != null) {
            return struck;
        }
        Reply usual = endpoint.rules.usual();
        return usual != null ? usual : Reply.ok().body("{\"served\":" + admitted + "}");
    }

    private static @Nullable Reply fault(Endpoint endpoint, boolean beforeLimits, long count) {
        for (Fault fault : endpoint.rules.faults()) {
            Reply reply = fault.standsBeforeLimits() == beforeLimits ? fault.on(count) : null;
            if (reply != null) {
                return reply;
            }
        }
        return null;
    }
}
