package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.LimitStore.Books;
import io.github.reactorratelimit.LimitStore.Quota;
import java.util.List;

/** How a quota is called in a key's hash, {@code quota:unit:size:window:name}, from which others read what it is. */
final class QuotaNames {

    private QuotaNames() {}

    /** The core names no quota that isn't plain. */
    static String written(Books quota) {
        return "quota:" + quota.unit() + ":" + quota.permits() + ":" + quota.spanNanos() + ":" + quota.name();
    }

    static Quota read(String field, long left, long nanos) {
        List<String> words = List.of(field.split(":", 5));
        return new Quota(
                words.get(4), words.get(1), Long.parseLong(words.get(2)), Long.parseLong(words.get(3)), left, nanos);
    }
}
