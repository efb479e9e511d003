package io.github.reactorratelimit.test;

import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;

/**
 * One model of a simulated chat service: its limits, its price and how fast it answers. Without limits, free and at once
 * unless said. Immutable; every method that changes something returns a copy.
 *
 * <p>The limits hold for each key, or for all keys of an {@linkplain ChatRules#organisation organisation} together. The
 * tokens of a call are counted when it arrives, its prompt and the most that it may answer, and corrected to what it really
 * used when it ends. A refused call costs nothing.
 */
public final class ChatModel {

    private static final long MINUTE_MILLIS = 60_000;
    private static final long MILLION = 1_000_000;
    /** So that the parts of a bucket fit into a long. */
    private static final long MOST = 1_000_000_000_000L;

    /** Micro-dollars per million tokens. */
    private record Price(long input, long output) {}

    /** Both are means. */
    record Speed(Duration firstToken, Duration perToken) {}

    /** The figures by kind, with the burst under the requests per second. */
    private record Limits(Map<ChatLimit, Long> permits, long burst, boolean sliding) {

        Limits with(ChatLimit kind, long value) {
            Map<ChatLimit, Long> more = new EnumMap<>(ChatLimit.class);
            more.putAll(permits);
            more.put(kind, value);
            return new Limits(more, burst, sliding);
        }
    }

    private final String name;
    private final Limits limits;
    private final Price price;
    private final Speed speed;
    private final long maxTokens;

    private ChatModel(String name, Limits limits, Price price, Speed speed, long maxTokens) {
        this.name = name;
        this.limits = limits;
        this.price = price;
        this.speed = speed;
        this.maxTokens = maxTokens;
    }

    /**
     * A model without limits, free and at once.
     *
     * @param name how requests name it
     * @return the model
     */
    public static ChatModel named(String name) {
        return new ChatModel(
                name, new Limits(Map.of(), 0, false), new Price(0, 0), new Speed(Duration.ZERO, Duration.ZERO), 1_024);
    }

    /**
     * Limits the requests per minute: a bucket of that size, full at the start, that refills continuously.
     *
     * @param requests 1 to 10<sup>12</sup>
     * @return a copy with that limit
     */
    public ChatModel requestsPerMinute(long requests) {
        return limit(ChatLimit.REQUESTS_PER_MINUTE, requests);
    }

    /**
     * Limits the tokens per minute: a bucket of that size, full at the start, that refills continuously. A call that asks
     * for more than all of it is a 400.
     *
     * @param tokens 1 to 10<sup>12</sup>
     * @return a copy with that limit
     */
    public ChatModel tokensPerMinute(long tokens) {
        return limit(ChatLimit.TOKENS_PER_MINUTE, tokens);
    }

    /**
     * Limits the requests per second beside those per minute: a bucket that holds {@code burst} and refills continuously.
     * Headers don't tell of it.
     *
     * @param requests 1 to 10<sup>12</sup>
     * @param burst how many pass at once, 1 to 10<sup>12</sup>
     * @return a copy with that limit
     */
    public ChatModel requestsPerSecond(long requests, long burst) {
        Limits more = limits.with(ChatLimit.REQUESTS_PER_SECOND, within("requests", requests));
        return with(new Limits(more.permits, within("burst", burst), more.sliding));
    }

    /**
     * Limits the calls that are in flight, from arrival to the end of their answer. Headers don't tell of it, and a refusal
     * for it has no hint.
     *
     * @param calls at least 1
     * @return a copy with that limit
     */
    public ChatModel inFlight(long calls) {
        return limit(ChatLimit.IN_FLIGHT, calls);
    }

    /**
     * Counts the minutes as sliding windows instead of buckets: no more than the limit in any minute.
     *
     * @return a copy that counts so
     */
    public ChatModel slidingWindow() {
        return with(new Limits(limits.permits, limits.burst, true));
    }

    /**
     * Sets what tokens cost, in micro-dollars per million, which is dollars per million tokens times a million: 8 dollars
     * are 8,000,000. A call's cost is rounded up to a whole micro-dollar.
     *
     * @param input of the prompt, not negative, at most 10^12
     * @param output of the answer, not negative, at most 10^12
     * @return a copy with that price
     */
    public ChatModel price(long input, long output) {
        checkPrice("the price of input", input);
        checkPrice("the price of output", output);
        return new ChatModel(name, limits, new Price(input, output), speed, maxTokens);
    }

    private static void checkPrice(String name, long price) {
        Checks.notNegative(name, price);
        if (price > MOST) {
            throw new IllegalArgumentException(name + " must be at most " + MOST + ", was " + price);
        }
    }

    /**
     * Sets how fast it answers. Both are means: each time is drawn, from half to one and a half of it.
     *
     * @param firstToken from arrival to the first token, not negative
     * @param perToken from token to token, not negative
     * @return a copy with that speed
     */
    public ChatModel speed(Duration firstToken, Duration perToken) {
        Checks.notNegative("the time to the first token", firstToken);
        Checks.notNegative("the time per token", perToken);
        return new ChatModel(name, limits, price, new Speed(firstToken, perToken), maxTokens);
    }

    /**
     * Sets how many tokens an answer may have where a request doesn't say; 1,024 unless said.
     *
     * @param tokens at least 1
     * @return a copy with that figure
     */
    public ChatModel maxTokens(long tokens) {
        return new ChatModel(name, limits, price, speed, Checks.atLeastOne("max tokens", tokens));
    }

    /**
     * How requests name it.
     *
     * @return the name
     */
    public String name() {
        return name;
    }

    long maxTokens() {
        return maxTokens;
    }

    Speed speed() {
        return speed;
    }

    /** In micro-dollars, a fraction of one charged as a whole. */
    long cost(ChatUsage usage) {
        long parts = Math.addExact(
                Math.multiplyExact(price.input, usage.promptTokens()),
                Math.multiplyExact(price.output, usage.completionTokens()));
        return -Math.floorDiv(-parts, MILLION);
    }

    /** What it counts by meters, each with nothing counted; calls in flight are no meter. */
    Map<ChatLimit, ChatMeter> newMeters() {
        Map<ChatLimit, ChatMeter> meters = new EnumMap<>(ChatLimit.class);
        limits.permits.forEach((kind, permits) -> {
            switch (kind) {
                case REQUESTS_PER_MINUTE, TOKENS_PER_MINUTE -> meters.put(kind, perMinute(permits));
                case REQUESTS_PER_SECOND -> meters.put(kind, new ChatBucket(limits.burst, permits, 1_000));
                default -> {}
            }
        });
        return meters;
    }

    long mostInFlight() {
        return limits.permits.getOrDefault(ChatLimit.IN_FLIGHT, Long.MAX_VALUE);
    }

    private ChatMeter perMinute(long permits) {
        return limits.sliding
                ? new ChatWindow(permits, MINUTE_MILLIS)
                : new ChatBucket(permits, permits, MINUTE_MILLIS);
    }

    private ChatModel limit(ChatLimit kind, long permits) {
        return with(limits.with(kind, within(kind.words(), permits)));
    }

    private ChatModel with(Limits other) {
        return new ChatModel(name, other, price, speed, maxTokens);
    }

    private static long within(String what, long permits) {
        if (permits < 1 || permits > MOST) {
            throw new IllegalArgumentException(what + " must be 1 to " + MOST + ", was " + permits);
        }
        return permits;
    }

    @Override
    public String toString() {
        return name + limits.permits;
    }
}
