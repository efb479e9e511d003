package io.github.reactorratelimit.redis;

import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisScriptingAsyncCommands;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import java.time.Duration;

/**
 * How limits are shared: over which connection, under which keys, and what happens while Redis is out of order. Immutable:
 * every method returns a changed copy.
 *
 * <p>Defaults: keys begin with {@code reactor-ratelimit}; a call counts as lost after 500 ms; what is in flight is leased
 * for 30 s and renewed every 10 s; during an outage each process goes on with a tenth of every limit, and asks once a
 * second whether Redis works again. Give Lettuce's client {@code DisconnectedBehavior.REJECT_COMMANDS}, so that an outage
 * is known at once and not after the first timeout.
 */
public final class RedisSharing {

    private final RedisScriptingAsyncCommands<String, String> commands;
    private final String prefix;
    private final Duration timeout;
    private final Duration lease;
    private final Duration probe;
    private final int processes;

    private RedisSharing(
            RedisScriptingAsyncCommands<String, String> commands,
            String prefix,
            Duration timeout,
            Duration lease,
            Duration probe,
            int processes) {
        this.commands = commands;
        this.prefix = prefix;
        this.timeout = timeout;
        this.lease = lease;
        this.probe = probe;
        this.processes = processes;
    }

    private static RedisSharing standard(RedisScriptingAsyncCommands<String, String> commands) {
        return new RedisSharing(
                commands,
                "reactor-ratelimit",
                Duration.ofMillis(500),
                Duration.ofSeconds(30),
                Duration.ofSeconds(1),
                10);
    }

    /**
     * Shares over a connection to a server, or to a master behind Sentinel.
     *
     * @param connection Lettuce's; may be used for other things too, never closed here
     * @return how to share
     */
    public static RedisSharing over(StatefulRedisConnection<String, String> connection) {
        return standard(connection.async());
    }

    /**
     * Shares over a connection to a cluster. All keys of one limiter are in one slot.
     *
     * @param connection Lettuce's; may be used for other things too, never closed here
     * @return how to share
     */
    public static RedisSharing over(StatefulRedisClusterConnection<String, String> connection) {
        return standard(connection.async());
    }

    /**
     * Sets what keys begin with; {@code reactor-ratelimit} unless said.
     *
     * @param start not blank, without braces
     * @return the changed copy
     * @throws IllegalArgumentException if it is blank or has braces
     */
    public RedisSharing prefix(String start) {
        KeyNames.checkPrefix(start);
        return new RedisSharing(commands, start, timeout, lease, probe, processes);
    }

    /**
     * Sets after how long a call counts as lost; 500 ms unless said.
     *
     * @param longest positive
     * @return the changed copy
     */
    public RedisSharing timeout(Duration longest) {
        return new RedisSharing(commands, prefix, positive("a timeout", longest), lease, probe, processes);
    }

    /**
     * Sets for how long permits in flight stay held when their process is heard of no more; 30 s unless said, renewed at a
     * third of it.
     *
     * @param length positive
     * @return the changed copy
     */
    public RedisSharing lease(Duration length) {
        return new RedisSharing(commands, prefix, timeout, positive("a lease", length), probe, processes);
    }

    /**
     * Sets how often Redis is asked during an outage whether it works again; 1 s unless said.
     *
     * @param interval positive
     * @return the changed copy
     */
    public RedisSharing probe(Duration interval) {
        return new RedisSharing(commands, prefix, timeout, lease, positive("a probe interval", interval), processes);
    }

    /**
     * Goes on during an outage, each process with its part of every limit; the default, for 10 processes.
     *
     * @param expectedProcesses how many share the limits, positive
     * @return the changed copy
     * @throws IllegalArgumentException if it is not positive
     */
    public RedisSharing failOpen(int expectedProcesses) {
        if (expectedProcesses <= 0) {
            throw new IllegalArgumentException("expected processes must be positive, was " + expectedProcesses);
        }
        return new RedisSharing(commands, prefix, timeout, lease, probe, expectedProcesses);
    }

    /**
     * Fails demands during an outage, with {@link io.github.reactorratelimit.LimiterUnavailableException}.
     *
     * @return the changed copy
     */
    public RedisSharing failClosed() {
        return new RedisSharing(commands, prefix, timeout, lease, probe, 0);
    }

    RedisScriptingAsyncCommands<String, String> commands() {
        return commands;
    }

    String prefix() {
        return prefix;
    }

    Duration timeout() {
        return timeout;
    }

    Duration lease() {
        return lease;
    }

    Duration probe() {
        return probe;
    }

    /** How many share the limits; 0 to fail. */
    int processes() {
        return processes;
    }

    private static Duration positive(String what, Duration value) {
        if (value.isNegative() || value.isZero()) {
            throw new IllegalArgumentException(what + " must be positive, was " + value);
        }
        return value;
    }
}
