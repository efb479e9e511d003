package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.LimitStore.Ask;
import io.github.reactorratelimit.LimitStore.Batch;
import io.github.reactorratelimit.LimitStore.Books;
import io.github.reactorratelimit.LimitStore.Closing;
import io.github.reactorratelimit.LimitStore.Correction;
import io.github.reactorratelimit.LimitStore.Holding;
import io.github.reactorratelimit.LimitStore.Kind;
import io.github.reactorratelimit.LimitStore.Part;
import io.github.reactorratelimit.LimitStore.Ramping;
import io.github.reactorratelimit.LimitStore.Terms;
import io.github.reactorratelimit.LimitStore.Word;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** A batch as the script's KEYS and ARGV, in microseconds; its header says what stands where. */
final class ScriptWords {

    /** Lua's numbers are exact up to 2^53. */
    private static final long LARGEST = 1L << 52;

    private static final long FINEST = 1L << 24;
    private static final long EXACT_UP_TO = 1_000;

    private final List<String> keys = new ArrayList<>();
    private final List<String> words = new ArrayList<>();

    ScriptWords(Batch batch, String now, String process, String processKey, long expires, Terms terms) {
        keys.add(processKey);
        keys.addAll(batch.keys());
        word(now);
        word(batch.number());
        word(expires);
        word(process);
        word(up(terms.lease().toNanos()));
        word(batch.learns() ? 1 : 0);
        word(batch.books().size());
        batch.books().forEach(this::books);
        word(batch.closings().size());
        for (Closing closing : batch.closings()) {
            long micros = closing.nanos() < 0 ? closing.nanos() : up(closing.nanos());
            words(closing.key() + 1, micros, closing.refusedNanos() / 1_000);
        }
        word(batch.holdings().size());
        for (Holding holding : batch.holdings()) {
            words(holding.books() + 1, holding.held());
        }
        word(batch.corrections().size());
        for (Correction one : batch.corrections()) {
            words(
                    one.books() + 1,
                    one.baseNanos() / 1_000,
                    one.counted(),
                    Math.floorDiv(one.ageNanos(), 1_000L),
                    one.delta());
        }
        word(batch.ramps().size());
        for (Ramping one : batch.ramps()) {
            long wave = one.waveNanos() / 1_000;
            words(one.key() + 1, wave, one.held(), one.clean(), one.normal(), one.usagePerMille());
        }
        word(batch.words().size());
        for (Word one : batch.words()) {
            words(one.books() + 1, one.left(), one.earliestNanos() / 1_000, up(one.latestNanos()));
        }
        word(batch.asks().size());
        batch.asks().forEach(this::ask);
    }

    private void books(Books books) {
        word(books.key() + 1);
        String lane = books.lane() == null ? "" : ":" + KeyNames.written(books.lane(), false);
        String name = books.kind().name().toLowerCase(Locale.ROOT) + ":" + KeyNames.written(books.unit(), false);
        String kind = books.kind().name().toLowerCase(Locale.ROOT);
        switch (books.kind()) {
            case WINDOW -> {
                long span = up(books.spanNanos());
                long grain = books.permits() > EXACT_UP_TO ? Math.max(1, span / 1_000) : 1;
                word(name + ":" + span + lane);
                word(kind);
                words(within("permits", books.permits()), within("a period", span), grain);
            }
            case BUCKET -> bucket(books, name, lane);
            case QUOTA -> {
                word(QuotaNames.written(books));
                word(kind);
                words(within("permits", books.permits()));
            }
            case FLIGHT, TOTAL -> {
                word(name + (books.kind() == Kind.FLIGHT ? ":" + books.permits() : "") + lane);
                word(kind);
                words(within("permits", books.permits()));
            }
        }
    }

    private void bucket(Books books, String name, String lane) {
        BigInteger under = BigInteger.valueOf(books.ratePermits()).multiply(BigInteger.valueOf(1_000));
        BigInteger[] parts = BigInteger.valueOf(books.rateNanos()).divideAndRemainder(under);
        BigInteger common = parts[1].gcd(under);
        BigInteger rest = parts[1].divide(common);
        BigInteger rate = under.divide(common);
        while (rate.bitLength() > 24) { // On the slow side.
            rest = rest.shiftRight(1).add(BigInteger.ONE);
            rate = rate.shiftRight(1);
        }
        long micros = within("the time of a permit", parts[0].longValueExact());
        long burst = books.permits();
        if (burst > LARGEST / FINEST || (micros > 0 && burst > LARGEST / micros)) {
            throw new IllegalArgumentException("a shared bucket must hold at most " + LARGEST / FINEST
                    + " permits and be full within a century, was " + books);
        }
        word(name + ":" + micros + "+" + rest + "/" + rate + lane);
        word("bucket");
        words(burst, micros, rest.longValueExact(), rate.longValueExact(), books.initial(), books.borrows() ? 1 : 0);
        word(up(books.spanNanos()));
    }

    private void ask(Ask ask) {
        words(ask.times(), ask.figures() ? 1 : 0, ask.keys().size());
        ask.keys().forEach(key -> word(key + 1));
        word(ask.parts().size());
        for (Part part : ask.parts()) {
            words(part.books() + 1, part.cost(), up(part.transitNanos()));
        }
    }

    private static long within(String what, long value) {
        if (value > LARGEST) {
            throw new IllegalArgumentException("of a shared limit " + what + " must be below 2^52, was " + value);
        }
        return value;
    }

    private static long up(long nanos) {
        return nanos / 1_000 + (nanos % 1_000 == 0 ? 0 : 1);
    }

    private void words(long... figures) {
        for (long figure : figures) {
            word(figure);
        }
    }

    private void word(long figure) {
        words.add(Long.toString(figure));
    }

    private void word(String text) {
        words.add(text);
    }

    String[] keys() {
        return keys.toArray(String[]::new);
    }

    String[] arguments() {
        return words.toArray(String[]::new);
    }
}
