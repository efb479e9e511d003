package io.github.reactorratelimit.test;

/** The decisions over HTTP alone. */
class ChatHttpTest extends ChatContract {

    private RateLimitedService service = RULES.service().http();

    @Override
    void start(ChatService chat) {
        service = chat.http();
    }

    @Override
    Answer at(long afterMillis, SimulatedRequest request) {
        Reply reply = service.answer(request, ServiceContract.W0 + afterMillis);
        boolean typed = reply.header("Content-Type") != null;
        Reply told = typed ? reply : reply.header("Content-Type", "application/json");
        return Answer.of(told.status(), told.headers(), told.body());
    }

    @Override
    RequestLog log() {
        return service.log();
    }
}
