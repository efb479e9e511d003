package io.github.reactorratelimit.test;

/**
 * The decisions of a rate-limited service and nothing else: a request and a time go in, a reply comes out. It owns no
 * clock, no thread and no socket, so it can be driven as a table; {@link RateLimitedServer} and {@link
 * SimulatedService} are this with HTTP and with virtual time around it.
 *
 * <p>Built from {@link ServiceRules}, every answer has {@code Date}, the time of the decision. Where a limit counts, it also has {@code
 * X-RateLimit-Limit}, {@code -Remaining} and {@code -Reset} (epoch seconds, fraction cut off). A request above the
 * limit gets a 429 with {@code Retry-After} in whole seconds, rounded up and at least 1. Limits count per endpoint and
 * {@linkplain SimulatedRequest#token() token}. {@link OneNoteRules} and {@link ChatService} say what a service
 * of theirs answers.
 *
 * <p>Safe for use from any thread: requests are decided one after the other.
 */
public final class RateLimitedService {

    private final Decisions decisions;
    private final RequestLog log = new RequestLog();

    RateLimitedService(Decisions decisions) {
        this.decisions = decisions;
    }

    /**
     * Decides one request, counts it and logs it.
     *
     * @param request what is asked
     * @param nowMillis when it arrives, in milliseconds since the epoch
     * @return the answer
     */
    public synchronized Reply answer(SimulatedRequest request, long nowMillis) {
        return decisions.answer(request, nowMillis, log);
    }

    /**
     * What it has seen so far.
     *
     * @return the live log
     */
    public RequestLog log() {
        return log;
    }

    @Override
    public String toString() {
        return "RateLimitedService[" + log + "]";
    }
}
