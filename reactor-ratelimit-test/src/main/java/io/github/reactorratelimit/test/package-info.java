/** To come. */
@NullMarked
package io.github.reactorratelimit.test;

import org.jspecify.annotations.NullMarked;
