/** One runnable story per file, each with a test in virtual time; and the main job, started by {@code MainJob}. */
@NullMarked
package io.github.reactorratelimit.examples;

import org.jspecify.annotations.NullMarked;
