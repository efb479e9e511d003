/** The same limits shared by many processes, on Redis through Lettuce. */
@NullMarked
package io.github.reactorratelimit.redis;

import org.jspecify.annotations.NullMarked;
