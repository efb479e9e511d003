/**
 * What a test of rate-limited code needs on the other side of the wire: a service with limits, faults and a log, as a
 * real server on loopback ({@link io.github.reactorratelimit.test.RateLimitedServer}) or in virtual time without
 * sockets ({@link io.github.reactorratelimit.test.SimulatedService}), an API that answers word for word what the test wrote
 * ({@link io.github.reactorratelimit.test.ScriptedApi}), and a proxy that works or misbehaves ({@link
 * io.github.reactorratelimit.test.FakeProxy}). On the near side: a time of the test's own that checks for leaks
 * ({@link io.github.reactorratelimit.test.InVirtualTime}, which needs JUnit 5), permits granted by hand ({@link
 * io.github.reactorratelimit.test.TestPermitSource}), and assertions on what the service saw ({@link
 * io.github.reactorratelimit.test.RateLimitAssertions}, which need AssertJ).
 *
 * <p>Both forms of the service run the same decisions, those of {@link
 * io.github.reactorratelimit.test.RateLimitedService}, which are told the time and own no clock.
 *
 * <p>Two services of a kind of their own are there: OneNote in Microsoft Graph ({@link
 * io.github.reactorratelimit.test.OneNoteRules}), and an OpenAI-compatible chat completion service, which counts tokens and
 * money beside requests ({@link io.github.reactorratelimit.test.ChatRules}).
 */
@NullMarked
package io.github.reactorratelimit.test;

import org.jspecify.annotations.NullMarked;
