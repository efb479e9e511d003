/** To come. */
@NullMarked
package io.github.reactorratelimit.benchmarks;

import org.jspecify.annotations.NullMarked;
