package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.Headers;

/** A batch as the operator hears it: the response to the part that has most to say about limits. */
class BatchHead {

    static final ResponseReader<BatchHead> READER = new ResponseReader<>() {
        @Override
        public int status(BatchHead response) {
            return response.status;
        }

        @Override
        public Headers headers(BatchHead response) {
            return response.headers;
        }
    };

    int status = 200;
    Headers headers = Headers.of();
}
