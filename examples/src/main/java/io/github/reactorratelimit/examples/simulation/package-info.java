/**
 * A simulation, seeded and in virtual time: clients of several kinds against servers with hidden limits. It writes {@code
 * docs/simulation.md}.
 */
@NullMarked
package io.github.reactorratelimit.examples.simulation;

import org.jspecify.annotations.NullMarked;
