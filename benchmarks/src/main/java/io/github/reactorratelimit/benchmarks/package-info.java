/** JMH beside the peers, as ratios in one run. */
@NullMarked
package io.github.reactorratelimit.benchmarks;

import org.jspecify.annotations.NullMarked;
