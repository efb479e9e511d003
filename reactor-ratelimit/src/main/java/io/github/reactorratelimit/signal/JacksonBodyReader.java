package io.github.reactorratelimit.signal;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import java.io.IOException;

/**
 * A {@link BodyReader} over Jackson's streaming parser: no tree is built and no name is kept, so a hostile body costs its
 * bytes only. Those who ask for a body bound it in bytes; Jackson's own bounds would let one part of it hide the next.
 */
final class JacksonBodyReader implements BodyReader {

    private final JsonFactory factory = factory();

    private static JsonFactory factory() {
        JsonFactoryBuilder builder = new JsonFactoryBuilder()
                .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
                .disable(JsonFactory.Feature.CANONICALIZE_FIELD_NAMES);
        try {
            Unbounded.make(builder);
        } catch (LinkageError old) {
            // before 2.15 Jackson has no bounds that could be lifted, and before 2.16 none on names
        }
        return builder.build();
    }

    @Override
    public boolean walk(byte[] body, int offset, Leaves leaves) {
        try (JsonParser parser = factory.createParser(body, offset, body.length - offset)) {
            JsonToken first = parser.nextToken();
            return first != null && value(parser, first, new StringBuilder(), 0, leaves) && parser.nextToken() == null;
        } catch (IOException | RuntimeException malformed) {
            return false;
        }
    }

    private static boolean value(JsonParser parser, JsonToken token, StringBuilder path, int depth, Leaves leaves)
            throws IOException {
        if (depth > MOST_DEPTH || path.length() > LONGEST) {
            // nothing that anybody asks for is so deep; what comes after it may be
            parser.skipChildren();
            return true;
        }
        if (token == JsonToken.START_OBJECT) {
            leaves.other(path.toString());
            return object(parser, path, depth, leaves);
        }
        if (token == JsonToken.START_ARRAY) {
            leaves.other(path.toString());
            return array(parser, path, depth, leaves);
        }
        boolean text = token == JsonToken.VALUE_STRING || token.isNumeric() || token.isBoolean();
        if (text && parser.getTextLength() <= LONGEST) {
            leaves.leaf(path.toString(), parser.getText());
        } else if (text) {
            leaves.other(path.toString());
        }
        return true;
    }

    private static boolean object(JsonParser parser, StringBuilder path, int depth, Leaves leaves) throws IOException {
        int length = path.length();
        JsonToken token = parser.nextToken();
        while (token == JsonToken.FIELD_NAME) {
            append(path.append(depth == 0 ? "" : "."), parser.currentName());
            if (!value(parser, parser.nextToken(), path, depth + 1, leaves)) {
                return false;
            }
            path.setLength(length);
            token = parser.nextToken();
        }
        leaves.end(path.toString());
        return token == JsonToken.END_OBJECT;
    }

    // a key that looks like a path must not be taken for one
    private static void append(StringBuilder path, String key) {
        boolean plain = !key.isEmpty() && key.indexOf('.') < 0 && key.indexOf('[') < 0;
        path.append(plain ? key : '"' + key + '"');
    }

    private static boolean array(JsonParser parser, StringBuilder path, int depth, Leaves leaves) throws IOException {
        int length = path.length();
        path.append("[]");
        JsonToken token = parser.nextToken();
        while (token != JsonToken.END_ARRAY) {
            if (token == null || !value(parser, token, path, depth + 1, leaves)) {
                return false;
            }
            token = parser.nextToken();
        }
        path.setLength(length);
        return true;
    }

    /** Apart, so that an older Jackson need not have what it names. */
    private static final class Unbounded {

        static void make(JsonFactoryBuilder builder) {
            builder.streamReadConstraints(StreamReadConstraints.builder()
                    .maxNestingDepth(STEPPED_OVER)
                    .maxNumberLength(Integer.MAX_VALUE)
                    .maxStringLength(Integer.MAX_VALUE)
                    .maxNameLength(Integer.MAX_VALUE)
                    .build());
        }
    }
}
