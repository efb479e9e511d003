package io.github.reactorratelimit;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/** The parts of one call of {@link BatchRetry}, and that they are fit to be sent: checked before anything is. */
final class BatchParts<P, S> {

    private final Map<Object, BatchPart<P, S>> byId = new HashMap<>();
    private final List<BatchPart<P, S>> asked = new ArrayList<>();
    private final List<BatchPart<P, S>> toSend = new ArrayList<>();

    /** @throws IllegalArgumentException if an id comes twice, or dependencies are unknown or circular */
    BatchParts(List<P> requests, BatchReader<P, ?> reader, Supplier<Retries> retries) {
        for (P request : requests) {
            Object id = Objects.requireNonNull(reader.id(request), "the id of a part");
            BatchPart<P, S> part = new BatchPart<>(request, id, reader.isIdempotent(request), retries.get());
            if (byId.put(id, part) != null) {
                throw new IllegalArgumentException(
                        "the parts of a batch must each have their own id, '" + id + "' came twice");
            }
            asked.add(part);
        }
        asked.forEach(part -> adopt(part, reader.dependsOn(part.request)));
        Set<BatchPart<P, S>> placed = new HashSet<>();
        asked.forEach(part -> place(part, placed));
    }

    /** As they were asked. */
    List<BatchPart<P, S>> asked() {
        return asked;
    }

    /** As they are sent: in the order that was asked, but each behind those that it depends on. */
    List<BatchPart<P, S>> toSend() {
        return toSend;
    }

    private void adopt(BatchPart<P, S> part, Collection<?> ids) {
        for (Object id : ids) {
            BatchPart<P, S> parent = byId.get(id);
            if (parent == null) {
                throw new IllegalArgumentException(
                        "a part must depend on parts of its own batch, '" + part.id + "' depends on '" + id + "'");
            }
            if (parent == part) {
                throw new IllegalArgumentException("a part must not depend on itself, '" + id + "' does");
            }
            part.parents.add(parent);
        }
    }

    /** Without recursion: parts may depend on each other in a long row. */
    private void place(BatchPart<P, S> start, Set<BatchPart<P, S>> placed) {
        Deque<BatchPart<P, S>> path = new ArrayDeque<>();
        Set<BatchPart<P, S>> onPath = new HashSet<>();
        BatchPart<P, S> next = placed.contains(start) ? null : start;
        while (next != null || !path.isEmpty()) {
            if (next != null) {
                if (!onPath.add(next)) {
                    throw circle(path, next);
                }
                path.addLast(next);
            }
            BatchPart<P, S> last = path.getLast();
            next = last.parents.stream()
                    .filter(parent -> !placed.contains(parent))
                    .findFirst()
                    .orElse(null);
            if (next == null) {
                placed.add(path.removeLast());
                onPath.remove(last);
                toSend.add(last);
            }
        }
    }

    private static <P, S> IllegalArgumentException circle(Deque<BatchPart<P, S>> path, BatchPart<P, S> again) {
        String names = path.stream()
                .dropWhile(part -> part != again)
                .map(part -> "'" + part.id + "' depends on ")
                .collect(Collectors.joining());
        return new IllegalArgumentException(
                "the parts of a batch must not depend on each other in a circle: " + names + "'" + again.id + "'");
    }
}
