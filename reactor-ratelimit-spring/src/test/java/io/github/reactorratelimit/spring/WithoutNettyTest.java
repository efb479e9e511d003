package io.github.reactorratelimit.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RetryPolicy;
import java.io.File;
import java.net.ConnectException;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.springframework.core.io.buffer.DefaultDataBufferFactory;
import org.springframework.http.HttpStatus;
import org.springframework.web.reactive.function.client.ClientResponse;
import org.springframework.web.reactive.function.client.WebClient;
import org.springframework.web.reactive.function.client.WebClientRequestException;
import reactor.core.publisher.Mono;

/** The filter where there is no Netty, as with the JDK's HTTP client or Jetty's. */
class WithoutNettyTest {

    /** The class path of the tests without Netty, in a class loader of its own. */
    private static final class Nettyless extends URLClassLoader {

        Nettyless() throws Exception {
            super(classPath(), ClassLoader.getPlatformClassLoader());
        }

        private static URL[] classPath() throws Exception {
            List<URL> all = new ArrayList<>();
            for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
                all.add(Path.of(entry).toUri().toURL());
            }
            return all.toArray(URL[]::new);
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (name.startsWith("io.netty.") || name.startsWith("reactor.netty.")) {
                throw new ClassNotFoundException(name);
            }
            return super.loadClass(name, resolve);
        }
    }

    /** Runs there: a refused connection, a refusal and an answer. */
    static final class Calls implements Callable<String> {

        @Override
        public String call() {
            AtomicInteger sent = new AtomicInteger();
            URI url = URI.create("http://api/x");
            WebClient client = WebClient.builder()
                    .filter(RateLimitFilter.of(RateLimiter.of(Limit.total(10))
                            .calls()
                            .retry(RetryPolicy.standard().backoff(Duration.ofMillis(1), Duration.ofMillis(1)))))
                    .exchangeFunction(request -> switch (sent.incrementAndGet()) {
                        case 1 ->
                            Mono.error(new WebClientRequestException(
                                    new ConnectException("refused"), request.method(), url, request.headers()));
                        case 2 ->
                            Mono.just(ClientResponse.create(HttpStatus.TOO_MANY_REQUESTS)
                                    .header("Retry-After", "0")
                                    .build());
                        default ->
                            Mono.just(ClientResponse.create(HttpStatus.OK)
                                    .body("done")
                                    .build());
                    })
                    .build();
            String answer = client.post()
                    .uri(url)
                    .bodyValue("order")
                    .retrieve()
                    .bodyToMono(String.class)
                    .block(Duration.ofSeconds(60));
            boolean once = OneShot.is(Mono.just(DefaultDataBufferFactory.sharedInstance.wrap(new byte[1])));
            return answer + " after " + sent + " requests, a buffer is " + (once ? "sent once" : "sent again");
        }
    }

    @Test
    void refusals_and_failures_are_understood() throws Exception {
        try (Nettyless loader = new Nettyless()) {
            assertThatThrownBy(() -> loader.loadClass("io.netty.buffer.ByteBuf"))
                    .isInstanceOf(ClassNotFoundException.class);
            var constructor = loader.loadClass(Calls.class.getName()).getDeclaredConstructor();
            constructor.setAccessible(true);
            Object outcome = ((Callable<?>) constructor.newInstance()).call();
            assertThat(outcome).isEqualTo("done after 3 requests, a buffer is sent once");
        }
    }
}
