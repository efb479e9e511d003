package io.github.reactorratelimit.redis;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletionException;

/** What a failed call means and what to do about it. All of them are outages: nothing was decided. */
final class Outages {

    private static final Map<String, String> MEANINGS = new LinkedHashMap<>();

    static {
        MEANINGS.put(
                "READONLY", "Redis is a replica that can't be written; connect to the master, or through Sentinel");
        MEANINGS.put("LOADING", "Redis is loading its data");
        MEANINGS.put("OOM", "Redis is out of memory; raise maxmemory, or let it evict other keys");
        MEANINGS.put("CROSSSLOT", "a key isn't where the limiter's others are; don't rename keys behind a proxy");
        MEANINGS.put("WRONGTYPE", "somebody else uses one of the limiter's keys; choose another prefix");
        MEANINGS.put("NOPERM", "the user may not run the script; docs/redis.md has the ACL that it needs");
        MEANINGS.put("NOAUTH", "Redis wants a password");
        MEANINGS.put("CLUSTERDOWN", "the cluster has no node for the limiter's slot");
        MEANINGS.put("MASTERDOWN", "the replica has lost its master");
        MEANINGS.put("BUSY", "Redis runs a script of somebody else's for too long");
        MEANINGS.put("NOREPLICAS", "Redis has fewer replicas than it must have for a write");
        MEANINGS.put("non deterministic", "Redis 5 or later is needed");
        MEANINGS.put("Currently not connected", "there is no connection to Redis");
        MEANINGS.put("STALE", "a later call of this limiter was there first");
    }

    private Outages() {}

    static Throwable explained(Throwable failure) {
        Throwable cause =
                failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
        String said = String.valueOf(cause.getMessage());
        for (Map.Entry<String, String> meaning : MEANINGS.entrySet()) {
            if (said.contains(meaning.getKey())) {
                return new IllegalStateException(meaning.getValue() + " (" + said + ")", cause);
            }
        }
        return new IllegalStateException("Redis failed (" + said + ")", cause);
    }
}
