package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.Quota;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Whom a signal is about. A name that one of the demand's scopes counts by means that scope's key; a name for everybody
 * means the root, or the account; a partition or a resource that is the value of one of the demand's keys means that key.
 */
final class Routing {

    private static final Set<String> EVERYBODY =
            Set.of("application", "app", "client", "tenant", "organization", "organisation", "account");

    private static final Pattern NO_WORD = Pattern.compile("[^a-z0-9]+");

    private final Tree tree;

    Routing(Tree tree) {
        this.tree = tree;
    }

    /** The key that a signal names, or null if it names none of the demand's. */
    @Nullable
    Node named(Node leaf, RateLimitSignal signal) {
        String scope = signal.scope();
        Node named = scope == null ? null : byScope(leaf, scope);
        return named != null ? named : byPartition(leaf, signal);
    }

    /** Of several names the widest counts: it holds the narrower ones too. */
    private @Nullable Node byScope(Node leaf, String scope) {
        Node widest = null;
        for (String word : NO_WORD.split(scope.toLowerCase(Locale.ROOT), -1)) {
            Node node = counting(leaf, word);
            if (node == null && word.equals("global")) {
                node = tree.account(leaf);
            }
            if (node == null && EVERYBODY.contains(word)) {
                node = tree.root;
            }
            if (node != null && (widest == null || node.depth < widest.depth)) {
                widest = node;
            }
        }
        return widest;
    }

    private @Nullable Node counting(Node leaf, String word) {
        List<Scope> scopes = tree.scopes();
        for (Node node = leaf; node.parent != null; node = node.parent) {
            for (String attribute : scopes.get(node.depth - 1).attributes()) {
                if (attribute.equalsIgnoreCase(word)) {
                    return node;
                }
            }
        }
        return null;
    }

    /** A refusal is about an empty quota, or about the only one that it tells of. */
    private @Nullable Node byPartition(Node leaf, RateLimitSignal signal) {
        List<Quota> quotas = signal.quotas();
        for (int i = 0; i < quotas.size(); i++) {
            Quota quota = quotas.get(i);
            if (quota.exhausted() || quotas.size() == 1) {
                Node node = keyed(leaf, quota.partition());
                if (node != null) {
                    return node;
                }
            }
        }
        return null;
    }

    /** What a key below the root has besides its route; null if it has no route. */
    @Nullable
    Object besidesRoute(Node node) {
        return tree.scopes().get(node.depth - 1).besidesRoute(node.key);
    }

    /** The narrowest key with this value. */
    @Nullable
    Node keyed(Node leaf, @Nullable String value) {
        for (Node node = leaf; value != null && node.parent != null; node = node.parent) {
            if (value.equals(node.key) || (node.key instanceof List<?> values && values.contains(value))) {
                return node;
            }
        }
        return null;
    }
}
