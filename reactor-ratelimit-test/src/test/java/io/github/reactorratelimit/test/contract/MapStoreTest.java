package io.github.reactorratelimit.test.contract;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterSpec;
import io.github.reactorratelimit.test.VirtualTime;
import io.github.reactorratelimit.test.contract.MapStore.Fault;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Nested;

/** A store that a user wrote keeps the contracts of those who do. */
class MapStoreTest {

    /** How the store errs, for {@link BrokenStoresTest}. */
    static Fault fault = Fault.NONE;

    /** Time and books of one test. */
    static final class Shop {

        private final VirtualTime time = VirtualTime.startingAt(Instant.EPOCH);
        private MapStore store = empty();

        private MapStore empty() {
            return new MapStore(() -> time.scheduler().now(TimeUnit.NANOSECONDS), fault);
        }

        /** Over empty books. */
        RateLimiter limiter(RateLimiterSpec spec) {
            store = empty();
            return process(spec);
        }

        /** Over the same books as the process before. */
        RateLimiter process(RateLimiterSpec spec) {
            store = store.another();
            return spec.scheduler(time::scheduler).build(store);
        }

        void advance(Duration span) {
            time.advance(span);
        }
    }

    @Nested
    class ALimiter extends RateLimiterContract {
        private final Shop shop = new Shop();

        @Override
        protected RateLimiter limiter(RateLimiterSpec spec) {
            return shop.limiter(spec);
        }

        @Override
        protected void advance(Duration span) {
            shop.advance(span);
        }
    }

    @Nested
    class EveryLimit extends LimitContract {
        private final Shop shop = new Shop();

        @Override
        protected RateLimiter limiter(RateLimiterSpec spec) {
            return shop.limiter(spec);
        }

        @Override
        protected void advance(Duration span) {
            shop.advance(span);
        }
    }

    @Nested
    class ForManyProcesses extends LimitStoreContract {
        private final Shop shop = new Shop();

        @Override
        protected RateLimiter process(RateLimiterSpec spec) {
            return shop.process(spec);
        }

        @Override
        protected void advance(Duration span) {
            shop.advance(span);
        }
    }
}
