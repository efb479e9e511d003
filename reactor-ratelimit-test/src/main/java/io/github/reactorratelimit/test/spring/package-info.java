/** Simulated services behind Spring's {@code WebClient}, without sockets; needs {@code spring-webflux}. */
@NullMarked
package io.github.reactorratelimit.test.spring;

import org.jspecify.annotations.NullMarked;
