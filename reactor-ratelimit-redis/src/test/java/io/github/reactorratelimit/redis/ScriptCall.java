package io.github.reactorratelimit.redis;

import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.sync.RedisCommands;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** One call of the script, put together by hand, with the clock as an argument. Times are microseconds. */
final class ScriptCall {

    private static long batches;

    private final Map<String, Integer> keys = new LinkedHashMap<>();
    private final List<String> limits = new ArrayList<>();
    private final List<String> closings = new ArrayList<>();
    private final List<String> holdings = new ArrayList<>();
    private final List<String> corrections = new ArrayList<>();
    private final List<String> ramps = new ArrayList<>();
    private final List<String> asks = new ArrayList<>();
    private int limitCount;
    private int closingCount;
    private int holdingCount;
    private int correctionCount;
    private int rampCount;
    private int askCount;
    private int figures;
    private long ahead;
    private long kept;
    private String process = "p1";
    private long lease = 30_000_000;
    private long expires;
    private long batch = ++batches;

    private int key(String name) {
        return keys.computeIfAbsent(name, fresh -> keys.size() + 1);
    }

    ScriptCall process(String id) {
        process = id;
        return this;
    }

    ScriptCall lease(long micros) {
        lease = micros;
        return this;
    }

    ScriptCall expires(long at) {
        expires = at;
        return this;
    }

    ScriptCall batch(long number) {
        batch = number;
        return this;
    }

    ScriptCall window(String key, long permits, long span) {
        return window(key, permits, span, 1);
    }

    ScriptCall window(String key, long permits, long span, long grain) {
        return limit(key, "window:w" + span, "window", permits, span, grain);
    }

    ScriptCall bucket(String key, long burst, long micros, long rest, long rate) {
        return limit(key, "bucket:b", "bucket", burst, micros, rest, rate, burst, 0, 0);
    }

    /** A bucket that spaces a window. */
    ScriptCall spaced(String key, long burst, long micros, long span) {
        return limit(key, "bucket:s", "bucket", burst, micros, 0, 1, burst, 0, span);
    }

    ScriptCall flight(String key, long permits) {
        return limit(key, "flight:f", "flight", permits);
    }

    ScriptCall total(String key, long permits) {
        return limit(key, "total:t", "total", permits);
    }

    ScriptCall limit(String key, String field, String kind, long... figures) {
        limitCount++;
        limits.add("" + key(key));
        limits.add(field);
        limits.add(kind);
        add(limits, figures);
        return this;
    }

    ScriptCall close(String key, long micros) {
        return close(key, micros, 0);
    }

    /** Because a permit was refused that was granted then. */
    ScriptCall close(String key, long micros, long granted) {
        closingCount++;
        add(closings, key(key), micros, granted);
        return this;
    }

    ScriptCall ramp(String key, long wave, long held, long clean, long normal) {
        return ramp(key, wave, held, clean, normal, -1);
    }

    ScriptCall ramp(String key, long wave, long held, long clean, long normal, long usage) {
        rampCount++;
        add(ramps, key(key), wave, held, clean, normal, usage);
        return this;
    }

    ScriptCall withFigures() {
        figures = 1;
        return this;
    }

    /** Wants so many more for who comes next, to be kept for so long at most. */
    ScriptCall ahead(long count, long micros) {
        ahead = count;
        kept = micros;
        return this;
    }

    ScriptCall hold(int limit, long held) {
        holdingCount++;
        add(holdings, limit, held);
        return this;
    }

    ScriptCall correct(int limit, long base, long counted, long age, long delta) {
        return correct(limit, base, base, counted, age, delta);
    }

    ScriptCall correct(int limit, long granted, long base, long counted, long age, long delta) {
        correctionCount++;
        add(corrections, limit, granted, base, counted, age, delta);
        return this;
    }

    /** Asks for one or more permits of the limits given so far, at the price of 1 each. */
    ScriptCall ask(long times, long transit) {
        long[] parts = new long[limitCount * 3];
        for (int i = 0; i < limitCount; i++) {
            parts[i * 3] = i + 1L;
            parts[i * 3 + 1] = 1;
            parts[i * 3 + 2] = transit;
        }
        return askFor(times, parts);
    }

    ScriptCall askFor(long times, long... parts) {
        askCount++;
        add(asks, times, ahead, kept, figures, keys.size());
        for (int key : keys.values()) {
            add(asks, key);
        }
        add(asks, parts.length / 3);
        add(asks, parts);
        return this;
    }

    private static void add(List<String> words, long... figures) {
        for (long figure : figures) {
            words.add(Long.toString(figure));
        }
    }

    /** The reply at this time: now, what keys are closed for, and of each ask the permits, the wait, the key and the limit. */
    List<Long> at(long now, RedisCommands<String, String> redis) {
        return withoutRamps(all(now, redis));
    }

    /** As the script replies: of each key also its wave, waves, width, usage, and when that was told. */
    List<Long> all(long now, RedisCommands<String, String> redis) {
        return run(Long.toString(now), redis);
    }

    private List<Long> withoutRamps(List<Long> reply) {
        List<Long> rest = new ArrayList<>(List.of(reply.get(0)));
        for (int key = 0; key < keys.size(); key++) {
            rest.add(reply.get(1 + key * 6));
        }
        rest.addAll(reply.subList(1 + keys.size() * 6, reply.size()));
        return rest;
    }

    List<Long> onServerTime(RedisCommands<String, String> redis) {
        return run("-", redis);
    }

    private List<Long> run(String now, RedisCommands<String, String> redis) {
        List<String> names = new ArrayList<>(List.of("{t}:process:" + process));
        names.addAll(keys.keySet());
        List<String> words = new ArrayList<>(List.of(now, "" + batch, "" + expires, process, "" + lease, "0"));
        section(words, limitCount, limits);
        section(words, closingCount, closings);
        section(words, holdingCount, holdings);
        section(words, correctionCount, corrections);
        section(words, rampCount, ramps);
        words.add("0");
        section(words, askCount, asks);
        return redis.eval(
                DecideScript.TEXT, ScriptOutputType.MULTI, names.toArray(String[]::new), String.join(" ", words));
    }

    private static void section(List<String> words, int count, List<String> section) {
        words.add("" + count);
        words.addAll(section);
    }
}
