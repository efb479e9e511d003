package io.github.reactorratelimit.benchmarks;

import io.github.reactorratelimit.signal.Dialect;
import io.github.reactorratelimit.signal.Dialects;
import io.github.reactorratelimit.signal.Headers;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;

/** Reading the head of a GitHub response, and of one that says nothing about limits, beside the least it could cost. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class ParsingBenchmark {

    private static final long NOW = 1_748_779_200_000L;

    private final Headers gitHub = Headers.of(
            "server", "github.com",
            "date", "Sun, 01 Jun 2025 12:00:00 GMT",
            "content-type", "application/json; charset=utf-8",
            "cache-control", "private, max-age=60, s-maxage=60",
            "vary", "Accept, Authorization, Cookie, X-GitHub-OTP,Accept-Encoding, Accept, X-Requested-With",
            "etag", "W/\"8a1f2d4f4f0b6a3f6b6f8c9d7b1f6d0e9d2b4a5c6e7f8091a2b3c4d5e6f70819\"",
            "x-oauth-scopes", "repo, workflow",
            "x-accepted-oauth-scopes", "",
            "github-authentication-token-expiration", "2025-12-01 12:00:00 UTC",
            "x-github-media-type", "github.v3; format=json",
            "x-github-api-version-selected", "2022-11-28",
            "x-ratelimit-limit", "5000",
            "x-ratelimit-remaining", "4987",
            "x-ratelimit-reset", "1748782800",
            "x-ratelimit-used", "13",
            "x-ratelimit-resource", "core",
            "access-control-expose-headers", "ETag, Link, Location, Retry-After, X-GitHub-OTP, X-RateLimit-Limit",
            "access-control-allow-origin", "*",
            "strict-transport-security", "max-age=31536000; includeSubdomains; preload",
            "x-frame-options", "deny",
            "x-content-type-options", "nosniff",
            "x-xss-protection", "0",
            "referrer-policy", "origin-when-cross-origin, strict-origin-when-cross-origin",
            "content-security-policy", "default-src 'none'",
            "content-encoding", "gzip",
            "x-github-request-id", "E1A2:2B3C4D:5E6F70:8192A3:683C3F00");

    private final Headers plain = Headers.of(
            "server", "nginx",
            "date", "Sun, 01 Jun 2025 12:00:00 GMT",
            "content-type", "application/json",
            "content-length", "1234",
            "connection", "keep-alive",
            "vary", "Accept-Encoding",
            "cache-control", "no-cache",
            "x-request-id", "2d9f7a51-7f0e-4b5e-9c0e-1d2f3a4b5c6d");

    private final Dialect standard = Dialects.standard();
    private final Dialect ofGitHub = Dialects.gitHub();
    private final Lengths lengths = new Lengths();

    /** The standard dialect. */
    @Benchmark
    public RateLimitSignal parsing_ours() {
        return standard.read(200, gitHub, NOW);
    }

    /** The dialect of GitHub. */
    @Benchmark
    public RateLimitSignal parsing_oursGitHub() {
        return ofGitHub.read(200, gitHub, NOW);
    }

    /** A plain walk over the same headers. */
    @Benchmark
    public int parsing_walk() {
        return lengths.of(gitHub);
    }

    /** Reading both clocks. */
    @Benchmark
    public long parsing_clock() {
        return System.nanoTime() + System.currentTimeMillis();
    }

    /** The standard dialect on a response without any of our headers. */
    @Benchmark
    public RateLimitSignal nothing_ours() {
        return standard.read(200, plain, NOW);
    }

    /** A plain walk over the headers of such a response. */
    @Benchmark
    public int nothing_walk() {
        return lengths.of(plain);
    }

    /** Looks at each line, and no further than at its length. */
    private static final class Lengths implements BiConsumer<String, String> {

        private int sum;

        int of(Headers headers) {
            sum = 0;
            headers.forEach(this);
            return sum;
        }

        @Override
        public void accept(String name, String value) {
            sum += name.length() + value.length();
        }
    }
}
