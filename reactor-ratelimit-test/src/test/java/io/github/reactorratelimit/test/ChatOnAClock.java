package io.github.reactorratelimit.test;

import java.time.Instant;

/** How tests ask a chat service at times of their own, and what they state of its answers. */
abstract class ChatOnAClock {

    static final Instant START = Instant.ofEpochMilli(ServiceContract.W0);

    static final ChatModel LARGE = ChatModel.named("large").requestsPerMinute(3).tokensPerMinute(1_000);
    static final ChatModel FREE = ChatModel.named("free");

    ChatService service = ChatRules.create().service();

    final void start(ChatRules rules) {
        service = rules.service();
    }

    final ChatOutcome at(long millis, String model, String key, long prompt, long most) {
        return service.request(model, key, prompt, most, START.plusMillis(millis));
    }

    final String text(long millis, String key, long prompt, long most) {
        ChatOutcome outcome = at(millis, "large", key, prompt, most);
        return outcome.status() + " " + outcome.refusedBy() + ", requests "
                + outcome.header("x-ratelimit-remaining-requests") + " reset "
                + outcome.header("x-ratelimit-reset-requests") + ", tokens "
                + outcome.header("x-ratelimit-remaining-tokens") + " reset "
                + outcome.header("x-ratelimit-reset-tokens") + ", retry " + outcome.header("retry-after") + " "
                + outcome.header("retry-after-ms");
    }
}
