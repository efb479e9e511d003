package io.github.reactorratelimit.test;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.github.reactorratelimit.test.ChatBooks.Decided;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** A chat service over HTTP: reads the request, has it decided by the books, and writes the answer. */
final class ChatDecisions implements Decisions {

    private static final String PATH = "/chat/completions";

    private final ChatRules rules;
    private final ChatBooks books;
    private long answered;

    ChatDecisions(ChatRules rules, ChatBooks books) {
        this.rules = rules;
        this.books = books;
    }

    @Override
    public Reply answer(SimulatedRequest request, long nowMillis, RequestLog log) {
        Reply reply = QuotaFields.date(decide(request, nowMillis), nowMillis);
        log.add(nowMillis, request.path(), request, reply);
        return reply;
    }

    private Reply decide(SimulatedRequest request, long nowMillis) {
        if (!request.path().endsWith(PATH) || !request.method().equals("POST")) {
            return Reply.status(404)
                    .body("{\"error\":{\"message\":\"Unknown request URL.\",\"type\":"
                            + "\"invalid_request_error\",\"param\":null,\"code\":\"unknown_url\"}}");
        }
        ChatMessage message = ChatMessage.read(request.bytes());
        if (message == null) {
            return ChatError.INVALID_REQUEST.reply(rules.dialect());
        }
        ChatCall call = message.call(request.token());
        Decided decided = books.decide(call, nowMillis);
        ChatDraw draw = decided.draw();
        if (draw == null) {
            return decided.reply();
        }
        ChatJson json = new ChatJson(call.model(), ++answered, Math.floorDiv(nowMillis, 1_000L));
        return call.stream()
                ? stream(decided, draw, json, message.includeUsage())
                : decided.reply()
                        .body(json.completion(decided.outcome().usage(), draw.cut()))
                        .after(draw.latency());
    }

    private Reply stream(Decided decided, ChatDraw draw, ChatJson json, boolean usage) {
        List<ReplyPiece> events = new ArrayList<>();
        events.add(event(json.role(usage), Duration.ZERO));
        for (ChatDraw.Chunk chunk : draw.chunks()) {
            events.add(event(json.words(chunk.tokens(), usage), chunk.pause()));
        }
        Reply broken = decided.broken();
        if (broken != null) {
            events.add(error(broken.body()));
        } else {
            events.add(event(json.finish(draw.cut(), usage), Duration.ZERO));
            if (usage) {
                events.add(event(json.usage(decided.outcome().usage()), Duration.ZERO));
            }
            events.add(event("[DONE]", Duration.ZERO));
        }
        return decided.reply()
                .header("Content-Type", "text/event-stream")
                .pieces(events)
                .after(draw.first());
    }

    private static ReplyPiece event(String data, Duration pause) {
        return new ReplyPiece(("data: " + data + "\n\n").getBytes(UTF_8), pause);
    }

    private ReplyPiece error(String data) {
        String name = rules.dialect() == ChatDialect.ANTHROPIC ? "event: error\n" : "";
        return new ReplyPiece((name + "data: " + data + "\n\n").getBytes(UTF_8), Duration.ZERO);
    }
}
