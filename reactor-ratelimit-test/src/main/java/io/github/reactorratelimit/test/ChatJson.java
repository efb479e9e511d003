package io.github.reactorratelimit.test;

import org.jspecify.annotations.Nullable;

/** The JSON of chat completions. Written by hand, so that only reading needs a library. */
final class ChatJson {

    /** Four characters, which are a token. */
    private static final String FILLER = "word";

    private final String model;
    private final long nth;
    private final long createdSeconds;

    ChatJson(String model, long nth, long createdSeconds) {
        this.model = model;
        this.nth = nth;
        this.createdSeconds = createdSeconds;
    }

    /** The answer in one piece. */
    String completion(ChatUsage usage, boolean cut) {
        return start("chat.completion")
                + "\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\""
                + filler(usage.completionTokens()) + "\"},\"finish_reason\":" + reason(cut) + "}],\"usage\":"
                + of(usage) + "}";
    }

    /** The first chunk of a stream, which says who speaks. */
    String role(boolean usageAtEnd) {
        return chunk("{\"role\":\"assistant\",\"content\":\"\"}", "null", usageAtEnd);
    }

    String words(long tokens, boolean usageAtEnd) {
        return chunk("{\"content\":\"" + filler(tokens) + "\"}", "null", usageAtEnd);
    }

    String finish(boolean cut, boolean usageAtEnd) {
        return chunk("{}", reason(cut), usageAtEnd);
    }

    /** The last chunk, if it was asked for. */
    String usage(ChatUsage usage) {
        return start("chat.completion.chunk") + "\"choices\":[],\"usage\":" + of(usage) + "}";
    }

    private String chunk(String delta, String reason, boolean usageAtEnd) {
        return start("chat.completion.chunk") + "\"choices\":[{\"index\":0,\"delta\":" + delta + ",\"finish_reason\":"
                + reason + "}]" + (usageAtEnd ? ",\"usage\":null}" : "}");
    }

    private String start(String object) {
        return "{\"id\":\"chatcmpl-" + nth + "\",\"object\":\"" + object + "\",\"created\":" + createdSeconds
                + ",\"model\":" + quoted(model) + ",";
    }

    private static String filler(long tokens) {
        return FILLER.repeat(Math.toIntExact(tokens));
    }

    private static String reason(boolean cut) {
        return cut ? "\"length\"" : "\"stop\"";
    }

    private static String of(ChatUsage usage) {
        return "{\"prompt_tokens\":" + usage.promptTokens() + ",\"completion_tokens\":" + usage.completionTokens()
                + ",\"total_tokens\":" + usage.totalTokens() + "}";
    }

    /** A text as JSON has it, with its quotes. */
    static String quoted(@Nullable String text) {
        if (text == null) {
            return "null";
        }
        StringBuilder json = new StringBuilder(text.length() + 2).append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                json.append('\\').append(c);
            } else if (c < ' ' || Character.isSurrogate(c)) {
                json.append(String.format("\\u%04x", (int) c));
            } else {
                json.append(c);
            }
        }
        return json.append('"').toString();
    }
}
