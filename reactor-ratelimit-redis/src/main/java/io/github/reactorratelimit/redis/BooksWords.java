package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.LimitStore.Books;
import io.github.reactorratelimit.LimitStore.Kind;
import java.math.BigInteger;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** A limit's books as the script is told of them: key, field, kind and figures, in microseconds. */
final class BooksWords {

    /** Lua's numbers are exact up to 2^53. */
    private static final long LARGEST = 1L << 52;

    private static final long FINEST = 1L << 24;
    private static final long EXACT_UP_TO = 1_000;
    private static final int KEPT = 1_024;

    /** They are the same for nearly every call. */
    private final Map<Books, String> known = new ConcurrentHashMap<>();

    String of(Books books) {
        String words = known.get(books);
        if (words == null) {
            words = written(books);
            if (known.size() >= KEPT) {
                known.clear();
            }
            known.put(books, words);
        }
        return words;
    }

    private static String written(Books books) {
        String lane = books.lane() == null ? "" : ":" + KeyNames.written(books.lane(), false);
        String kind = books.kind().name().toLowerCase(Locale.ROOT);
        String name = kind + ":" + KeyNames.written(books.unit(), false);
        long permits = books.permits();
        int key = books.key() + 1;
        return switch (books.kind()) {
            case WINDOW -> {
                long span = ScriptWords.up(books.spanNanos());
                long grain = permits > EXACT_UP_TO ? Math.max(1, span / 1_000) : 1;
                String field = name + ":" + span + lane;
                yield line(key, field, kind, within("permits", permits), within("a period", span), grain);
            }
            case BUCKET -> bucket(books, key, name, lane);
            case QUOTA -> line(key, QuotaNames.written(books), kind, within("permits", permits));
            case FLIGHT, TOTAL -> {
                String field = name + (books.kind() == Kind.FLIGHT ? ":" + permits : "") + lane;
                yield line(key, field, kind, within("permits", permits));
            }
        };
    }

    private static String bucket(Books books, int key, String name, String lane) {
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
        String field = name + ":" + micros + "+" + rest + "/" + rate + lane;
        long borrows = books.borrows() ? 1 : 0;
        return line(
                key,
                field,
                "bucket",
                burst,
                micros,
                rest.longValueExact(),
                rate.longValueExact(),
                books.initial(),
                borrows,
                ScriptWords.up(books.spanNanos()));
    }

    private static String line(int key, String field, String kind, long... figures) {
        StringBuilder line = new StringBuilder()
                .append(key)
                .append(' ')
                .append(field)
                .append(' ')
                .append(kind);
        for (long figure : figures) {
            line.append(' ').append(figure);
        }
        return line.toString();
    }

    private static long within(String what, long value) {
        if (value > LARGEST) {
            throw new IllegalArgumentException("of a shared limit " + what + " must be below 2^52, was " + value);
        }
        return value;
    }
}
