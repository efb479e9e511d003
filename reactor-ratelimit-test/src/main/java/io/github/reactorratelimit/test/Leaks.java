package io.github.reactorratelimit.test;

import io.github.reactorratelimit.RateLimiterSnapshot;
import io.github.reactorratelimit.RateLimiterSnapshot.LimitState;
import io.github.reactorratelimit.RateLimiterSnapshot.LineState;
import io.github.reactorratelimit.RateLimiterSnapshot.ScopeState;
import java.util.ArrayList;
import java.util.List;

/** What a limiter still has though all calls are over, a sentence each. */
final class Leaks {

    private Leaks() {}

    static List<String> of(RateLimiterSnapshot snapshot) {
        List<String> leaks = new ArrayList<>();
        for (ScopeState scope : snapshot.scopes()) {
            String where = "limiter '" + snapshot.limiter() + "', "
                    + (scope.keys().isEmpty() ? "root" : "key " + String.join(" / ", scope.keys()));
            for (LimitState limit : scope.limits()) {
                if (limit.held() != 0) {
                    leaks.add(where + ", limit " + limit.limit() + ": " + limit.held()
                            + " still held by permits that were not released");
                }
            }
            for (LineState line : scope.lines()) {
                leaks.add(where + ", lane " + line.lane() + ": " + line.waiting() + " still waiting for "
                        + (line.blockedBy() == null ? "a cooldown or another key's turn" : line.blockedBy()));
            }
        }
        if (snapshot.timers() != 0) {
            leaks.add("limiter '" + snapshot.limiter() + "': " + snapshot.timers()
                    + " still set of its timers (deadlines, backoffs, timeouts, parked lines)");
        }
        return leaks;
    }
}
