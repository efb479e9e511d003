/** The adapter for Reactor Netty's {@code HttpClient}, which is an optional dependency. */
@NullMarked
package io.github.reactorratelimit.netty;

import org.jspecify.annotations.NullMarked;
