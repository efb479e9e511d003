package io.github.reactorratelimit;

import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.signal.Dialect;
import io.github.reactorratelimit.signal.Dialects;
import io.github.reactorratelimit.signal.Headers;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.scheduler.VirtualTimeScheduler;

/** What only a body tells, through every way in which a response comes to the operator; and what no wait cures. */
class BodyHintTest {

    private static final String SECONDARY = "{\"message\":\"You have exceeded a secondary rate limit.\"}";
    private static final String SPENT = "{\"error\":{\"code\":\"insufficient_quota\"}}";

    /** A response that has its body in memory. */
    private record Answer(int status, String text) {

        private static final Headers HEADERS = Headers.of("X-RateLimit-Remaining", "4000");

        private byte[] bytes() {
            return text.getBytes(StandardCharsets.UTF_8);
        }
    }

    private static final class AnswerException extends RuntimeException {

        private static final long serialVersionUID = 1L;
        private final transient Answer answer;

        AnswerException(Answer answer) {
            this.answer = answer;
        }
    }

    private final class Reader implements ResponseReader<Answer> {

        @Override
        public int status(Answer response) {
            return response.status;
        }

        @Override
        public Headers headers(Answer response) {
            return Answer.HEADERS;
        }

        @Override
        public byte @Nullable [] body(Answer response, int most) {
            looks.add(most);
            return response.bytes();
        }
    }

    /** How responses come to the operator. */
    private enum Way {
        MONO {
            @Override
            Publisher<Answer> call(RateLimitOperator calls, Mono<Answer> server) {
                return server.transform(calls.limit());
            }
        },
        FLUX {
            @Override
            Publisher<Answer> call(RateLimitOperator calls, Mono<Answer> server) {
                return server.flux().transform(calls.limit());
            }
        },
        EXCEPTION {
            @Override
            Publisher<Answer> call(RateLimitOperator calls, Mono<Answer> server) {
                return server.flatMap(answer -> answer.status == 200
                                ? Mono.just(answer)
                                : Mono.<Answer>error(new AnswerException(answer)))
                        .transform(calls.limit());
            }
        },
        EXCHANGE {
            @Override
            Publisher<Answer> call(RateLimitOperator calls, Mono<Answer> server) {
                return calls.exchange(Demand.one(), exchange -> server.flatMap(answer -> told(exchange, answer)));
            }
        },
        EXCHANGE_MANY {
            @Override
            Publisher<Answer> call(RateLimitOperator calls, Mono<Answer> server) {
                return calls.exchangeMany(Demand.one(), exchange -> server.flatMap(answer -> told(exchange, answer)));
            }
        };

        abstract Publisher<Answer> call(RateLimitOperator calls, Mono<Answer> server);

        private static Mono<Answer> told(Exchange exchange, Answer answer) {
            exchange.sent();
            boolean wanted = exchange.bodyBytes(answer.status, Answer.HEADERS) > 0;
            Verdict verdict = wanted
                    ? exchange.head(answer.status, Answer.HEADERS, answer.bytes())
                    : exchange.head(answer.status, Answer.HEADERS);
            return verdict.passes() ? Mono.just(answer) : Mono.error(verdict.failure());
        }
    }

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final List<Integer> looks = new ArrayList<>();
    private final List<Answer> answers = new ArrayList<>();
    private final List<Object> outcome = new ArrayList<>();

    private RateLimiter limiter(Dialect dialect) {
        return RateLimiter.named("api")
                .limit(Limit.inFlight(1))
                .dialect(dialect)
                .jitter(0)
                .scheduler(() -> time)
                .build();
    }

    private void call(RateLimiter limiter, Way way, Function<RateLimitOperator, RateLimitOperator> change) {
        RateLimitOperator calls = limiter.calls()
                .responses(Answer.class, new Reader())
                .failures(error -> error instanceof AnswerException known
                        ? Failure.response(known.answer.status, Answer.HEADERS, known.answer.bytes())
                        : null);
        Mono<Answer> server = Mono.fromSupplier(() -> answers.size() > 1 ? answers.remove(0) : answers.get(0));
        Flux.from(way.call(change.apply(calls), server)).subscribe(outcome::add, outcome::add);
    }

    private static Duration closedFor(RateLimiter limiter) {
        return limiter.snapshot().root().closedFor();
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    void a_403_that_only_its_body_explains_is_waited_for(Way way) {
        RateLimiter limiter = limiter(Dialects.gitHub());
        answers.add(new Answer(403, SECONDARY));
        answers.add(new Answer(200, "done"));
        call(limiter, way, calls -> calls);

        assertThat(outcome).isEmpty();
        assertThat(closedFor(limiter)).isEqualTo(ofMinutes(1));
        time.advanceTimeBy(ofMinutes(1));
        assertThat(outcome).containsExactly(new Answer(200, "done"));
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    void a_plain_403_is_the_callers(Way way) {
        RateLimiter limiter = limiter(Dialects.gitHub());
        Answer forbidden = new Answer(403, "{\"message\":\"Must have admin rights\"}");
        answers.add(forbidden);
        call(limiter, way, calls -> calls);

        assertThat(outcome).hasSize(1);
        Object answer = outcome.get(0) instanceof AnswerException error ? error.answer : outcome.get(0);
        assertThat(answer).isEqualTo(forbidden);
        assertThat(closedFor(limiter)).isZero();
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    void a_refusal_that_no_wait_cures_fails_at_once_with_its_reason_and_closes_nothing(Way way) {
        RateLimiter limiter = limiter(Dialects.openAi());
        answers.add(new Answer(429, SPENT));
        call(limiter, way, calls -> calls);

        assertThat(outcome).hasSize(1);
        assertThat(outcome.get(0)).isInstanceOfSatisfying(TerminalThrottleException.class, failure -> {
            assertThat(failure.reason()).isEqualTo("insufficient_quota");
            assertThat(failure.status()).isEqualTo(429);
            assertThat(failure.signal().terminal()).isEqualTo("insufficient_quota");
            assertThat(failure.mayHaveBeenSent()).isTrue();
            assertThat(failure).hasMessageContaining("'api'").hasMessageContaining("insufficient_quota");
            assertThat(failure.getCause() instanceof AnswerException).isEqualTo(way == Way.EXCEPTION);
        });
        assertThat(closedFor(limiter)).isZero();
        assertThat(limiter.tryAcquire().allowed()).isTrue();
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    void a_refusal_that_no_wait_cures_is_told_as_such_after_refusals_that_were_waited_for_and_without_any_retry(
            Way way) {
        RateLimiter limiter = limiter(Dialects.openAi());
        answers.add(new Answer(429, "{\"error\":{\"message\":\"Please try again in 20s.\"}}"));
        answers.add(new Answer(429, SPENT));
        call(limiter, way, calls -> calls);
        assertThat(closedFor(limiter)).isEqualTo(ofSeconds(20));
        time.advanceTimeBy(ofSeconds(20));
        assertThat(outcome).hasSize(1);
        assertThat(outcome.get(0)).isInstanceOf(TerminalThrottleException.class);

        outcome.clear();
        call(limiter, way, calls -> calls.retry(RetryPolicy.none()));
        assertThat(outcome).hasSize(1);
        assertThat(outcome.get(0)).isInstanceOf(TerminalThrottleException.class);
    }

    @Test
    void a_body_is_looked_at_only_where_the_dialect_asks_and_only_as_far_as_it_asks() {
        List<Integer> given = new ArrayList<>();
        Dialect five = new Dialect() {
            @Override
            public RateLimitSignal read(int status, Headers headers, long wallNowMillis) {
                return RateLimitSignal.none(status);
            }

            @Override
            public int bodyBytes(int status, Headers headers) {
                return status == 418 ? 5 : 0;
            }

            @Override
            public RateLimitSignal readBody(int status, Headers headers, byte[] body, long wallNowMillis) {
                given.add(body.length);
                return RateLimitSignal.none(status);
            }
        };
        for (Answer answer :
                List.of(new Answer(200, "x"), new Answer(418, "longer than five"), new Answer(418, "abc"))) {
            answers.clear();
            answers.add(answer);
            call(limiter(five), Way.MONO, calls -> calls);
        }

        assertThat(looks).containsExactly(5, 5);
        assertThat(given).containsExactly(5, 3);
        assertThat(outcome).hasSize(3);
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    void a_dialect_that_throws_over_a_body_does_not_fail_the_call(Way way) {
        Dialect broken = new Dialect() {
            @Override
            public RateLimitSignal read(int status, Headers headers, long wallNowMillis) {
                return RateLimitSignal.none(status);
            }

            @Override
            public int bodyBytes(int status, Headers headers) {
                if (status == 200) {
                    throw new IllegalStateException("no idea");
                }
                return 10;
            }

            @Override
            public RateLimitSignal readBody(int status, Headers headers, byte[] body, long wallNowMillis) {
                throw new IllegalStateException("unreadable");
            }
        };
        answers.add(new Answer(418, "tea"));
        answers.add(new Answer(200, "fine"));
        RateLimiter limiter = limiter(broken);
        call(limiter, way, calls -> calls);
        call(limiter, way, calls -> calls);

        assertThat(outcome).hasSize(2);
        Object first = outcome.get(0) instanceof AnswerException error ? error.answer : outcome.get(0);
        assertThat(List.of(first, outcome.get(1))).containsExactly(new Answer(418, "tea"), new Answer(200, "fine"));
    }
}
