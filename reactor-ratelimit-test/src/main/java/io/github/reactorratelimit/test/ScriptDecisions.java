package io.github.reactorratelimit.test;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The decisions of a {@link ScriptedApi}: one reply after the other, and no more. */
final class ScriptDecisions implements Decisions {

    /** What one endpoint plays. */
    private static final class Scene {
        final String endpoint;
        final @Nullable String method;
        final EndpointRules path;
        final List<Reply> replies = new ArrayList<>();

        @Nullable
        Reply always;

        int asked;

        Scene(String endpoint) {
            int space = endpoint.indexOf(' ');
            this.endpoint = endpoint;
            this.method = space < 0 ? null : Checks.method(endpoint.substring(0, space));
            this.path = EndpointRules.of(Checks.path(endpoint.substring(space + 1)));
        }

        boolean matches(SimulatedRequest request) {
            return (method == null || method.equals(request.method())) && path.matches(request.path());
        }

        @Nullable
        Reply next() {
            return asked++ < replies.size() ? replies.get(asked - 1) : always;
        }

        String left() {
            return endpoint + ": asked " + asked + (asked == 1 ? " time" : " times") + ", its script has "
                    + replies.size()
                    + (replies.size() == 1 ? " reply" : " replies") + ", not asked for "
                    + (replies.size() - asked == 1 ? "was " : "were ")
                    + shown(replies.subList(asked, replies.size()));
        }

        @Override
        public String toString() {
            return endpoint + " " + shown(replies) + (always == null ? "" : ", then always " + shown(always));
        }
    }

    private final Map<String, Scene> scenes = new LinkedHashMap<>();
    private final List<String> beyond = new ArrayList<>();

    synchronized void add(String endpoint, List<Reply> replies) {
        open(endpoint).replies.addAll(replies);
    }

    synchronized void always(String endpoint, Reply reply) {
        open(endpoint).always = Objects.requireNonNull(reply, "reply");
    }

    private Scene open(String endpoint) {
        Scene scene = scenes.computeIfAbsent(endpoint, Scene::new);
        if (scene.always != null) {
            throw new IllegalArgumentException(
                    "the script of an endpoint must not go on behind what it answers always," + " was " + scene);
        }
        return scene;
    }

    @Override
    public synchronized Reply answer(SimulatedRequest request, long nowMillis, RequestLog log) {
        Scene scene = scenes.values().stream()
                .filter(each -> each.matches(request))
                .findFirst()
                .orElse(null);
        String endpoint = scene == null ? request.path() : scene.path.path();
        Reply next = scene == null ? null : scene.next();
        if (next == null) {
            String sentence = beyond(request, scene);
            beyond.add(sentence);
            Reply none = QuotaFields.date(Reply.status(501).body(sentence), nowMillis);
            log.add(nowMillis, endpoint, request, none);
            throw new Unscripted(sentence, none);
        }
        Reply reply = QuotaFields.date(next, nowMillis);
        log.add(nowMillis, endpoint, request, reply);
        return reply;
    }

    private String beyond(SimulatedRequest request, @Nullable Scene scene) {
        String asked = request.method() + " " + request.path();
        return scene == null
                ? asked + " is not in the script, which has " + (scenes.isEmpty() ? "nothing" : scenes.values())
                : "Request " + scene.asked + ", " + asked + ", is beyond the script, which has " + scene;
    }

    synchronized List<String> wrong() {
        List<String> wrong = new ArrayList<>(beyond);
        for (Scene scene : scenes.values()) {
            if (scene.asked < scene.replies.size()) {
                wrong.add(scene.left());
            }
        }
        return wrong;
    }

    private static String shown(List<Reply> replies) {
        return replies.stream().map(ScriptDecisions::shown).collect(Collectors.joining(", ", "[", "]"));
    }

    private static String shown(Reply reply) {
        String wait = reply.header("Retry-After");
        return (reply.status() == 0 ? reply.delivery().toString() : Integer.toString(reply.status()))
                + (wait == null ? "" : " retryAfter " + wait);
    }

    @Override
    public synchronized String toString() {
        return scenes.values().toString();
    }
}
