package io.github.reactorratelimit.spring;

import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimitContext;
import io.github.reactorratelimit.RateLimitedException;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.Scope;
import io.github.reactorratelimit.Share;
import io.github.reactorratelimit.test.Reply;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.NullUnmarked;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RequestAttribute;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.reactive.function.client.ClientResponse;
import org.springframework.web.reactive.function.client.WebClient;
import org.springframework.web.reactive.function.client.support.WebClientAdapter;
import org.springframework.web.service.annotation.GetExchange;
import org.springframework.web.service.annotation.HttpExchange;
import org.springframework.web.service.annotation.PostExchange;
import org.springframework.web.service.invoker.HttpServiceProxyFactory;
import org.springframework.web.util.DefaultUriBuilderFactory;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;

/** What a request asks of the limiter: attributes, cost, lane; from the request, its attributes and the Context. */
class WhatIsAskedTest {

    private final List<Demand> asked = new ArrayList<>();
    private final List<String> sent = new ArrayList<>();

    private final Consumer<Map<String, Object>> looking = RateLimitFilter.demand(demand -> {
        asked.add(demand);
        return demand;
    });

    /** A client whose server answers 200 at once. */
    private WebClient client(RateLimiter limiter) {
        return WebClient.builder()
                .baseUrl("https://api.Example.com:8443/v1")
                .filter(RateLimitFilter.of(limiter))
                .exchangeFunction(request -> {
                    sent.add(request.url().toString());
                    return Mono.just(
                            ClientResponse.create(HttpStatus.OK).body("ok").build());
                })
                .build();
    }

    private WebClient client() {
        return client(RateLimiter.of(Limit.total(100)));
    }

    private static String call(WebClient.RequestHeadersSpec<?> request) {
        return String.valueOf(request.retrieve().bodyToMono(String.class).block(Wire.PATIENCE));
    }

    private @Nullable String asked(String attribute) {
        return asked.get(asked.size() - 1).attribute(attribute);
    }

    @Test
    void host_method_and_token_are_those_of_the_request() {
        call(client().delete().uri("/x").attributes(looking));
        assertThat(asked("host")).isEqualTo("api.example.com");
        assertThat(asked("method")).isEqualTo("DELETE");
        assertThat(asked("token")).isEqualTo("anon");

        call(client().get()
                .uri("/x")
                .headers(lines -> lines.setBearerAuth("secret"))
                .attributes(looking));
        String one = asked("token");
        call(client().get()
                .uri("/x")
                .headers(lines -> lines.setBearerAuth("other"))
                .attributes(looking));
        assertThat(asked("token")).isNotEqualTo(one).hasSize(24).doesNotContain("other");
        assertThat(one).hasSize(24).isNotEqualTo("anon");
    }

    @Test
    void the_endpoint_is_the_path_of_the_template_and_not_of_the_expanded_uri() {
        call(client().get().uri("/users/{id}?fields={f}", 7, "name").attributes(looking));
        assertThat(asked("endpoint")).isEqualTo("/v1/users/{id}");
        assertThat(sent).containsExactly("https://api.Example.com:8443/v1/users/7?fields=name");

        call(client().get().uri("/users/{id}", Map.of("id", 7)).attributes(looking));
        assertThat(asked("endpoint")).isEqualTo("/v1/users/{id}");
        call(client().get()
                .uri("/users/{id}", uri -> uri.queryParam("q", 1).build(7))
                .attributes(looking));
        assertThat(asked("endpoint")).isEqualTo("/v1/users/{id}");
    }

    @Test
    void what_a_function_makes_of_a_template_counts_as_it_is_sent() {
        call(client().get().uri("/items", uri -> uri.path("/{id}").build(7)).attributes(looking));
        assertThat(asked("endpoint")).isEqualTo("/v1/items/7");
        call(client().get()
                .uri("/items/{a}", uri -> uri.path("/{b}").build(7, 8))
                .attributes(looking));
        assertThat(asked("endpoint")).isEqualTo("/v1/items/7/8");
        call(client().get()
                .uri("/items", uri -> uri.replacePath("/orders").build())
                .attributes(looking));
        assertThat(asked("endpoint")).isEqualTo("/orders");
        call(client().get()
                .uri("/items/{id}", uri -> uri.queryParam("a", "/b").build(7))
                .attributes(looking));
        assertThat(asked("endpoint")).isEqualTo("/v1/items/{id}");
    }

    @Test
    void a_limit_is_not_passed_by_with_a_function_that_adds_to_the_template() {
        RateLimiter api = RateLimiter.named("api")
                .scope(Scope.by("endpoint").limit("/v1/items/{id}", Limit.total(1)))
                .build();
        WebClient client = client(api);
        call(client.get().uri("/items", uri -> uri.path("/{id}").build(7)));
        assertThatThrownBy(() -> call(client.get()
                        .uri("/items", uri -> uri.path("/{id}").build(8))
                        .attributes(RateLimitFilter.demand(demand -> demand.maxWait(Duration.ZERO)))))
                .isInstanceOf(RateLimitedException.class);
    }

    @ParameterizedTest
    @CsvSource({
        "/a b/{id},             c/d,   /v1/a%20b/{id}",
        "/caf\u00e9/{id},       \u00fc, /v1/caf%C3%A9/{id}",
        "/a%20b/{id},           7,     /v1/a%2520b/{id}",
        "/v{n}.json,            2,     /v1/v{n}.json",
        "'/{key:a|b}',          b,     '/v1/{key:a|b}'",
        "/users/{id}/o;m=1/x,   7%,    /v1/users/{id}/o;m=1/x",
        "/users/{id},           '',    /v1/users/{id}",
        "/users?q={q},          http://x.example/y, /v1/users"
    })
    void a_template_is_known_again_however_its_values_are_encoded(String template, String value, String endpoint) {
        call(client().get().uri(template, value).attributes(looking));
        assertThat(asked("endpoint")).isEqualTo(endpoint);
    }

    @Test
    void it_is_known_again_too_where_templates_are_encoded_after_their_values_are_in() {
        DefaultUriBuilderFactory late = new DefaultUriBuilderFactory("http://h/v1");
        late.setEncodingMode(DefaultUriBuilderFactory.EncodingMode.URI_COMPONENT);
        WebClient client = client().mutate().uriBuilderFactory(late).build();
        call(client.get().uri("/a b/{id}", "\u00fc").attributes(looking));
        assertThat(sent).containsExactly("http://h/v1/a%20b/%C3%BC");
        assertThat(asked("endpoint")).isEqualTo("/v1/a b/{id}");
    }

    @ParameterizedTest
    @CsvSource({
        "/files/{id},        a%2Fb,  /v1/files/a%2Fb",
        "/files/{id}/x,      a%2fb,  /v1/files/a%2fb/x",
        "/a%2Fb/{id},        c%2Fd,  /v1/a%2Fb/c%2Fd",
        "/a%20b%2F/{id},     %25,    /v1/a%20b%2F/%25"
    })
    void it_is_known_again_where_nothing_is_encoded_and_slashes_come_encoded(
            String template, String value, String path) {
        DefaultUriBuilderFactory raw = new DefaultUriBuilderFactory("http://h/v1/");
        raw.setEncodingMode(DefaultUriBuilderFactory.EncodingMode.NONE);
        WebClient client = client().mutate().uriBuilderFactory(raw).build();
        call(client.get().uri(template, value).attributes(looking));
        assertThat(sent).containsExactly("http://h" + path);
        assertThat(asked("endpoint")).isEqualTo("/v1" + template);
    }

    @Test // a pattern that goes back and forth would try some 10^18 ways
    @Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void a_path_that_is_made_to_be_hard_to_match_is_looked_at_once() {
        TemplatePath template = TemplatePath.of("/{a}-{b}-{c}-{d}-{e}/x");
        assertThat(template.isOf("/" + "-".repeat(5_000))).isFalse();
        assertThat(template.isOf("/" + "-".repeat(5_000) + "/x")).isTrue();
        assertThat(TemplatePath.of("{base}/{a:.*}/{b:.*}/{c:.*}/x").isOf("/".repeat(5_000) + "y"))
                .isFalse();
    }

    @Test
    void a_template_that_begins_with_a_base_of_the_callers_has_its_path() {
        WebClient client =
                client(RateLimiter.of(Limit.total(100))).mutate().baseUrl("").build();
        call(client.get().uri("{base}/users/{id}", "http://h", 7).attributes(looking));
        assertThat(asked("endpoint")).isEqualTo("/users/{id}");
        call(client.get().uri("http://h/redirect?to=http://x.example/y").attributes(looking));
        assertThat(asked("endpoint")).isEqualTo("/redirect");
        call(client.get().uri("/redirect?to=http://x.example/y").attributes(looking));
        assertThat(asked("endpoint")).isEqualTo("/redirect");
    }

    @Test
    void the_token_is_that_of_every_other_adapter_of_the_limiter() {
        call(client().get()
                .uri("/x")
                .headers(lines -> lines.setBearerAuth("hush"))
                .attributes(looking));
        assertThat(asked("token")).isEqualTo("77f2e514001fdc0e746b3da8");
    }

    @Test
    void without_a_template_it_is_the_path_as_it_is_sent() {
        call(client().get().uri(URI.create("http://h/a%20b/7?q=1")).attributes(looking));
        assertThat(asked("endpoint")).isEqualTo("/a%20b/7");
        call(client().get().uri(URI.create("http://h")).attributes(looking));
        assertThat(asked("endpoint")).isEqualTo("/");
        call(client().get().uri(uri -> uri.path("/users/{id}").build(7)).attributes(looking));
        assertThat(asked("endpoint")).isEqualTo("/v1/users/7");
    }

    @ParameterizedTest
    @CsvSource({
        "http://h/users/{id},            /users/{id}",
        "http://h:80/users/{id}?q={q}#f, /users/{id}",
        "http://{host}/users/{id},       /users/{id}",
        "http://{host:[^/?]+}/a/{b:[?]}, /a/{b:[?]}",
        "/users/{id},                    /users/{id}",
        "/search?q=a/b,                  /search",
        "http://h,                       /",
        "http://h?q=/a,                  /",
        "/redirect?to=http://x.example/y, /redirect",
        "/redirect#http://x.example/y,   /redirect",
        "http://h?to=http://x.example/y, /",
        "{base}/users/{id},              /users/{id}",
        "{base}/proxy?url=https://x/y,   /proxy",
        "//h/users/{id},                 /users/{id}",
        "orders/{id},                    orders/{id}",
        "'',                             /"
    })
    void of_a_template_the_path_is_taken(String template, String path) {
        assertThat(TemplatePath.of(template)).hasToString(path);
    }

    @Test
    void a_name_that_is_no_host_by_the_rules_is_one_all_the_same() {
        call(client().get().uri(URI.create("http://me@My_Service:8080/x")).attributes(looking));
        assertThat(asked("host")).isEqualTo("my_service");
    }

    @Test
    void limits_by_endpoint_count_all_expansions_of_a_template_together() {
        RateLimiter api = RateLimiter.named("api")
                .scope(Scope.by("endpoint").limit("/v1/users/{id}", Limit.total(2)))
                .build();
        WebClient client = client(api);
        call(client.get().uri("/users/{id}", 1));
        call(client.get().uri("/users/{id}", 2));
        assertThatThrownBy(() -> call(client.get()
                        .uri("/users/{id}", 3)
                        .attributes(RateLimitFilter.demand(demand -> demand.maxWait(Duration.ZERO)))))
                .isInstanceOf(RateLimitedException.class);
        call(client.get().uri("/users"));
        assertThat(sent).hasSize(3);
    }

    @Test
    void cost_key_and_lane_come_from_the_attributes_of_a_request() {
        RateLimiter api = RateLimiter.named("api")
                .lane("interactive", Share.of(1))
                .lane("background", Share.of(0.5))
                .scope(Scope.by("user").limits(Limit.total(10)))
                .build();
        Consumer<Map<String, Object>> ada =
                RateLimitFilter.demand(demand -> demand.and("user", "ada").maxWait(Duration.ZERO));
        Consumer<Map<String, Object>> heavy = RateLimitFilter.demand(demand -> demand.cost(4));
        Consumer<Map<String, Object>> background = RateLimitFilter.demand(demand -> demand.lane("background"));
        WebClient client = client(api);

        call(client.get().uri("/x").attributes(ada).attributes(heavy).attributes(background));
        assertThatThrownBy(() -> call(
                        client.get().uri("/x").attributes(ada).attributes(heavy).attributes(background)))
                .isInstanceOf(RateLimitedException.class);
        call(client.get().uri("/x").attributes(ada).attributes(heavy));
        assertThat(available(api, "ada")).isEqualTo(2);
    }

    @Test
    void they_come_from_the_context_too_and_the_attributes_have_the_last_word() {
        RateLimiter api = RateLimiter.named("api")
                .lane("interactive", Share.of(1))
                .lane("background", Share.of(0.5))
                .scope(Scope.by("user").limits(Limit.total(10)))
                .build();
        Mono<String> call = client(api)
                .get()
                .uri("/x")
                .attributes(RateLimitFilter.demand(demand -> demand.cost(2).maxWait(Duration.ZERO)))
                .attributes(looking)
                .retrieve()
                .bodyToMono(String.class)
                .contextWrite(RateLimitFilter.demandInContext(demand -> demand.cost(9)))
                .contextWrite(RateLimitFilter.demandInContext(demand -> demand.and("user", "bob")))
                .contextWrite(RateLimitContext.lane("background"));

        call.block(Wire.PATIENCE);
        assertThat(asked("user")).isEqualTo("bob");
        assertThat(asked.get(0).cost("requests")).isEqualTo(2);
        assertThat(available(api, "bob")).isEqualTo(8);
        call.block(Wire.PATIENCE);
        // The background's half of 10 has 1 left.
        assertThatThrownBy(() -> call.block(Wire.PATIENCE)).isInstanceOf(RateLimitedException.class);
    }

    private static long available(RateLimiter api, String user) {
        return api.snapshot().scopes().stream()
                .filter(scope ->
                        !scope.keys().isEmpty() && scope.keys().toString().contains(user))
                .findFirst()
                .orElseThrow()
                .limits()
                .get(0)
                .available();
    }

    @Test
    void an_attribute_that_is_none_fails_the_call_and_says_what_it_has_to_be() {
        assertThatThrownBy(() -> call(client().get().uri("/x").attribute(RateLimitFilter.DEMAND, 5)))
                .hasMessageContaining("must be a UnaryOperator<Demand>, was a java.lang.Integer");
        Map<String, Object> attributes = new HashMap<>(Map.of(RateLimitFilter.DEMAND, 5));
        assertThatThrownBy(() -> looking.accept(attributes)).isInstanceOf(IllegalArgumentException.class);
    }

    /** What somebody writes who has no null checks. */
    @NullUnmarked
    private static final class NullDemand {
        static Demand of(Demand asked) {
            return null;
        }
    }

    @Test
    void a_demand_function_that_gives_none_fails_the_call_and_names_the_rule() {
        WebClient client = client();
        Consumer<Map<String, Object>> none = RateLimitFilter.demand(NullDemand::of);
        Mono<String> last = client.get().uri("/x").attributes(none).retrieve().bodyToMono(String.class);
        Mono<String> first = client.get()
                .uri("/x")
                .attributes(none)
                .attributes(looking)
                .retrieve()
                .bodyToMono(String.class);
        Mono<String> upstream = client.get()
                .uri("/x")
                .attributes(looking)
                .retrieve()
                .bodyToMono(String.class)
                .contextWrite(RateLimitFilter.demandInContext(NullDemand::of));
        for (Mono<String> call : List.of(last, first, upstream)) {
            assertThat(Wire.failure(call))
                    .isInstanceOf(NullPointerException.class)
                    .hasMessage("the demand function of a request must give a demand, gave null");
        }
        assertThat(sent).isEmpty();
        assertThat(asked).isEmpty();
    }

    @HttpExchange("/users")
    interface Users {

        @GetExchange("/{id}")
        Mono<String> user(
                @PathVariable("id") int id,
                @RequestParam("fields") String fields,
                @RequestAttribute(RateLimitFilter.DEMAND) java.util.function.UnaryOperator<Demand> demand);
    }

    @Test
    void an_http_interface_goes_through_the_filter_with_the_template_for_an_endpoint() {
        RateLimiter api = RateLimiter.of(Limit.total(10));
        Users users = HttpServiceProxyFactory.builderFor(WebClientAdapter.create(client(api)))
                .build()
                .createClient(Users.class);

        Mono<String> user = users.user(7, "name", demand -> {
            asked.add(demand);
            return demand.cost(3);
        });
        assertThat(sent).isEmpty();
        assertThat(user.block(Wire.PATIENCE)).isEqualTo("ok");
        assertThat(asked("endpoint")).isEqualTo("/v1/users/{id}");
        assertThat(Objects.requireNonNull(sent.get(0))).endsWith("/v1/users/7?fields=name");
        assertThat(api.snapshot().root().limits().get(0).available()).isEqualTo(7);
    }

    @HttpExchange
    interface Orders {

        @PostExchange("/x")
        Mono<String> order(@RequestBody String order);
    }

    @Test
    void an_http_interface_is_tried_again_with_a_permit_each_time() {
        try (Wire wire = Wire.script(Wire.REFUSAL, Reply.ok().body("done"))) {
            Orders orders = HttpServiceProxyFactory.builderFor(WebClientAdapter.create(wire.client))
                    .build()
                    .createClient(Orders.class);
            assertThat(orders.order("book").block(Wire.PATIENCE)).isEqualTo("done");
            assertThat(wire.log().entries())
                    .extracting(entry -> entry.request().body())
                    .containsExactly("book", "book");
            assertThat(wire.taken()).isEqualTo(2);
            wire.assertIdle();
        }
    }

    @Test // B17
    void an_hour_of_calls_is_tested_in_virtual_time() {
        RateLimiter api = RateLimiter.of(Limit.of(5, ofSeconds(10)));
        WebClient client = client(api);
        StepVerifier.withVirtualTime(() -> reactor.core.publisher.Flux.range(0, 1_000)
                        .flatMap(
                                n -> client.get()
                                        .uri("/items/{n}", n)
                                        .retrieve()
                                        .bodyToMono(String.class),
                                1_000))
                .expectSubscription()
                .expectNextCount(5)
                .expectNoEvent(ofSeconds(10))
                .thenAwait(ofSeconds(1))
                .expectNextCount(5)
                .thenAwait(ofMinutes(60))
                .expectNextCount(990)
                .verifyComplete();
        assertThat(sent).hasSize(1_000);
    }
}
