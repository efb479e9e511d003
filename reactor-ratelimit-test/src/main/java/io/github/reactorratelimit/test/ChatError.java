package io.github.reactorratelimit.test;

import org.jspecify.annotations.Nullable;

/**
 * An error of a simulated chat service. Those that it doesn't make by itself are for faults:
 *
 * <pre>{@code
 * rules.fault(Fault.everyNth(10, ChatError.OVERLOADED.reply(ChatDialect.OPENAI)))
 * }</pre>
 */
public enum ChatError {
    /** 429: too many requests or tokens; the type says which, and the message until when. */
    RATE_LIMIT_EXCEEDED(429, "requests", "rate_limit_exceeded", "rate_limit_error", "Rate limit reached."),
    /** 429 that no wait cures: the prepaid balance is used up. */
    INSUFFICIENT_QUOTA(
            429,
            "insufficient_quota",
            "insufficient_quota",
            "rate_limit_error",
            "You exceeded your current quota, please check your plan and billing details."),
    /** 400: no chat completion request, or one for more tokens than the limit ever has. */
    INVALID_REQUEST(400, "invalid_request_error", null, "invalid_request_error", "This is no chat completion request."),
    /** 401: no key, or none that the service knows. */
    INVALID_API_KEY(
            401, "invalid_request_error", "invalid_api_key", "authentication_error", "Incorrect API key provided."),
    /** 404: a model that the service doesn't have. */
    MODEL_NOT_FOUND(404, "invalid_request_error", "model_not_found", "not_found_error", "The model does not exist."),
    /** 500; only by a fault. */
    SERVER_ERROR(500, "server_error", null, "api_error", "The server had an error while processing your request."),
    /** 503; only by a fault. */
    UNAVAILABLE(503, "server_error", "service_unavailable", "api_error", "The service is temporarily unavailable."),
    /** 529; only by a fault. */
    OVERLOADED(529, "overloaded_error", "overloaded_error", "overloaded_error", "Overloaded");

    private final int status;
    private final String type;
    private final @Nullable String code;
    private final String anthropicType;
    private final String message;

    ChatError(int status, String type, @Nullable String code, String anthropicType, String message) {
        this.status = status;
        this.type = type;
        this.code = code;
        this.anthropicType = anthropicType;
        this.message = message;
    }

    /**
     * The status it is answered with.
     *
     * @return 400 to 529
     */
    public int status() {
        return status;
    }

    /**
     * The answer, with its usual message and no headers.
     *
     * @param dialect in whose words
     * @return the reply
     */
    public Reply reply(ChatDialect dialect) {
        return reply(dialect, type, message);
    }

    Reply reply(ChatDialect dialect, String about) {
        return reply(dialect, type, about);
    }

    Reply reply(ChatDialect dialect, String ofType, String about) {
        String words = ChatJson.quoted(about);
        String details =
                this == INSUFFICIENT_QUOTA ? ",\"details\":{\"error_code\":\"enforced_spend_limit_reached\"}" : "";
        return Reply.status(status)
                .body(
                        dialect == ChatDialect.OPENAI
                                ? "{\"error\":{\"message\":" + words + ",\"type\":\"" + ofType
                                        + "\",\"param\":null,\"code\":"
                                        + (code == null ? "null" : "\"" + code + "\"") + "}}"
                                : "{\"type\":\"error\",\"error\":{\"type\":\"" + anthropicType + "\",\"message\":"
                                        + words + details + "}}");
    }
}
