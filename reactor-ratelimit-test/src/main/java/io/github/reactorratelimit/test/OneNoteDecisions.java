package io.github.reactorratelimit.test;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The decisions of OneNote in Microsoft Graph. */
final class OneNoteDecisions implements Decisions {

    /** Below this share of a limit Graph says nothing about it. */
    private static final double TOLD_FROM = 0.8;

    private static final int MOST_PARTS = 20;

    private static final String TOO_MANY =
            "{\"error\":{\"code\":\"20166\",\"message\":\"The app has issued too many requests on behalf of this user"
                    + " in a short time period.\"}}";

    private final OneNoteRules rules;
    private final ThrottledScope application = new ThrottledScope(240, 800, 20);
    private final Map<String, ThrottledScope> users = new HashMap<>();
    private long served;

    OneNoteDecisions(OneNoteRules rules) {
        this.rules = rules;
    }

    @Override
    public Reply answer(SimulatedRequest request, long nowMillis, RequestLog log) {
        boolean batch = request.path().endsWith("/$batch");
        Reply decided = batch ? batch(request, nowMillis, log) : one(request, nowMillis);
        Reply reply = QuotaFields.date(decided, nowMillis);
        log.add(nowMillis, request.path(), request, reply);
        return reply;
    }

    private Reply one(SimulatedRequest request, long nowMillis) {
        ThrottledScope user = users.computeIfAbsent(request.token(), token -> new ThrottledScope(120, 400, 5));
        // Both are asked, since a call that comes too early makes the throttle of both longer.
        boolean userRefuses = user.refuses(nowMillis);
        boolean applicationRefuses = application.refuses(nowMillis);
        if (userRefuses || applicationRefuses) {
            String scope = !applicationRefuses ? "User" : userRefuses ? "User, Application" : "Application";
            return Reply.status(429)
                    .header("x-ms-throttle-scope", scope)
                    .header("x-ms-throttle-limit-percentage", share(Math.max(1, fullest(user, nowMillis))))
                    .body(TOO_MANY);
        }
        Reply reply = served();
        long end = nowMillis + reply.delay().toMillis();
        user.take(nowMillis, end);
        application.take(nowMillis, end);
        double fullest = fullest(user, nowMillis);
        return reply.hasHead() && fullest >= TOLD_FROM
                ? reply.header("x-ms-throttle-limit-percentage", share(fullest))
                : reply;
    }

    private Reply served() {
        long count = ++served;
        for (Fault fault : rules.faults()) {
            Reply struck = fault.on(count);
            if (struck != null) {
                return struck.delay().isZero() ? struck.after(rules.takes()) : struck;
            }
        }
        return Reply.ok().body("{\"served\":" + count + "}").after(rules.takes());
    }

    private double fullest(ThrottledScope user, long nowMillis) {
        return Math.max(user.fullest(nowMillis), application.fullest(nowMillis));
    }

    private static String share(double use) {
        return BigDecimal.valueOf(use)
                .setScale(3, RoundingMode.DOWN)
                .stripTrailingZeros()
                .toPlainString();
    }

    // ---------------------------------------------------------------------------------------------------- batches

    private Reply batch(SimulatedRequest batch, long nowMillis, RequestLog log) {
        List<BatchMessage.Part> parts = BatchMessage.read(batch.bytes());
        String fault = parts == null ? "no batch" : fault(parts);
        if (parts == null || fault != null) {
            return Reply.status(400).body("{\"error\":{\"code\":\"BadRequest\",\"message\":\"" + fault + "\"}}");
        }
        List<BatchMessage.Answer> answers = new ArrayList<>();
        Set<String> failed = new HashSet<>();
        for (BatchMessage.Part part : parts) {
            SimulatedRequest request = part.as(batch);
            boolean orphan = part.dependsOn().stream().anyMatch(failed::contains);
            Reply reply = orphan ? orphan() : one(request, nowMillis);
            log.add(nowMillis, request.path(), request, reply);
            if (reply.status() >= 400) {
                failed.add(part.id());
            }
            // Graph answers in any order.
            answers.add(0, new BatchMessage.Answer(part.id(), reply));
        }
        return Reply.ok().body(BatchMessage.write(answers)).after(rules.takes());
    }

    private static Reply orphan() {
        return Reply.status(424)
                .body("{\"error\":{\"code\":\"FailedDependency\",\"message\":\"A request it depends on failed.\"}}");
    }

    private static @Nullable String fault(List<BatchMessage.Part> parts) {
        if (parts.isEmpty() || parts.size() > MOST_PARTS) {
            return "a batch has 1 to 20 requests, this has " + parts.size();
        }
        Set<String> known = new HashSet<>();
        for (BatchMessage.Part part : parts) {
            if (!known.containsAll(part.dependsOn())) {
                return "a request depends on earlier ones only";
            }
            if (!known.add(part.id())) {
                return "an id belongs to one request";
            }
        }
        return null;
    }
}
