package io.github.reactorratelimit.test;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The JSON of a Graph {@code $batch}, as far as the service looks at it. Needs Jackson. */
final class BatchMessage {

    private static final JsonFactory JSON = new JsonFactory();

    /** One request of a batch. */
    record Part(String id, String method, String url, List<String> dependsOn) {

        SimulatedRequest as(SimulatedRequest batch) {
            SimulatedRequest request = SimulatedRequest.of(method, url);
            String authorization = batch.header("Authorization");
            return authorization == null ? request : request.header("Authorization", authorization);
        }
    }

    /** One answer of a batch. */
    record Answer(String id, Reply reply) {}

    private BatchMessage() {}

    /** The requests in their order, or null if this is no batch. */
    static @Nullable List<Part> read(byte[] body) {
        try (JsonParser parser = JSON.createParser(body)) {
            List<Part> parts = null;
            if (parser.nextToken() != JsonToken.START_OBJECT) {
                return null;
            }
            while (parser.nextToken() == JsonToken.FIELD_NAME) {
                if (parser.currentName().equals("requests") && parser.nextToken() == JsonToken.START_ARRAY) {
                    parts = parts(parser);
                } else {
                    skip(parser);
                }
            }
            return parts;
        } catch (IOException malformed) {
            return null;
        }
    }

    private static List<Part> parts(JsonParser parser) throws IOException {
        List<Part> parts = new ArrayList<>();
        while (parser.nextToken() == JsonToken.START_OBJECT) {
            parts.add(part(parser));
        }
        return parts;
    }

    private static Part part(JsonParser parser) throws IOException {
        String id = "";
        String method = "GET";
        String url = "/";
        List<String> dependsOn = new ArrayList<>();
        while (parser.nextToken() == JsonToken.FIELD_NAME) {
            switch (parser.currentName()) {
                case "id" -> id = parser.nextTextValue();
                case "method" -> method = parser.nextTextValue();
                case "url" -> url = parser.nextTextValue();
                case "dependsOn" -> {
                    parser.nextToken();
                    while (parser.nextToken() == JsonToken.VALUE_STRING) {
                        dependsOn.add(parser.getText());
                    }
                }
                default -> skip(parser);
            }
        }
        return new Part(id, method, url, dependsOn);
    }

    private static void skip(JsonParser parser) throws IOException {
        if (parser.currentToken() == JsonToken.FIELD_NAME) {
            parser.nextToken();
        }
        parser.skipChildren();
    }

    static String write(List<Answer> answers) {
        StringWriter text = new StringWriter();
        try (JsonGenerator json = JSON.createGenerator(text)) {
            json.writeStartObject();
            json.writeArrayFieldStart("responses");
            for (Answer answer : answers) {
                write(json, answer);
            }
            json.writeEndArray();
            json.writeEndObject();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return text.toString();
    }

    private static void write(JsonGenerator json, Answer answer) throws IOException {
        json.writeStartObject();
        json.writeStringField("id", answer.id);
        json.writeNumberField("status", answer.reply.status());
        json.writeObjectFieldStart("headers");
        json.writeStringField("Content-Type", "application/json");
        for (String[] line : lines(answer.reply)) {
            json.writeStringField(line[0], line[1]);
        }
        json.writeEndObject();
        json.writeFieldName("body");
        json.writeRawValue(new String(answer.reply.bytes(), UTF_8));
        json.writeEndObject();
    }

    private static List<String[]> lines(Reply reply) {
        List<String[]> lines = new ArrayList<>();
        reply.headers().forEach((name, value) -> lines.add(new String[] {name, value}));
        return lines;
    }
}
