package io.github.reactorratelimit.test;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** The JSON of a chat completion request, as far as the service looks at it. Needs Jackson. */
final class ChatMessage {

    private static final JsonFactory JSON = new JsonFactory();
    private static final int CHARACTERS_PER_TOKEN = 4;
    /** More than any model's; so that an answer that is drawn from it fits into memory. */
    private static final int MOST_TOKENS = 1_000_000;

    private final JsonParser parser;
    private @Nullable String model;
    private @Nullable Long maxTokens;
    private boolean stream;
    private boolean includeUsage;
    private boolean hasMessages;
    private long characters;

    private ChatMessage(JsonParser parser) {
        this.parser = parser;
    }

    /** What was asked, or null if this is no such request. */
    static @Nullable ChatMessage read(byte[] body) {
        try (JsonParser parser = JSON.createParser(body)) {
            ChatMessage message = new ChatMessage(parser);
            message.request();
            return parser.nextToken() == null && message.hasMessages && message.model != null ? message : null;
        } catch (IOException malformed) {
            return null;
        }
    }

    ChatCall call(String key) {
        long tokens = -Math.floorDiv(-characters, (long) CHARACTERS_PER_TOKEN);
        return new ChatCall(model == null ? "" : model, key, tokens, maxTokens, stream);
    }

    boolean includeUsage() {
        return includeUsage;
    }

    private void request() throws IOException {
        want(parser.nextToken() == JsonToken.START_OBJECT);
        while (parser.nextToken() == JsonToken.FIELD_NAME) {
            String name = parser.currentName();
            JsonToken value = parser.nextToken();
            switch (name) {
                case "model" -> {
                    want(value == JsonToken.VALUE_STRING);
                    model = parser.getText();
                }
                case "max_tokens", "max_completion_tokens" -> maxTokens = tokens(value);
                case "stream" -> stream = bool(value);
                case "stream_options" -> streamOptions(value);
                case "messages" -> messages(value);
                default -> parser.skipChildren();
            }
        }
    }

    private @Nullable Long tokens(JsonToken value) throws IOException {
        if (value == JsonToken.VALUE_NULL) {
            return maxTokens;
        }
        want(value == JsonToken.VALUE_NUMBER_INT);
        int tokens = parser.getIntValue();
        want(tokens >= 1 && tokens <= MOST_TOKENS);
        return (long) tokens;
    }

    private boolean bool(JsonToken value) throws IOException {
        want(value.isBoolean() || value == JsonToken.VALUE_NULL);
        return value == JsonToken.VALUE_TRUE;
    }

    private void streamOptions(JsonToken value) throws IOException {
        if (value == JsonToken.VALUE_NULL) {
            return;
        }
        want(value == JsonToken.START_OBJECT);
        while (parser.nextToken() == JsonToken.FIELD_NAME) {
            String name = parser.currentName();
            JsonToken option = parser.nextToken();
            if (name.equals("include_usage")) {
                includeUsage = bool(option);
            } else {
                parser.skipChildren();
            }
        }
    }

    private void messages(JsonToken value) throws IOException {
        want(value == JsonToken.START_ARRAY);
        while (parser.nextToken() == JsonToken.START_OBJECT) {
            hasMessages = true;
            texts("content");
        }
        want(parser.currentToken() == JsonToken.END_ARRAY);
    }

    /** Counts the characters of a message's content, and of the texts of its parts if it has some. */
    private void texts(String field) throws IOException {
        while (parser.nextToken() == JsonToken.FIELD_NAME) {
            boolean wanted = parser.currentName().equals(field);
            JsonToken value = parser.nextToken();
            if (wanted && value == JsonToken.VALUE_STRING) {
                String text = parser.getText();
                characters += text.codePointCount(0, text.length());
            } else if (wanted && value == JsonToken.START_ARRAY) {
                while (parser.nextToken() == JsonToken.START_OBJECT) {
                    texts("text");
                }
                want(parser.currentToken() == JsonToken.END_ARRAY);
            } else {
                parser.skipChildren();
            }
        }
    }

    private static void want(boolean found) throws IOException {
        if (!found) {
            throw new IOException("no chat completion request");
        }
    }
}
