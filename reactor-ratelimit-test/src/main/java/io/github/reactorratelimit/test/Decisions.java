package io.github.reactorratelimit.test;

/** What a service makes of a request. Called under the service's lock, so it needs none. */
interface Decisions {

    /**
     * Decides one request, counts it and logs it.
     *
     * @param nowMillis when it arrives, in milliseconds since the epoch
     */
    Reply answer(SimulatedRequest request, long nowMillis, RequestLog log);
}
