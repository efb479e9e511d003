/** Micrometer's meters and observations of a limiter. Micrometer is an optional dependency: nothing here is loaded unless it is used. */
@NullMarked
package io.github.reactorratelimit.metrics;

import org.jspecify.annotations.NullMarked;
