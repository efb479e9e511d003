package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.api.sync.RedisCommands;
import java.util.List;
import java.util.Random;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The script alone, on a real server, with the clock as an argument. */
class DecideScriptTest {

    private static final String ROOT = "{t}:scope";
    private static final String LEAF = "{t}:scope:endpoint=/search";
    /** Microseconds since 1970, as servers count them now. */
    private static final long T = 1_800_000_000_000_000L;

    private static final long SECOND = 1_000_000;

    @RegisterExtension
    static final RealRedis server = new RealRedis();

    private static final RedisCommands<String, String> redis =
            server.connection().sync();

    @BeforeEach
    void empty() {
        redis.flushall();
    }

    private static ScriptCall call() {
        return new ScriptCall();
    }

    @Test
    void a_window_grants_its_permits_and_then_says_how_long_to_wait() {
        assertThat(call().window(ROOT, 5, 10 * SECOND).ask(8, 0).at(T, redis))
                .containsExactly(T, 0L, 5L, 10 * SECOND, 1L, 1L);
        assertThat(call().window(ROOT, 5, 10 * SECOND).ask(1, 0).at(T + 4 * SECOND, redis))
                .endsWith(0L, 6 * SECOND, 1L, 1L);
        assertThat(call().window(ROOT, 5, 10 * SECOND).ask(5, 0).at(T + 10 * SECOND - 1, redis))
                .endsWith(0L, 1L, 1L, 1L);
        assertThat(call().window(ROOT, 5, 10 * SECOND).ask(5, 0).at(T + 10 * SECOND, redis))
                .endsWith(5L, 0L, 0L, 0L);
    }

    @Test
    void what_is_under_way_counts_from_the_end_of_its_transit() {
        call().window(ROOT, 1, 10 * SECOND).ask(1, SECOND).at(T, redis);
        assertThat(call().window(ROOT, 1, 10 * SECOND).ask(1, SECOND).at(T + 10 * SECOND, redis))
                .endsWith(0L, SECOND, 1L, 1L);
    }

    @Test
    void a_response_head_lets_a_permit_count_from_then_on_but_never_later_than_it_did() {
        call().window(ROOT, 3, 10 * SECOND).ask(3, SECOND).at(T, redis);
        // Two of the three were answered 0.2 s after the grant, and it is told 0.3 s later.
        call().window(ROOT, 3, 10 * SECOND)
                .correct(1, T + SECOND, 2, 300_000, 0)
                .at(T + 500_000, redis);
        assertThat(call().window(ROOT, 3, 10 * SECOND).ask(3, 0).at(T + 10_200_000, redis))
                .endsWith(2L, 800_000L, 1L, 1L);
        redis.flushall();
        call().window(ROOT, 1, 10 * SECOND).ask(1, SECOND).at(T, redis);
        call().window(ROOT, 1, 10 * SECOND).correct(1, T + SECOND, 1, 0, 0).at(T + 5 * SECOND, redis);
        assertThat(call().window(ROOT, 1, 10 * SECOND).ask(1, 0).at(T + 11 * SECOND, redis))
                .endsWith(1L, 0L, 0L, 0L);
    }

    @Test
    void a_permit_given_back_is_there_at_once_and_once_only() {
        call().window(ROOT, 2, 10 * SECOND).ask(2, SECOND).at(T, redis);
        assertThat(call().window(ROOT, 2, 10 * SECOND)
                        .correct(1, T + SECOND, 0, 0, -1)
                        .ask(2, SECOND)
                        .at(T, redis))
                .endsWith(1L, 11 * SECOND, 1L, 1L);
        call().window(ROOT, 2, 10 * SECOND).correct(1, T + SECOND, 0, 0, -50).at(T + 1, redis);
        assertThat(call().window(ROOT, 2, 10 * SECOND).ask(9, 0).at(T + 1, redis))
                .endsWith(2L, 10 * SECOND, 1L, 1L);
    }

    @Test
    void a_correction_never_reaches_a_later_window() {
        call().window(ROOT, 2, SECOND).ask(2, 0).at(T, redis);
        call().window(ROOT, 2, SECOND).correct(1, T, 0, 0, 7).at(T + SECOND, redis);
        assertThat(call().window(ROOT, 2, SECOND).ask(2, 0).at(T + SECOND, redis))
                .endsWith(2L, 0L, 0L, 0L);
    }

    @Test
    void so_many_more_are_granted_ahead_if_sixteen_times_as_many_fit() {
        assertThat(call().window(ROOT, 1_000, 10 * SECOND)
                        .ahead(50, 0)
                        .ask(200, 0)
                        .at(T, redis))
                .endsWith(200L, 50L, 0L, 0L, 0L);
        assertThat(call().window(ROOT, 1_000, 10 * SECOND)
                        .ahead(46, 0)
                        .ask(10, 0)
                        .at(T, redis))
                .endsWith(10L, 46L, 0L, 0L, 0L);
        // 694 are left after the one that waits.
        assertThat(call().window(ROOT, 1_000, 10 * SECOND)
                        .ahead(44, 0)
                        .ask(1, 0)
                        .at(T, redis))
                .endsWith(1L, 0L, 0L, 0L, 0L);
        assertThat(call().bucket(ROOT, 161, 500_000, 0, 1)
                        .ahead(10, 0)
                        .ask(2, 0)
                        .at(T, redis))
                .endsWith(2L, 0L, 0L, 0L, 0L);
        assertThat(call().bucket(ROOT, 161, 500_000, 0, 1)
                        .ahead(9, 0)
                        .ask(2, 0)
                        .ask(159, 0)
                        .at(T, redis))
                .endsWith(2L, 9L, 0L, 0L, 0L, 148L, 0L, 500_000L, 1L, 1L);
    }

    @Test
    void those_granted_ahead_count_from_the_end_of_the_time_for_which_they_are_kept() {
        call().window(ROOT, 17, SECOND).ahead(1, 5_000).ask(1, 0).at(T, redis);
        assertThat(call().window(ROOT, 17, SECOND).ask(17, 0).at(T + SECOND, redis))
                .endsWith(16L, 5_000L, 1L, 1L);
        // And are found there when they are given back.
        call().window(ROOT, 17, SECOND).correct(1, T + 5_000, 0, 0, -1).at(T + SECOND, redis);
        assertThat(call().window(ROOT, 17, SECOND).ask(1, 0).at(T + SECOND, redis))
                .endsWith(1L, 0L, 0L, 0L);
    }

    @Test
    void a_bucket_takes_those_granted_ahead_at_the_end_of_the_time_for_which_they_are_kept() {
        call().bucket(ROOT, 1_000, 100, 0, 1).ahead(10, 5_000).ask(10, 0).at(T, redis);
        assertThat(call().bucket(ROOT, 1_000, 100, 0, 1).ask(1_000, 0).at(T + 5_000, redis))
                .endsWith(990L, 100L, 1L, 1L);
        redis.flushall();
        // By then a hundred times as many would be due as it holds.
        assertThat(call().bucket(ROOT, 100, 0, 1, 2)
                        .ahead(1, 5_000)
                        .ask(1, 0)
                        .ask(100, 0)
                        .at(T, redis))
                .endsWith(1L, 0L, 0L, 0L, 0L, 99L, 0L, 1L, 1L, 1L);
    }

    @Test
    void nothing_is_granted_ahead_of_a_key_that_opens_again_or_of_a_limit_that_is_spent() {
        call().window(ROOT, 1_000, SECOND).close(ROOT, 1, T).at(T, redis);
        assertThat(call().window(ROOT, 1_000, SECOND).ahead(1, 0).ask(1, 0).at(T + 1, redis))
                .endsWith(1L, 0L, 0L, 0L, 0L);
        redis.flushall();
        assertThat(call().window(ROOT, 1_000, SECOND)
                        .window(LEAF, 2, SECOND)
                        .ahead(1, 0)
                        .ask(3, 0)
                        .at(T, redis))
                .endsWith(2L, 0L, SECOND, 2L, 2L);
    }

    @Test
    void a_bucket_gains_evenly_and_waits_shorter_than_a_second_are_told() { // B34
        assertThat(call().bucket(ROOT, 1, 500_000, 0, 1).ask(2, 0).at(T, redis))
                .containsExactly(T, 0L, 1L, 500_000L, 1L, 1L);
        assertThat(call().bucket(ROOT, 1, 500_000, 0, 1).ask(1, 0).at(T + 499_999, redis))
                .endsWith(0L, 1L, 1L, 1L);
        assertThat(call().bucket(ROOT, 1, 500_000, 0, 1).ask(1, 0).at(T + 500_000, redis))
                .endsWith(1L, 0L, 0L, 0L);
    }

    @Test
    void a_hundred_at_twenty_per_second_are_a_hundred_and_ten_after_two_seconds_and_ten_calls() {
        long granted = 0;
        for (int i = 0; i < 100; i++) {
            granted += call().bucket(ROOT, 100, 50_000, 0, 1)
                    .ask(1, 0)
                    .at(T, redis)
                    .get(2);
        }
        for (int i = 0; i < 10; i++) {
            granted += call().bucket(ROOT, 100, 50_000, 0, 1)
                    .ask(1, 0)
                    .at(T + 2 * SECOND, redis)
                    .get(2);
        }
        assertThat(granted).isEqualTo(110);
        assertThat(call().bucket(ROOT, 100, 50_000, 0, 1).ask(99, 0).at(T + 2 * SECOND, redis))
                .endsWith(30L, 50_000L, 1L, 1L);
    }

    @Test
    void a_rate_that_no_microsecond_divides_neither_drifts_nor_is_passed() {
        // 7 per 3 s: 428571 3/7 µs each.
        long granted = 0;
        for (int i = 0; i <= 3_000; i++) {
            granted += call().bucket(ROOT, 1, 428_571, 3, 7)
                    .ask(1, 0)
                    .at(T + i * 428_572L, redis)
                    .get(2);
        }
        long within = 1 + 3_000L * 428_572 * 7 / 3_000_000;
        assertThat(granted).isBetween(within - 1, within);
    }

    @Test
    void times_of_today_are_stored_to_the_microsecond() { // B34
        call().bucket(ROOT, 1, 1, 0, 1).ask(1, 0).at(1_799_999_999_999_999L, redis);
        assertThat(redis.hget(ROOT, "bucket:b")).isEqualTo("1800000000000000 0 1799999999999999");
        call().window(LEAF, 1, 1).ask(1, 0).at(1_799_999_999_999_998L, redis);
        assertThat(redis.hget(LEAF, "window:w1")).isEqualTo("1799999999999999 1");
    }

    @Test
    void several_scopes_take_all_or_nothing_and_the_longest_wait_counts() {
        assertThat(call().window(ROOT, 10, 60 * SECOND)
                        .window(LEAF, 2, 10 * SECOND)
                        .ask(3, 0)
                        .at(T, redis))
                .containsExactly(T, 0L, 0L, 2L, 10 * SECOND, 2L, 2L);
        assertThat(redis.hget(ROOT, "window:w60000000")).isEqualTo((T + 60 * SECOND) + " 2");
        assertThat(call().window(ROOT, 2, 60 * SECOND)
                        .window(LEAF, 2, 10 * SECOND)
                        .ask(1, 0)
                        .at(T, redis))
                .endsWith(0L, 60 * SECOND, 1L, 1L);
        assertThat(redis.hget(LEAF, "window:w10000000")).isEqualTo((T + 10 * SECOND) + " 2");
    }

    @Test
    void asks_of_one_batch_are_decided_in_order() {
        ScriptCall both = call().window(ROOT, 3, SECOND);
        assertThat(both.ask(2, 0).ask(2, 0).at(T, redis)).containsExactly(T, 0L, 2L, 0L, 0L, 0L, 1L, SECOND, 1L, 1L);
    }

    @Test
    void heavy_demands_pay_their_cost() {
        assertThat(call().window(ROOT, 10, SECOND).askFor(3, 1, 4, 0).at(T, redis))
                .endsWith(2L, SECOND, 1L, 1L);
        assertThat(call().window(ROOT, 10, SECOND).askFor(3, 1, 1, 0).at(T, redis))
                .endsWith(2L, SECOND, 1L, 1L);
    }

    @Test
    void a_closed_key_grants_nothing_to_anybody_and_gains_nothing() {
        call().bucket(ROOT, 2, SECOND, 0, 1).ask(2, 0).at(T, redis);
        assertThat(call().bucket(ROOT, 2, SECOND, 0, 1).close(ROOT, 5 * SECOND).at(T, redis))
                .containsExactly(T, 5 * SECOND);
        assertThat(call().process("p2").bucket(ROOT, 2, SECOND, 0, 1).ask(1, 0).at(T + 2 * SECOND, redis))
                .endsWith(3 * SECOND, 0L, 4 * SECOND, 1L, 1L);
        assertThat(call().bucket(ROOT, 2, SECOND, 0, 1).ask(2, 0).at(T + 6 * SECOND, redis))
                .endsWith(1L, SECOND, 1L, 1L);
    }

    @Test
    void the_longest_closing_wins_and_opening_ends_it() {
        call().window(ROOT, 1, SECOND).close(ROOT, 5 * SECOND).at(T, redis);
        assertThat(call().window(ROOT, 1, SECOND).close(ROOT, SECOND).ask(1, 0).at(T, redis))
                .endsWith(5 * SECOND, 0L, 5 * SECOND, 1L, 0L);
        assertThat(call().window(ROOT, 1, SECOND).close(ROOT, -1).ask(1, 0).at(T, redis))
                .endsWith(-1L, 1L, 0L, 0L, 0L);
        assertThat(redis.hget(ROOT, "closed")).isNull();
    }

    @Test
    void what_a_crashed_process_held_is_free_after_its_lease_and_nothing_else_is() { // B57
        call().process("dead").lease(5 * SECOND).flight(ROOT, 3).ask(2, 0).at(T, redis);
        call().process("alive").lease(30 * SECOND).flight(ROOT, 3).ask(1, 0).at(T, redis);
        assertThat(call().process("alive").flight(ROOT, 3).ask(1, 0).at(T + 5 * SECOND - 1, redis))
                .endsWith(0L, -1L, 1L, 1L);
        assertThat(call().process("alive").flight(ROOT, 3).ask(9, 0).at(T + 5 * SECOND, redis))
                .endsWith(2L, -1L, 1L, 1L);
        // Late news of the dead frees nobody else's.
        assertThat(call().process("dead").flight(ROOT, 3).hold(1, 0).ask(1, 0).at(T + 6 * SECOND, redis))
                .endsWith(0L, -1L, 1L, 1L);
    }

    @Test
    void a_lease_is_renewed_for_as_long_as_its_holder_says_so() { // B57
        call().lease(5 * SECOND).flight(ROOT, 1).ask(1, 0).at(T, redis);
        for (int i = 1; i <= 10; i++) {
            call().lease(5 * SECOND).flight(ROOT, 1).hold(1, 1).at(T + i * 4L * SECOND, redis);
            assertThat(call().process("other").flight(ROOT, 1).ask(1, 0).at(T + i * 4L * SECOND, redis))
                    .endsWith(0L, -1L, 1L, 1L);
        }
        call().flight(ROOT, 1).hold(1, 0).at(T + 41 * SECOND, redis);
        assertThat(call().process("other").flight(ROOT, 1).ask(1, 0).at(T + 41 * SECOND, redis))
                .endsWith(1L, 0L, 0L, 0L);
    }

    @Test
    void a_budget_never_refills_and_is_never_forgotten() {
        assertThat(call().total(ROOT, 3).ask(5, 0).at(T, redis)).endsWith(3L, -1L, 1L, 1L);
        assertThat(redis.pttl(ROOT)).isEqualTo(-1);
        call().window(ROOT, 5, SECOND).ask(1, 0).at(T, redis);
        assertThat(redis.pttl(ROOT)).isEqualTo(-1);
        assertThat(call().total(ROOT, 3).correct(1, T, 0, 0, -1).ask(5, 0).at(T + 1, redis))
                .endsWith(1L, -1L, 1L, 1L);
    }

    @Test
    void a_key_lives_until_it_is_full_again_and_never_shorter() {
        call().window(ROOT, 5, 10 * SECOND).ask(1, SECOND).at(T, redis);
        assertThat(redis.pttl(ROOT)).isBetween(20_000L, 22_000L);
        call().bucket(ROOT, 5, 1, 0, 1).ask(1, 0).at(T, redis);
        assertThat(redis.pttl(ROOT)).isBetween(20_000L, 22_000L);
        call().bucket(LEAF, 1, 1, 0, 1).ask(1, 0).at(T, redis);
        assertThat(redis.pttl(LEAF)).isBetween(10_000L, 13_000L);
    }

    @Test
    void an_older_batch_is_refused_and_changes_nothing() {
        call().batch(1_000_000).window(ROOT, 5, SECOND).ask(1, 0).at(T, redis);
        assertThatThrownBy(() ->
                        call().batch(999_999).window(ROOT, 5, SECOND).ask(4, 0).at(T, redis))
                .isInstanceOf(RedisCommandExecutionException.class)
                .hasMessageContaining("STALE");
        assertThat(redis.hget(ROOT, "window:w1000000")).endsWith(" 1");
    }

    @Test
    void a_batch_that_nobody_waits_for_any_more_is_refused_and_changes_nothing() { // B30
        assertThatThrownBy(() ->
                        call().expires(T - 1).window(ROOT, 5, SECOND).ask(4, 0).at(T, redis))
                .isInstanceOf(RedisCommandExecutionException.class)
                .hasMessageContaining("EXPIRED " + T);
        assertThat(redis.keys("*")).isEmpty();
    }

    @Test
    void a_clock_that_goes_back_neither_refills_nor_stops_for_longer_than_it_went() { // B35
        call().bucket(ROOT, 1, SECOND, 0, 1).ask(1, 0).at(T, redis);
        assertThat(call().bucket(ROOT, 1, SECOND, 0, 1).ask(1, 0).at(T - 5 * SECOND, redis))
                .endsWith(0L, 6 * SECOND, 1L, 1L);
        call().window(LEAF, 1, SECOND).ask(1, 0).at(T, redis);
        assertThat(call().window(LEAF, 1, SECOND).ask(1, 0).at(T - 5 * SECOND, redis))
                .endsWith(0L, 6 * SECOND, 1L, 1L);
    }

    @Test
    void many_permits_share_few_entries_and_only_wait_longer_for_it() {
        ScriptCall first = call().window(ROOT, 1_000_000, 10 * SECOND, 10_000);
        first.ask(1, 0).at(T + 1, redis);
        for (int i = 0; i < 200; i++) {
            call().window(ROOT, 1_000_000, 10 * SECOND, 10_000).ask(3, 0).at(T + 100 + i, redis);
        }
        assertThat(redis.hget(ROOT, "window:w10000000")).isEqualTo((T + 10 * SECOND + 10_000) + " 601");
    }

    @Test
    void random_asks_never_pass_the_window_in_any_span() { // B59
        Random random = new Random(59);
        long[] grants = new long[10_000];
        int count = 0;
        long now = T;
        for (int i = 0; i < 5_000; i++) {
            now += random.nextInt(40_000);
            List<Long> reply = call().window(ROOT, 50, SECOND)
                    .ask(1 + random.nextInt(3), 0)
                    .at(now, redis);
            for (long granted = reply.get(2); granted > 0 && count < grants.length; granted--) {
                grants[count++] = now;
            }
        }
        for (int i = 50; i < count; i++) {
            assertThat(grants[i] - grants[i - 50]).isGreaterThanOrEqualTo(SECOND);
        }
        assertThat(count).isGreaterThan((int) ((now - T) / SECOND * 50 * 97 / 100));
    }

    @Test
    void the_servers_own_clock_decides_unless_another_is_given() {
        List<Long> reply = call().window(ROOT, 1, SECOND).ask(1, 0).onServerTime(redis);
        List<String> time = redis.time();
        long server = Long.parseLong(time.get(0)) * SECOND + Long.parseLong(time.get(1));
        assertThat(server - reply.get(0)).isBetween(0L, 60 * SECOND);
    }

    @Test
    void a_key_of_another_type_is_said_and_changed_by_nothing() {
        redis.set(ROOT, "something else");
        assertThatThrownBy(() -> call().window(ROOT, 1, SECOND).ask(1, 0).at(T, redis))
                .hasMessageContaining("WRONGTYPE");
        assertThat(redis.get(ROOT)).isEqualTo("something else");
    }

    /** The width of the ramp, as the script replies it. */
    private static long width(List<Long> reply) {
        return reply.get(4);
    }

    @Test
    void the_first_refusal_of_a_permit_after_the_last_wave_is_the_next_one_and_all_others_belong_to_it() {
        assertThat(call().close(ROOT, SECOND, T - 5).all(T, redis)).containsExactly(T, SECOND, T, 1L, 1L, 0L, 0L);
        // Those that were under way, heard by others.
        assertThat(call().process("p2").close(ROOT, 3 * SECOND, T - 1).all(T + 9, redis))
                .startsWith(T + 9, 3 * SECOND, T, 1L, 1L);
        assertThat(call().process("p2").close(ROOT, SECOND, T + 4 * SECOND).all(T + 5 * SECOND, redis))
                .startsWith(T + 5 * SECOND, SECOND, T + 5 * SECOND, 2L, 1L);
    }

    @Test
    void a_key_opens_with_one_probe_for_all_and_widens_by_clean_answers_until_its_limits_are_the_bound() {
        call().close(ROOT, SECOND, T - 5).at(T, redis);
        long open = T + SECOND;
        assertThat(call().window(ROOT, 9, SECOND).ask(5, 0).at(open, redis)).endsWith(1L, -1L, 1L, 0L);
        assertThat(call().process("p2").window(ROOT, 9, SECOND).ask(5, 0).at(open + 1, redis))
                .endsWith(0L, -1L, 1L, 0L);
        assertThat(width(call().ramp(ROOT, T, 0, 1, 9).all(open + 2, redis))).isEqualTo(2);
        assertThat(call().process("p2").window(ROOT, 99, SECOND).ask(5, 0).at(open + 3, redis))
                .endsWith(2L, -1L, 1L, 0L);
        assertThat(width(call().process("p2").ramp(ROOT, T, 0, 2, 9).all(open + 4, redis)))
                .isEqualTo(4);
        call().window(ROOT, 99, SECOND).ask(5, 0).at(open + 5, redis);
        assertThat(width(call().ramp(ROOT, T, 0, 4, 9).all(open + 6, redis))).isEqualTo(8);
        call().window(ROOT, 99, SECOND).ask(8, 0).at(open + 7, redis);
        assertThat(call().ramp(ROOT, T, 0, 8, 9).all(open + 8, redis)).startsWith(open + 8, 0L, T, 0L, 0L);
    }

    @Test
    void what_is_told_of_an_earlier_wave_has_no_place_in_the_ramp() {
        call().close(ROOT, SECOND, T - 5).at(T, redis);
        call().close(ROOT, SECOND, T + 1).at(T + 2, redis);
        assertThat(width(call().ramp(ROOT, T, 0, 1, 9).all(T + 3, redis))).isEqualTo(1);
        assertThat(width(call().ramp(ROOT, T + 2, 0, 1, 9).all(T + 4, redis))).isEqualTo(0);
    }

    @Test
    void a_probe_whose_process_is_gone_gives_its_place_back_after_the_lease() {
        call().close(ROOT, SECOND, T - 5).at(T, redis);
        long open = T + SECOND;
        call().process("dead")
                .lease(5 * SECOND)
                .window(ROOT, 9, SECOND)
                .ask(1, 0)
                .at(open, redis);
        assertThat(call().window(ROOT, 9, SECOND).ask(1, 0).at(open + 5 * SECOND - 1, redis))
                .endsWith(0L, -1L, 1L, 0L);
        assertThat(call().window(ROOT, 9, SECOND).ask(1, 0).at(open + 5 * SECOND, redis))
                .endsWith(1L, 0L, 0L, 0L);
    }

    @Test
    void a_usage_figure_is_there_for_all_with_the_time_it_was_told() {
        call().ramp(ROOT, 0, 0, 0, 0, 900).at(T, redis);
        assertThat(call().process("p2").window(ROOT, 1, SECOND).all(T + 5, redis))
                .containsExactly(T + 5, 0L, 0L, 0L, 0L, 900L, T);
    }

    @Test
    void a_key_that_is_forgotten_is_full_and_open_whatever_it_was() {
        call().window(ROOT, 2, SECOND).ask(2, 0).at(T, redis);
        call().total(ROOT, 2).close(ROOT, 50 * SECOND, T).ask(2, 0).at(T, redis);
        assertThat(call().batch(0).window(ROOT, 2, SECOND).close(ROOT, -2).all(T + 1, redis))
                .containsExactly(T + 1, -1L, 0L, 0L, 0L, 0L, 0L);
        assertThat(call().window(ROOT, 2, SECOND).ask(5, 0).at(T + 2, redis)).endsWith(2L, SECOND, 1L, 1L);
    }

    /** A window whose entries are rounded up to ten seconds, a bucket, one that spaces a window, and a total, of 2 each. */
    static List<UnaryOperator<ScriptCall>> kinds() {
        return List.of(
                call -> call.window(ROOT, 2, 100 * SECOND, 10 * SECOND),
                call -> call.bucket(ROOT, 2, SECOND, 0, 1),
                call -> call.spaced(ROOT, 2, SECOND, 100 * SECOND),
                call -> call.total(ROOT, 2));
    }

    private long closed(ScriptCall call, long at) {
        return call.window(ROOT, 2, SECOND).all(at, redis).get(1);
    }

    @Test
    void that_a_key_was_opened_by_hand_is_told_until_it_would_have_opened() {
        call().close(ROOT, 50 * SECOND, 0).close(ROOT, -1).at(T, redis);
        assertThat(closed(call(), T + 49 * SECOND)).isEqualTo(-1);
        assertThat(closed(call(), T + 50 * SECOND)).isZero();
    }

    @Test
    void or_until_it_is_closed_again() {
        call().close(ROOT, 50 * SECOND, 0).at(T, redis);
        call().batch(0).window(ROOT, 2, SECOND).close(ROOT, -2).at(T + SECOND, redis);
        assertThat(closed(call(), T + 2 * SECOND)).isEqualTo(-1);
        call().close(ROOT, 5 * SECOND, 0).at(T + 3 * SECOND, redis);
        assertThat(closed(call(), T + 4 * SECOND)).isEqualTo(4 * SECOND);
        assertThat(closed(call(), T + 9 * SECOND)).isZero();
    }

    @Test
    void a_key_that_was_lost_or_was_never_closed_is_not_opened() {
        call().close(ROOT, 50 * SECOND, 0).at(T, redis);
        redis.flushall();
        assertThat(closed(call(), T + 1)).isZero();
        call().close(ROOT, -1).at(T + 2, redis);
        assertThat(closed(call(), T + 3)).isZero();
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void what_was_granted_before_a_key_was_forgotten_is_corrected_no_more(UnaryOperator<ScriptCall> limit) {
        limit.apply(call()).ask(2, 0).at(T, redis);
        limit.apply(call()).batch(0).close(ROOT, -2).at(T + 10, redis);
        limit.apply(call()).ask(2, 0).at(T + 20, redis);
        assertThat(granted(limit.apply(call())
                        .correct(1, T, T + 20, 0, 0, -2)
                        .ask(1, 0)
                        .at(T + 30, redis)))
                .isZero();
        limit.apply(call()).correct(1, T, T + 20, 0, 0, 9).at(T + 40, redis);
        assertThat(granted(limit.apply(call())
                        .correct(1, T + 20, T + 20, 0, 0, -2)
                        .ask(3, 0)
                        .at(T + 50, redis)))
                .isEqualTo(2);
    }

    private static long granted(List<Long> reply) {
        return reply.get(reply.size() - 4);
    }

    @Test
    void that_a_key_was_forgotten_is_known_for_a_day_and_as_long_as_its_totals() {
        call().window(ROOT, 2, SECOND).ask(2, 0).at(T, redis);
        call().batch(0).window(ROOT, 2, SECOND).close(ROOT, -2).at(T + 10, redis);
        assertThat(redis.pttl(ROOT)).isBetween(86_400_000L, 86_412_000L);
        call().batch(0).total(ROOT, 2).close(ROOT, -2).at(T + 20, redis);
        assertThat(redis.pttl(ROOT)).isEqualTo(-1);
    }

    @Test
    void what_is_left_is_told_to_who_wants_to_know_and_nothing_is_taken_by_looking() {
        call().window(ROOT, 5, 10 * SECOND)
                .bucket(ROOT, 9, SECOND, 0, 1)
                .ask(2, 0)
                .at(T, redis);
        for (int i = 0; i < 2; i++) {
            assertThat(call().batch(0)
                            .window(ROOT, 5, 10 * SECOND)
                            .bucket(ROOT, 9, SECOND, 0, 1)
                            .withFigures()
                            .askFor(0, 1, 1, 0)
                            .askFor(0, 2, 1, 0)
                            .at(T + SECOND, redis))
                    .containsExactly(T + SECOND, 0L, 0L, 0L, 0L, 1L, 3L, 9 * SECOND, 0L, 0L, 0L, 2L, 8L, SECOND);
        }
    }
}
