package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lettuce.core.cluster.SlotHash;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class KeyNamesTest {

    private final KeyNames names = new KeyNames("reactor-ratelimit", "partner");

    @Test
    void a_name_tells_prefix_version_limiter_and_kind() {
        assertThat(names.scope(Map.of())).isEqualTo("reactor-ratelimit:1:{partner}:scope");
        assertThat(names.scope(Map.of("endpoint", "/users/{id}")))
                .isEqualTo("reactor-ratelimit:1:{partner}:scope:endpoint=/users/{id}");
        assertThat(names.process("a1")).isEqualTo("reactor-ratelimit:1:{partner}:process:a1");
    }

    @Test
    void all_keys_of_a_limiter_have_one_slot_whatever_a_users_key_contains() { // B32
        int slot = SlotHash.getSlot(names.process("a1"));
        for (String value : List.of("a", "{a}b", "{}", "}{", "a b", "", "{partner}", "é", "x".repeat(500))) {
            assertThat(SlotHash.getSlot(names.scope(Map.of("user", value))))
                    .as(value)
                    .isEqualTo(slot);
        }
    }

    @Test
    void the_slot_stays_one_for_limiters_of_any_name() {
        for (String name : List.of("a b", "}", "{", "{}x", "käse", "n".repeat(300))) {
            KeyNames odd = new KeyNames("p", name);
            assertThat(SlotHash.getSlot(odd.scope(Map.of("user", "{q}"))))
                    .isEqualTo(SlotHash.getSlot(odd.process("1")));
        }
    }

    @Test
    void different_keys_never_share_a_name() { // B32
        List<Map<String, String>> all = List.of(
                Map.of("user", "{a}b"),
                Map.of("user", "{a}c"),
                Map.of("user", "a:b=c"),
                Map.of("user", "a b"),
                Map.of("user", ""),
                Map.of("user", "#"),
                Map.of("user", "?"),
                Map.of("user", "\ud800"),
                Map.of("user", "\udfff"),
                Map.of("user", "x".repeat(65)),
                Map.of("user", "x".repeat(64) + "y"),
                Map.of("token", "abc"),
                Map.of("token", "abd"));
        assertThat(all.stream().map(names::scope)).doesNotHaveDuplicates();
        // A value that looks like the hash of another is hashed itself.
        String hashed = names.scope(Map.of("user", "a b"));
        String hash = hashed.substring(hashed.indexOf('=') + 1);
        assertThat(names.scope(Map.of("user", hash))).doesNotEndWith("=" + hash);
    }

    @Test
    void credentials_and_long_values_are_hashed_whole() {
        String name = names.scope(Map.of("Token", "s3cret"));
        assertThat(name).doesNotContain("s3cret").matches(".*:Token=#[0-9a-f]{32}");
        assertThat(names.scope(Map.of("user", "u".repeat(1_000)))).hasSizeLessThan(120);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "access_token",
                "x-api-key",
                "client_secret",
                "accessToken",
                "apiKey",
                "AUTH",
                "bearer",
                "cookie",
                "session.id"
            })
    void an_attribute_whose_name_says_credential_in_one_of_its_words_is_hashed(String attribute) {
        assertThat(names.scope(Map.of(attribute, "s3cret"))).doesNotContain("s3cret");
    }

    @ParameterizedTest
    @ValueSource(strings = {"monkey", "author", "tokens_per_minute_class", "keyboard", "sessions"})
    void an_attribute_whose_name_only_looks_like_it_stays_readable(String attribute) {
        assertThat(names.scope(Map.of(attribute, "plain"))).endsWith("=plain");
    }

    @Test
    void a_prefix_with_braces_is_refused() {
        assertThatThrownBy(() -> new KeyNames("{x}", "a"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("was '{x}'");
    }
}
