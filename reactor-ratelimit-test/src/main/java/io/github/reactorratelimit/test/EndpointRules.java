package io.github.reactorratelimit.test;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What holds for one endpoint; immutable. A segment of the path in braces matches any one segment. */
record EndpointRules(
        String path,
        List<ServerLimit> limits,
        List<Fault> faults,
        List<Reply> script,
        @Nullable Reply usual) {

    static EndpointRules of(String path) {
        return new EndpointRules(path, List.of(), List.of(), List.of(), null);
    }

    EndpointRules limit(ServerLimit limit) {
        return new EndpointRules(path, plus(limits, List.of(limit)), faults, script, usual);
    }

    EndpointRules fault(Fault fault) {
        return new EndpointRules(path, limits, plus(faults, List.of(fault)), script, usual);
    }

    EndpointRules script(List<Reply> replies) {
        return new EndpointRules(path, limits, faults, plus(script, replies), usual);
    }

    EndpointRules usual(Reply reply) {
        return new EndpointRules(path, limits, faults, script, reply);
    }

    boolean matches(String other) {
        String[] mine = path.split("/", -1);
        String[] theirs = other.split("/", -1);
        if (mine.length != theirs.length) {
            return false;
        }
        for (int i = 0; i < mine.length; i++) {
            boolean any = mine[i].startsWith("{") && mine[i].endsWith("}") && !theirs[i].isEmpty();
            if (!any && !mine[i].equals(theirs[i])) {
                return false;
            }
        }
        return true;
    }

    private static <E> List<E> plus(List<E> some, List<E> more) {
        List<E> all = new ArrayList<>(some);
        all.addAll(more);
        return List.copyOf(all);
    }
}
