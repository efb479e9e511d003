package io.github.reactorratelimit.test;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * What chance makes of one call: the length of its answer, its latency, and for a stream how both fall into chunks.
 *
 * @param tokens those of the answer
 * @param cut whether the answer ends because the request allows no more
 * @param first from arrival to the head of a stream
 * @param latency from arrival to the end
 * @param chunks those of a stream, empty for an answer in one piece
 */
record ChatDraw(long tokens, boolean cut, Duration first, Duration latency, List<Chunk> chunks) {

    /** A piece of a stream, and how long it lets wait for it. */
    record Chunk(int tokens, Duration pause) {}

    private static final int MOST_PER_CHUNK = 8;
    private static final double SHORTEST = 0.1;
    private static final double INDEX = 1.5;

    /** The draw for the n-th call that is let through, which is the same whatever was drawn before. */
    static ChatDraw of(ChatRules rules, ChatModel model, long maxTokens, boolean stream, long nth) {
        SplittableRandom random = new SplittableRandom(rules.seed() * 0x9E3779B97F4A7C15L + nth);
        long tokens = tokens(rules, maxTokens, random);
        Duration first = scaled(model.speed().firstToken(), 1, random);
        if (!stream) {
            Duration rest = scaled(model.speed().perToken(), tokens, random);
            return new ChatDraw(tokens, tokens == maxTokens, first, first.plus(rest), List.of());
        }
        List<Chunk> chunks = new ArrayList<>();
        long left = tokens;
        while (left > 0) {
            int size = (int) Math.min(left, 1 + random.nextInt(MOST_PER_CHUNK));
            chunks.add(new Chunk(size, scaled(model.speed().perToken(), size, random)));
            left -= size;
        }
        return streamed(tokens, tokens == maxTokens, first, chunks);
    }

    /** The same call if it breaks off there. */
    ChatDraw first(int sent) {
        List<Chunk> some = chunks.subList(0, Math.min(sent, chunks.size()));
        return streamed(some.stream().mapToLong(Chunk::tokens).sum(), false, first, some);
    }

    private static ChatDraw streamed(long tokens, boolean cut, Duration first, List<Chunk> chunks) {
        Duration latency = chunks.stream().map(Chunk::pause).reduce(first, Duration::plus);
        return new ChatDraw(tokens, cut, first, latency, List.copyOf(chunks));
    }

    private static long tokens(ChatRules rules, long maxTokens, SplittableRandom random) {
        double pareto = SHORTEST * Math.pow(1 - random.nextDouble(), -1 / INDEX);
        long tokens = rules.completions() != null
                ? rules.completions().applyAsLong(maxTokens)
                : (long) Math.ceil(maxTokens * Math.min(1, pareto));
        return Math.max(1, Math.min(maxTokens, tokens));
    }

    private static Duration scaled(Duration mean, long times, SplittableRandom random) {
        return Duration.ofNanos((long) (mean.toNanos() * (0.5 + random.nextDouble()) * times));
    }
}
