package io.github.reactorratelimit.spring;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.simpleName;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;

class ArchitectureTest {

    private static final JavaClasses MAIN = new ClassFileImporter()
            .importUrl(
                    RateLimitFilter.class.getProtectionDomain().getCodeSource().getLocation());

    @Test
    void two_types_are_public() {
        assertThat(MAIN)
                .filteredOn(ArchitectureTest::isPublic)
                .extracting(JavaClass::getSimpleName)
                .containsExactlyInAnyOrder("RateLimitFilter", "RateLimitExceptionHandler");
    }

    /** What is nested in an interface of ours calls itself public. */
    private static boolean isPublic(JavaClass type) {
        return type.getModifiers().contains(JavaModifier.PUBLIC)
                && type.getEnclosingClass().map(ArchitectureTest::isPublic).orElse(true);
    }

    @Test
    void netty_is_known_only_where_it_is_asked_for_first() {
        DescribedPredicate<JavaClass> askedFor = simpleName("Netty").or(simpleName("Counted"));
        noClasses()
                .that(DescribedPredicate.not(askedFor))
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("io.netty..", "reactor.netty..", "io.github.reactorratelimit.netty..")
                .check(MAIN);
    }

    @Test
    void nobody_reads_a_clock_or_sets_a_timer() {
        noClasses()
                .should()
                .callMethod(System.class, "nanoTime")
                .orShould()
                .callMethod(System.class, "currentTimeMillis")
                .orShould()
                .callMethod(Instant.class, "now")
                .orShould()
                .dependOnClassesThat()
                .areAssignableTo(Clock.class)
                .orShould()
                .callMethod(Mono.class, "delay", Duration.class)
                .orShould()
                .callMethod(Mono.class, "timeout", Duration.class)
                .check(MAIN);
    }
}
