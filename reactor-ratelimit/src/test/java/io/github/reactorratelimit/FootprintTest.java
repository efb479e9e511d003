package io.github.reactorratelimit;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import org.junit.jupiter.api.Test;

/** How much memory a call takes. There may be very many. */
class FootprintTest {

    private static final int HEADER = 12;
    private static final int REFERENCE = 4;

    /** What the fields of a class take where references are compressed, without any gaps between them. */
    private static int bytesOf(Class<?> type) {
        int bytes = HEADER;
        for (Class<?> each = type; each != null; each = each.getSuperclass()) {
            for (Field field : each.getDeclaredFields()) {
                if (!Modifier.isStatic(field.getModifiers())) {
                    bytes += bytesOf(field);
                }
            }
        }
        return bytes;
    }

    private static int bytesOf(Field field) {
        Class<?> type = field.getType();
        if (!type.isPrimitive()) {
            return REFERENCE;
        }
        if (type == boolean.class || type == byte.class) {
            return Byte.BYTES;
        }
        return type == long.class || type == double.class ? Long.BYTES : Integer.BYTES;
    }

    @Test
    void an_attempt_is_ticket_permit_and_subscriber_in_120_bytes() {
        assertThat(bytesOf(Attempt.class)).isLessThanOrEqualTo(120);
    }
}
