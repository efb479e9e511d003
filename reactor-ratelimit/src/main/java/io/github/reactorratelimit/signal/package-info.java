/**
 * What a response says about limits: headers are read by a {@link io.github.reactorratelimit.signal.Dialect} into one
 * {@link io.github.reactorratelimit.signal.RateLimitSignal}, in which every time is already a duration.
 */
@NullMarked
package io.github.reactorratelimit.signal;

import org.jspecify.annotations.NullMarked;
