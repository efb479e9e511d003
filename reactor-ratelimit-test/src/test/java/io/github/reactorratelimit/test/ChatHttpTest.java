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
        return new Answer(
                reply.status(),
                RateLimitedServiceTest.lines(
                        reply.header("Content-Type") == null
                                ? reply.header("Content-Type", "application/json")
                                        .headers()
                                : reply.headers()),
                reply.body());
    }

    @Override
    RequestLog log() {
        return service.log();
    }
}
