package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;

import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import org.junit.jupiter.api.Nested;

class EveryLimitTest {

    @Nested
    class Window extends LimitContract {
        @Override
        Limit limit() {
            return Limit.of(7, ofSeconds(3));
        }
    }

    @Nested
    class StrictWindow extends LimitContract {
        @Override
        Limit limit() {
            return Limit.of(5, ofMillis(100)).strict();
        }
    }

    @Nested
    class WindowWithHeadroom extends LimitContract {
        @Override
        Limit limit() {
            return Limit.of(60, ofSeconds(60)).headroom(0.9);
        }
    }

    @Nested
    class LargeWindow extends LimitContract {
        @Override
        Limit limit() {
            return Limit.of(1_200, ofSeconds(2)).unit("points");
        }
    }

    @Nested
    class WindowWithBurst extends LimitContract {
        @Override
        Limit limit() {
            return Limit.of(7, ofSeconds(3)).burst(4);
        }
    }

    @Nested
    class WholeBurst extends LimitContract {
        @Override
        Limit limit() {
            return Limit.of(7, ofSeconds(3)).burst(7);
        }
    }

    @Nested
    class Calendar extends LimitContract {
        @Override
        Limit limit() {
            return Limit.calendar(7, ChronoUnit.MINUTES, ZoneOffset.UTC);
        }
    }

    @Nested
    class Smooth extends LimitContract {
        @Override
        Limit limit() {
            return Limit.of(7, ofSeconds(3)).smooth();
        }
    }

    @Nested
    class Bucket extends LimitContract {
        @Override
        Limit limit() {
            return Limit.bucket(10, 7, ofSeconds(3));
        }
    }

    @Nested
    class BorrowingBucket extends LimitContract {
        @Override
        Limit limit() {
            return Limit.bucket(4, 1, ofSeconds(7)).borrowing();
        }
    }

    @Nested
    class FastBucket extends LimitContract {
        @Override
        Limit limit() {
            return Limit.bucket(20, 3_000_000_000L, ofSeconds(1));
        }
    }

    @Nested
    class InFlight extends LimitContract {
        @Override
        Limit limit() {
            return Limit.inFlight(6);
        }
    }

    @Nested
    class Total extends LimitContract {
        @Override
        Limit limit() {
            return Limit.total(100);
        }
    }
}
