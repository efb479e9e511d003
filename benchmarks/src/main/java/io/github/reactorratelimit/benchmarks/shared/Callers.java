package io.github.reactorratelimit.benchmarks.shared;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;

/**
 * A closed loop of independent subscribers: each asks for its next permit when it has one. No operator that holds many of
 * them together, whose own bookkeeping would be measured too; for the same reason the clock is read for a sample of the
 * permits only: two reads of it cost as much as a third of the fastest contender's permit. All permits are counted.
 */
final class Callers {

    /** One in so many is timed. */
    private static final int SAMPLED = 16;

    private final Publisher<?> permit;
    private final Latencies latencies = new Latencies();
    private final LongAdder permits = new LongAdder();
    private final CountDownLatch ended;
    private volatile boolean over;
    private volatile boolean measuring;

    private Callers(Publisher<?> permit, int count) {
        this.permit = permit;
        this.ended = new CountDownLatch(count);
    }

    /** What came while it was measured. */
    record Measured(long permits, Latencies latencies) {}

    static Measured run(Publisher<?> permit, int count, long warmUpMillis, long millis) throws InterruptedException {
        Callers callers = new Callers(permit, count);
        for (int i = 0; i < count; i++) {
            callers.new Caller().goOn();
        }
        TimeUnit.MILLISECONDS.sleep(warmUpMillis);
        callers.measuring = true;
        TimeUnit.MILLISECONDS.sleep(millis);
        callers.measuring = false;
        callers.over = true;
        callers.ended.await(10, TimeUnit.SECONDS);
        return new Measured(callers.permits.sum(), callers.latencies);
    }

    private final class Caller implements CoreSubscriber<Object> {

        /** Answers that came while it was asking: it goes on below them, never deeper. */
        private final AtomicInteger due = new AtomicInteger();

        private int asked;
        private long askedAt;
        private boolean got;
        /** While it was measured. */
        private long counted;

        void goOn() {
            if (due.getAndIncrement() > 0) {
                return;
            }
            do {
                if (over) {
                    permits.add(counted);
                    ended.countDown();
                    return;
                }
                got = false;
                if (asked++ % SAMPLED == 0) {
                    askedAt = System.nanoTime();
                }
                permit.subscribe(this);
            } while (due.decrementAndGet() > 0);
        }

        @Override
        public void onSubscribe(Subscription subscription) {
            subscription.request(Long.MAX_VALUE);
        }

        @Override
        public void onNext(Object granted) {
            got = !Boolean.FALSE.equals(granted);
        }

        @Override
        public void onError(Throwable error) {
            goOn();
        }

        @Override
        public void onComplete() {
            if (got && measuring) {
                counted++;
                if (asked % SAMPLED == 1) {
                    latencies.add(System.nanoTime() - askedAt);
                }
            }
            goOn();
        }
    }
}
