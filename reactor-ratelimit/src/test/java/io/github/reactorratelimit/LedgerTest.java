package io.github.reactorratelimit;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class LedgerTest {

    @Test
    void amounts_of_one_time_share_a_slot() {
        Ledger ledger = new Ledger(0);
        ledger.append(5, 1);
        ledger.append(5, 2);
        ledger.append(6, 4);
        assertThat(entries(ledger)).isEqualTo(Map.of(5L, 3L, 6L, 4L));
    }

    @Test
    void a_slot_of_a_coarse_ledger_counts_as_its_latest_and_is_no_longer_than_its_grain() {
        Ledger ledger = new Ledger(10);
        for (int time = 0; time <= 25; time += 5) {
            ledger.append(time, 1);
        }
        assertThat(entries(ledger)).isEqualTo(Map.of(10L, 3L, 25L, 3L));
    }

    @Test
    void a_coarse_ledger_never_holds_more_than_two_slots_per_grain() {
        Ledger ledger = new Ledger(1_000);
        Random random = new Random(1);
        long time = 0;
        for (int i = 0; i < 1_000_000; i++) {
            time += random.nextInt(3);
            ledger.append(time, 1);
            while (ledger.time(0) < time - 100_000) {
                ledger.removeFirst();
            }
        }
        assertThat(ledger.size()).isLessThanOrEqualTo(101);
    }

    @Test
    void only_an_amount_of_that_very_time_is_corrected_down() {
        Ledger ledger = new Ledger(0);
        ledger.append(5, 3);
        ledger.append(9, 3);
        assertThat(ledger.adjust(4, -1)).isZero();
        assertThat(ledger.adjust(7, -1)).isZero();
        assertThat(ledger.adjust(10, -1)).isZero();
        assertThat(ledger.adjust(9, -2)).isEqualTo(-2);
        assertThat(ledger.adjust(9, -2)).as("no further than to zero").isEqualTo(-1);
        assertThat(entries(ledger)).isEqualTo(Map.of(5L, 3L));
    }

    @Test
    void the_first_slot_is_never_an_empty_one() {
        Ledger ledger = new Ledger(0);
        ledger.append(5, 1);
        ledger.append(7, 2);
        ledger.append(9, 3);
        ledger.adjust(7, -2);
        ledger.removeFirst();
        assertThat(ledger.time(0)).isEqualTo(9);
        assertThat(entries(ledger)).isEqualTo(Map.of(9L, 3L));
    }

    @Test
    void what_was_not_there_is_entered_in_its_place() {
        Ledger ledger = new Ledger(0);
        ledger.append(5, 3);
        ledger.append(9, 3);
        for (long time : new long[] {7, 4, 12}) {
            assertThat(ledger.adjust(time, 2)).isEqualTo(2);
        }
        assertThat(entries(ledger)).isEqualTo(Map.of(4L, 2L, 5L, 3L, 7L, 2L, 9L, 3L, 12L, 2L));
    }

    @Test
    void it_agrees_with_a_sorted_map_over_a_million_random_steps() {
        Ledger ledger = new Ledger(0);
        TreeMap<Long, Long> map = new TreeMap<>();
        Random random = new Random(7);
        long time = 0;
        for (int i = 0; i < 1_000_000; i++) {
            switch (random.nextInt(6)) {
                case 0, 1 -> {
                    time += random.nextInt(3);
                    long amount = 1L + random.nextInt(4);
                    ledger.append(time, amount);
                    map.merge(time, amount, Long::sum);
                }
                case 2, 3 -> {
                    long at = time - random.nextInt(40);
                    long delta = random.nextInt(9) - 6L;
                    long before = map.getOrDefault(at, 0L);
                    long after = Math.max(0, before + delta);
                    assertThat(ledger.adjust(at, delta)).isEqualTo(after - before);
                    map.put(at, after);
                }
                default -> {
                    if (ledger.size() > 20) {
                        map.headMap(ledger.time(0), true).clear();
                        ledger.removeFirst();
                    }
                }
            }
            time = Math.max(time, map.isEmpty() ? 0 : map.lastKey());
            if (i % 1_000 == 0) {
                map.values().removeIf(amount -> amount == 0);
                assertThat(entries(ledger)).isEqualTo(map);
            }
        }
    }

    private static Map<Long, Long> entries(Ledger ledger) {
        Map<Long, Long> entries = new TreeMap<>();
        long before = Long.MIN_VALUE;
        for (int i = 0; i < ledger.size(); i++) {
            assertThat(ledger.time(i)).as("times rise").isGreaterThan(before);
            before = ledger.time(i);
            if (ledger.amount(i) > 0) {
                entries.put(ledger.time(i), ledger.amount(i));
            }
        }
        return entries;
    }
}
