package io.github.reactorratelimit.test;

/** How tests call a chat service over HTTP, whichever form it has, and what they see of its answers. */
abstract class ChatWire {

    /** Starts the service under test; called once per test. */
    abstract void start(ChatService service);

    /** Sends one request at this time and waits for its answer. Times never step back. */
    abstract Answer at(long afterMillis, SimulatedRequest request);

    abstract RequestLog log();

    static SimulatedRequest chat(String key, String json) {
        return SimulatedRequest.post("/v1/chat/completions").token(key).body(json);
    }

    static String json(String content, String more) {
        return "{\"model\":\"large\",\"messages\":[{\"role\":\"user\",\"content\":" + content + "}]" + more + "}";
    }
}
