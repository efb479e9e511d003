package io.github.reactorratelimit.spring;

import io.netty.util.ReferenceCounted;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.springframework.core.io.Resource;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.http.HttpEntity;
import org.springframework.http.codec.multipart.Part;
import org.springframework.util.ClassUtils;
import reactor.core.Fuseable;

/** Knows which bodies can be sent once only; what it does not know is one of them. */
final class OneShot {

    private static final boolean NETTY =
            ClassUtils.isPresent("io.netty.util.ReferenceCounted", OneShot.class.getClassLoader());

    private OneShot() {}

    /** A source that is a value or asks for one each time can be subscribed again. */
    static boolean is(Publisher<?> source) {
        if (!(source instanceof Callable<?> supply)) {
            return true;
        }
        if (!(source instanceof Fuseable.ScalarCallable)) {
            return false;
        }
        try {
            return isUsedUp(supply.call());
        } catch (Exception e) {
            return false; // It fails, and will each time.
        }
    }

    /** A value that is gone once it is written. */
    private static boolean isUsedUp(@Nullable Object value) {
        if (value instanceof DataBuffer || (NETTY && Counted.is(value))) {
            return true;
        }
        if (value instanceof Publisher<?> source) {
            return is(source);
        }
        if (value instanceof Resource resource) {
            return resource.isOpen();
        }
        // A part of somebody else's request; a stream of whatever kind.
        if (value instanceof Part || value instanceof AutoCloseable || value instanceof Iterator) {
            return true;
        }
        return value instanceof Map<?, ?> parts && parts.values().stream().anyMatch(OneShot::isPartUsedUp);
    }

    /** A part of a form: a list of values, or of entities around values or publishers. */
    private static boolean isPartUsedUp(Object values) {
        if (!(values instanceof Iterable<?> each)) {
            return false;
        }
        for (Object value : each) {
            if (isUsedUp(value instanceof HttpEntity<?> entity ? entity.getBody() : value)) {
                return true;
            }
        }
        return false;
    }

    /** Apart, so that Netty's classes are looked for only where they are. */
    private static final class Counted {
        static boolean is(@Nullable Object value) {
            return value instanceof ReferenceCounted;
        }
    }
}
