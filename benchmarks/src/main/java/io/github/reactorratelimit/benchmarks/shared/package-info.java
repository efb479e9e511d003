/** One quota on Redis, beside the peers. */
@NullMarked
package io.github.reactorratelimit.benchmarks.shared;

import org.jspecify.annotations.NullMarked;
