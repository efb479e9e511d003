/**
 * What parts that users write have to keep, as tests to inherit: a dialect ({@link
 * io.github.reactorratelimit.test.contract.DialectContract}), a source of permits ({@link
 * io.github.reactorratelimit.test.contract.PermitSourceContract}), a store ({@link
 * io.github.reactorratelimit.test.contract.LimitStoreContract} for the processes that share it, {@link
 * io.github.reactorratelimit.test.contract.RateLimiterContract} and {@link
 * io.github.reactorratelimit.test.contract.LimitContract} for a limiter over it), and a limit of a simulated service
 * ({@link io.github.reactorratelimit.test.contract.ServerLimitContract}). They need JUnit 5 and AssertJ.
 */
@NullMarked
package io.github.reactorratelimit.test.contract;

import org.jspecify.annotations.NullMarked;
