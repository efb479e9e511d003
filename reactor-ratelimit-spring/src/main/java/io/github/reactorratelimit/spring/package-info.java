/** Rate limits for Spring's {@code WebClient}, and 429 towards the callers of a WebFlux server. */
@NullMarked
package io.github.reactorratelimit.spring;

import org.jspecify.annotations.NullMarked;
