package io.github.reactorratelimit;

import java.lang.reflect.InvocationTargetException;
import java.util.Arrays;
import java.util.Comparator;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.opentest4j.TestAbortedException;
import org.reactivestreams.Publisher;
import org.reactivestreams.tck.PublisherVerification;
import org.reactivestreams.tck.TestEnvironment;
import org.testng.SkipException;
import org.testng.annotations.Test;

/** Runs the Reactive Streams TCK, which is written for TestNG, as JUnit tests: one per rule. */
abstract class OperatorRules {

    /** How long the TCK waits for a signal that has to come, and for one that must not come. */
    private static final TestEnvironment PATIENCE = new TestEnvironment(2_000, 30);

    /** What is verified: a publisher of so many elements, the same over what fails at once, and how many it can have. */
    abstract Publisher<Integer> publisher(long elements);

    abstract Publisher<Integer> failing();

    @TestFactory
    Stream<DynamicTest> it_follows_the_rules_of_reactive_streams() {
        return rules(Verification::new, Verification.class);
    }

    private Stream<DynamicTest> rules(Supplier<Verification> fresh, Class<Verification> type) {
        return Arrays.stream(type.getMethods())
                .filter(method -> method.isAnnotationPresent(Test.class)
                        && !method.getName().startsWith("untested_"))
                .sorted(Comparator.comparing(method -> method.getName()))
                .map(method -> DynamicTest.dynamicTest(method.getName(), () -> {
                    Verification verification = fresh.get();
                    verification.setUp();
                    try {
                        method.invoke(verification);
                    } catch (InvocationTargetException e) {
                        throw e.getCause() instanceof SkipException skipped
                                ? new TestAbortedException(skipped.getMessage())
                                : e.getCause();
                    }
                }));
    }

    /** The TCK's own tests over these publishers. */
    public final class Verification extends PublisherVerification<Integer> {

        Verification() {
            super(PATIENCE);
        }

        @Override
        public Publisher<Integer> createPublisher(long elements) {
            return publisher(elements);
        }

        @Override
        public Publisher<Integer> createFailedPublisher() {
            return failing();
        }
    }
}
