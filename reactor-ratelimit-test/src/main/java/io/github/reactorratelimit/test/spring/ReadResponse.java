package io.github.reactorratelimit.test.spring;

import io.github.reactorratelimit.test.SimulatedResponse;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DefaultDataBufferFactory;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.ResponseCookie;
import org.springframework.http.client.reactive.ClientHttpResponse;
import org.springframework.util.CollectionUtils;
import org.springframework.util.LinkedMultiValueMap;
import org.springframework.util.MultiValueMap;
import reactor.core.publisher.Flux;

/** What a {@code WebClient} reads. Cookies are left in their header, for there is nobody to keep them. */
record ReadResponse(SimulatedResponse response) implements ClientHttpResponse {

    @Override
    public HttpStatusCode getStatusCode() {
        return HttpStatusCode.valueOf(response.status());
    }

    @Override
    public HttpHeaders getHeaders() {
        HttpHeaders headers = new HttpHeaders();
        response.headers().forEach(headers::add);
        return HttpHeaders.readOnlyHttpHeaders(headers);
    }

    @Override
    public MultiValueMap<String, ResponseCookie> getCookies() {
        return CollectionUtils.unmodifiableMultiValueMap(new LinkedMultiValueMap<>());
    }

    @Override
    public Flux<DataBuffer> getBody() {
        return response.body().map(DefaultDataBufferFactory.sharedInstance::wrap);
    }
}
