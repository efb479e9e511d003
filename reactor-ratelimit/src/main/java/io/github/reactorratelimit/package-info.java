/**
 * Limits, permits, admission, the operator and retry: a client-side rate limiter for Project Reactor.
 *
 * <p>Data flows one way: <em>say, ask, decide, wait, send, hear</em>. A caller says what it needs in a demand, a permit
 * source decides at once or lets it wait, the call is sent, and what the server answers comes back as one signal.
 */
@NullMarked
package io.github.reactorratelimit;

import org.jspecify.annotations.NullMarked;
