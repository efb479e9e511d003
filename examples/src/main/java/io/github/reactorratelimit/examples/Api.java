package io.github.reactorratelimit.examples;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.test.RequestLog;
import reactor.core.publisher.Mono;

/** What the main job calls: a real server over HTTP, or, in its tests, the same service in virtual time. */
interface Api {

    /** A GET as it comes, gives the status. */
    Mono<Integer> bare(String path, String token);

    /** A GET under a limiter, gives the status of the response that was handed on. */
    Mono<Integer> limited(RateLimiter limiter, String path, String token);

    /** What the service saw. */
    RequestLog log();
}
