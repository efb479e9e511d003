/** To come. */
@NullMarked
package io.github.reactorratelimit.examples;

import org.jspecify.annotations.NullMarked;
