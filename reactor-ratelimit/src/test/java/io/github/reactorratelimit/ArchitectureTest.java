package io.github.reactorratelimit;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.AccessTarget.CodeUnitCallTarget;
import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;

/** Everything flows one way: say, ask, decide, wait, send, hear. */
class ArchitectureTest {

    private static final String BASE = "io.github.reactorratelimit";

    /** Only what is compiled from the main sources. */
    private static final JavaClasses MAIN = new ClassFileImporter()
            .importUrl(RateLimiter.class.getProtectionDomain().getCodeSource().getLocation());

    /** Functions of (state, now, cost). */
    private static final Set<String> ALGORITHMS = Set.of(
            "Exact",
            "Limit",
            "LimitDraft",
            "Fraction",
            "Share",
            "Ledger",
            "Pace",
            "Spacing",
            "Booking",
            "Generations",
            "Timed",
            "Meter",
            "WindowMeter",
            "SpacedWindowMeter",
            "BucketMeter",
            "InFlightMeter",
            "TotalMeter",
            "CalendarMeter",
            "CalendarPeriod",
            "JointBooks");

    /** How calls are limited, heard and tried again. */
    private static final Set<String> OPERATOR = Set.of(
            "RateLimitOperator",
            "Attempt",
            "TriedExchange",
            "TriedCall",
            "TriedSubscription",
            "RetryLoop",
            "Draining",
            "Limited",
            "MonoLimit",
            "FluxLimit",
            "FluxLimitEach",
            "MonoAgain",
            "FluxAgain",
            "Again",
            "Resubscribe",
            "Retries",
            "RetryPolicy",
            "RetryBudget",
            "Backoff",
            "BatchRetry",
            "BatchRun",
            "BatchPart",
            "BatchAnswer",
            "BatchParts",
            "BatchSend",
            "BatchAttempt",
            "BatchVerdict",
            "BatchReader",
            "BatchOutcome",
            "Layers",
            "Verdict",
            "Outcome",
            "Try",
            "Failure",
            "FailureReader",
            "ResponseReader",
            "Exchange",
            "NotSent",
            "FluxAttempt",
            "WatchedAttempt");

    /** Who waits, whose turn it is, and what is decided. */
    private static final Set<String> QUEUE = Set.of(
            "Admission",
            "KeyFinder",
            "Decisions",
            "Answers",
            "Controls",
            "Passes",
            "Entries",
            "Departures",
            "Hearing",
            "Outgoing",
            "WaitingRoom",
            "Ticket",
            "Line",
            "Slot",
            "Turns",
            "Node",
            "KeyBooks",
            "KeyTraffic",
            "StoreGate",
            "UnderWay",
            "InHand",
            "Children",
            "Tree",
            "LastUse",
            "Timers",
            "Gate",
            "Cooldowns",
            "Ramp",
            "Learning",
            "Learned",
            "LearnedMeter",
            "LearnedFigure",
            "LearnedPlaces",
            "LearnedReset",
            "LearnedShare",
            "LearnedShares",
            "Routing",
            "Usage",
            "Buckets",
            "Outlook",
            "Alarm",
            "LimiterClock",
            "Emissions",
            "BarePermit",
            "MonoAcquire",
            "Snapshots",
            "Lanes",
            "Scope",
            "Demand",
            "EndpointPattern",
            "Settings",
            "Refusals",
            "Breakers",
            "Breaker",
            "Herald",
            "News",
            "Reopening",
            "Watch");

    private static DescribedPredicate<JavaClass> oneOf(String name, Set<String> simpleNames) {
        return DescribedPredicate.describe(
                name,
                type -> BASE.equals(type.getBaseComponentType().getPackageName())
                        && simpleNames.contains(outermost(type)));
    }

    private static String outermost(JavaClass type) {
        JavaClass outer = type.getBaseComponentType();
        while (outer.getEnclosingClass().isPresent()) {
            outer = outer.getEnclosingClass().get();
        }
        return outer.getSimpleName();
    }

    @Test
    void algorithms_know_only_each_other() {
        DescribedPredicate<JavaClass> ours = resideInAPackage(BASE + "..");
        noClasses()
                .that(oneOf("algorithms", ALGORITHMS))
                .should()
                .dependOnClassesThat(ours.and(not(oneOf("algorithms", ALGORITHMS))))
                .check(MAIN);
        noClasses()
                .that(oneOf("algorithms", ALGORITHMS))
                .should()
                .dependOnClassesThat(resideInAnyPackage(
                        "reactor..", "org.reactivestreams..", "org.slf4j..", "java.util.concurrent.."))
                .check(MAIN);
    }

    @Test
    void the_queue_knows_no_operator() {
        noClasses()
                .that(oneOf("the queue", QUEUE))
                .should()
                .dependOnClassesThat(oneOf("the operator", OPERATOR))
                .check(MAIN);
    }

    @Test
    void the_core_knows_no_http_client() {
        noClasses()
                .that(resideInAPackage(BASE + "..").and(not(resideInAPackage(BASE + ".netty.."))))
                .should()
                .dependOnClassesThat(resideInAnyPackage("reactor.netty..", "io.netty..", BASE + ".netty.."))
                .check(MAIN);
    }

    @Test
    void only_the_metrics_know_micrometer() {
        noClasses()
                .that(resideInAPackage(BASE + "..").and(not(resideInAPackage(BASE + ".metrics.."))))
                .should()
                .dependOnClassesThat(resideInAnyPackage("io.micrometer..", BASE + ".metrics.."))
                .check(MAIN);
    }

    @Test
    void signals_know_nothing_of_limits_and_queues() {
        noClasses()
                .that()
                .resideInAPackage(BASE + ".signal..")
                .should()
                .dependOnClassesThat(resideInAPackage(BASE).or(resideInAPackage(BASE + ".netty..")))
                .check(MAIN);
    }

    @Test
    void the_classes_named_here_exist() {
        for (Set<String> group : List.of(ALGORITHMS, OPERATOR, QUEUE)) {
            assertThat(MAIN.stream().map(JavaClass::getSimpleName).toList())
                    .as("a renamed class would escape its rule")
                    .containsAll(group);
        }
    }

    private static DescribedPredicate<JavaAccess<?>> calls(Class<?> owner, String method) {
        return DescribedPredicate.describe(
                "call " + owner.getSimpleName() + "." + method,
                access -> access.getTarget().getOwner().isEquivalentTo(owner)
                        && access.getTarget().getName().equals(method));
    }

    private static DescribedPredicate<JavaAccess<?>> callsWithDuration(Class<?> owner, String method) {
        return DescribedPredicate.describe(
                "call " + owner.getSimpleName() + "." + method + "(Duration…)",
                access -> calls(owner, method).test(access)
                        && access.getTarget() instanceof CodeUnitCallTarget target
                        && target.getRawParameterTypes().stream()
                                .anyMatch(type -> type.isEquivalentTo(Duration.class)));
    }

    @Test
    void nothing_reads_a_clock_of_its_own_or_waits() {
        for (DescribedPredicate<JavaAccess<?>> forbidden : List.of(
                calls(System.class, "nanoTime"),
                calls(System.class, "currentTimeMillis"),
                calls(java.time.Instant.class, "now"),
                calls(java.time.LocalDate.class, "now"),
                calls(java.time.LocalDateTime.class, "now"),
                calls(java.time.ZonedDateTime.class, "now"),
                calls(Clock.class, "systemUTC"),
                calls(Clock.class, "systemDefaultZone"),
                calls(Thread.class, "sleep"),
                calls(LockSupport.class, "parkNanos"),
                calls(Object.class, "wait"),
                calls(Mono.class, "delay"),
                calls(Flux.class, "interval"),
                calls(Mono.class, "block"),
                calls(Mono.class, "blockOptional"),
                calls(Flux.class, "blockFirst"),
                calls(Flux.class, "blockLast"),
                callsWithDuration(Mono.class, "timeout"),
                callsWithDuration(Flux.class, "timeout"),
                callsWithDuration(Mono.class, "delayElement"),
                callsWithDuration(Flux.class, "delayElements"),
                callsWithDuration(Mono.class, "delaySubscription"),
                callsWithDuration(Flux.class, "delaySubscription"))) {
            noClasses().should().accessTargetWhere(forbidden).check(MAIN);
        }
    }

    @Test
    void nothing_creates_or_disposes_a_scheduler() {
        DescribedPredicate<JavaAccess<?>> creates = DescribedPredicate.describe(
                "create a scheduler",
                access -> access.getTarget().getOwner().getFullName().equals("reactor.core.scheduler.Schedulers")
                        && access.getTarget().getName().startsWith("new"));
        noClasses().should().accessTargetWhere(creates).check(MAIN);
        noClasses()
                .should()
                .accessTargetWhere(calls(Scheduler.class, "dispose"))
                .check(MAIN);
    }

    @Test
    void only_the_clock_and_the_alarm_touch_a_scheduler_beside_the_admission_that_reads_it() {
        DescribedPredicate<JavaAccess<?>> schedules = DescribedPredicate.describe(
                "schedule a task",
                access -> access.getTarget().getOwner().isEquivalentTo(Scheduler.class)
                        && access.getTarget().getName().startsWith("schedule"));
        noClasses()
                .that(not(oneOf(
                                "the alarm, and the wait where there is no limiter",
                                Set.of("Alarm", "MonoAcquireForeign")))
                        .and(not(resideInAPackage(BASE + ".netty.."))))
                .should()
                .accessTargetWhere(schedules)
                .check(MAIN);
    }

    @Test
    void few_types_are_public() {
        List<String> types = MAIN.stream()
                .filter(type -> type.getModifiers().contains(JavaModifier.PUBLIC))
                .filter(type -> !type.getEnclosingClass().isPresent())
                .map(JavaClass::getSimpleName)
                .sorted()
                .toList();
        assertThat(types).hasSizeLessThanOrEqualTo(48);
    }

    @Test
    void what_is_public_is_final_sealed_or_an_interface() {
        classes()
                .that(DescribedPredicate.describe(
                        "public classes",
                        type -> type.getModifiers().contains(JavaModifier.PUBLIC)
                                && !type.isInterface()
                                && !type.isEnum()
                                && !type.reflect().isSealed()))
                .should()
                .haveModifier(JavaModifier.FINAL)
                .check(MAIN);
    }

    @Test
    void names_say_what_a_thing_is() {
        noClasses()
                .should()
                .haveNameMatching(".*\\.(Abstract|Default|Base)[A-Z]\\w*|.*(Impl|Util|Utils|Helper|Manager)")
                .orShould()
                .resideInAnyPackage("..internal..", "..impl..", "..util..", "..utils..", "..helper..")
                .check(MAIN);
    }
}
