/** Races of two threads over one permit, under jcstress, each outcome in words. */
@NullMarked
package io.github.reactorratelimit.benchmarks.races;

import org.jspecify.annotations.NullMarked;
