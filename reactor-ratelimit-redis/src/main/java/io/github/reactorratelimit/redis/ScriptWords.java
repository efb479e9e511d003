package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.LimitStore.Ask;
import io.github.reactorratelimit.LimitStore.Batch;
import io.github.reactorratelimit.LimitStore.Books;
import io.github.reactorratelimit.LimitStore.Closing;
import io.github.reactorratelimit.LimitStore.Correction;
import io.github.reactorratelimit.LimitStore.Holding;
import io.github.reactorratelimit.LimitStore.Part;
import io.github.reactorratelimit.LimitStore.Ramping;
import io.github.reactorratelimit.LimitStore.Terms;
import io.github.reactorratelimit.LimitStore.Word;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/** A batch as the script's KEYS and its line of words, in microseconds; its header says what stands where. */
final class ScriptWords {

    private final List<String> keys = new ArrayList<>();
    private final StringBuilder line = new StringBuilder(256);

    ScriptWords(
            Batch batch,
            String now,
            String process,
            String processKey,
            long expires,
            Terms terms,
            Function<Books, String> books) {
        keys.add(processKey);
        keys.addAll(batch.keys());
        word(now);
        word(batch.number());
        word(expires);
        word(process);
        word(up(terms.lease().toNanos()));
        word(batch.learns() ? 1 : 0);
        word(batch.books().size());
        for (Books each : batch.books()) {
            word(books.apply(each));
        }
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
                    one.grantedNanos() / 1_000,
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

    private void ask(Ask ask) {
        words(
                ask.times(),
                ask.ahead(),
                up(ask.keptNanos()),
                ask.figures() ? 1 : 0,
                ask.keys().size());
        ask.keys().forEach(key -> word(key + 1));
        word(ask.parts().size());
        for (Part part : ask.parts()) {
            words(part.books() + 1, part.cost(), up(part.transitNanos()));
        }
    }

    static long up(long nanos) {
        return nanos / 1_000 + (nanos % 1_000 == 0 ? 0 : 1);
    }

    private void words(long... figures) {
        for (long figure : figures) {
            word(figure);
        }
    }

    private void word(long figure) {
        next().append(figure);
    }

    private void word(String text) {
        next().append(text);
    }

    private StringBuilder next() {
        return line.length() == 0 ? line : line.append(' ');
    }

    String[] keys() {
        return keys.toArray(String[]::new);
    }

    String line() {
        return line.toString();
    }
}
