package io.github.reactorratelimit.netty;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import io.netty.buffer.ByteBufAllocator;
import io.netty.util.ResourceLeakDetector;
import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.slf4j.LoggerFactory;

/** Fails a test class during which a buffer was forgotten, as Netty's leak detector tells it. */
final class NoLeaks implements BeforeAllCallback, AfterAllCallback {

    private final Records records = new Records();

    @Override
    public void beforeAll(ExtensionContext context) {
        listen();
    }

    @Override
    public void afterAll(ExtensionContext context) {
        List<String> found = stopListening();
        if (!found.isEmpty()) {
            throw new AssertionError("Netty reports leaks:\n" + String.join("\n", found));
        }
    }

    void listen() {
        if (ResourceLeakDetector.getLevel() != ResourceLeakDetector.Level.PARANOID) {
            throw new IllegalStateException("run with -Dio.netty.leakDetection.level=paranoid");
        }
        records.start();
        logger().addAppender(records);
        // What is found fails the tests, so it need not be printed too.
        logger().setAdditive(false);
    }

    List<String> stopListening() {
        collectGarbage();
        // The detector looks for what was lost whenever something new is handed out.
        for (int i = 0; i < 100; i++) {
            ByteBufAllocator.DEFAULT.buffer(16).release();
        }
        logger().detachAppender(records);
        logger().setAdditive(true);
        return List.copyOf(records.found);
    }

    /** What a collection finds is queued by another thread; once the second one is queued, all of the first one is. */
    private static void collectGarbage() {
        for (int i = 0; i < 2; i++) {
            ReferenceQueue<Object> queue = new ReferenceQueue<>();
            PhantomReference<Object> canary = new PhantomReference<>(new Object(), queue);
            try {
                Reference<?> queued = null;
                for (int tries = 0; tries < 100 && queued == null; tries++) {
                    System.gc();
                    queued = queue.remove(100);
                }
                if (queued != canary) {
                    throw new IllegalStateException("the garbage was not collected");
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException(e);
            }
        }
    }

    private static Logger logger() {
        return (Logger) LoggerFactory.getLogger(ResourceLeakDetector.class);
    }

    private static final class Records extends AppenderBase<ILoggingEvent> {

        private final List<String> found = new CopyOnWriteArrayList<>();

        @Override
        protected void append(ILoggingEvent event) {
            if (event.getFormattedMessage().startsWith("LEAK:")) {
                found.add(event.getFormattedMessage());
            }
        }
    }
}
