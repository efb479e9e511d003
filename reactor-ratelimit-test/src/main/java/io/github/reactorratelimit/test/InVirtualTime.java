package io.github.reactorratelimit.test;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Gives every JUnit 5 test of a class, or one test, a {@link VirtualTime} of its own, and fails a test that leaves
 * something over in it.
 *
 * <p>A parameter of type {@link VirtualTime} is filled in the constructor, in {@code @BeforeEach}, test and
 * {@code @AfterEach} methods; all of one test get the same. There is none for {@code @BeforeAll}, {@code @AfterAll} and the
 * constructor of a class that lives for all its tests. The constructor needs JUnit 5.12.
 *
 * <p>The {@linkplain VirtualTime#checkLeaks() leak check} comes after the {@code @AfterEach} methods, and only if the test
 * passed so far. The annotation of a method goes before that of its class, and that of a nested class before the one
 * around it.
 */
@Documented
@Inherited
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.TYPE, ElementType.METHOD})
@ExtendWith(VirtualTimeExtension.class)
public @interface InVirtualTime {

    /** What the wall clock shows at the start unless said. */
    String START = "2026-01-01T00:00:00Z";

    /**
     * What the wall clock shows when the test begins.
     *
     * @return an instant in ISO 8601, from 1970 to the year 2262
     */
    String wallClock() default START;

    /**
     * Whether what is left over after the test fails it.
     *
     * @return true unless said
     */
    boolean leakCheck() default true;
}
