package io.github.reactorratelimit.signal;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The IETF draft's fields where no single row shows the rule: what RFC 9651 allows, what belongs together, what counts. */
class IetfFieldsTest {

    private static RateLimitSignal read(int status, String... namesAndValues) {
        return Dialects.standard().read(status, Headers.of(namesAndValues), 0);
    }

    private static Duration seconds(long seconds) {
        return Duration.ofSeconds(seconds);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "\"a\";r=0;t=5;c=%\"f%c3%bc\"",
                "\"a\";c=%\"\";r=0;t=5",
                "\"a\";r=0;t=5;d=@1659578233;e=?0;f;g=-1.5;h=:aGk=:;i=*t/x:y",
                "\"a\";r=0;t=5, (\"x\" y;p=1 2.5);q",
                "();x=1,\"a\";r=0;t=5",
                "limit=9, remaining=0, reset=5, foo",
                "foo;x=1, limit=9, remaining=0, reset=5",
                "foo, remaining=0, reset=5",
                "remaining=0, foo=(1 2), reset=5",
                "remaining=3, remaining=0;x=1, reset=5",
                "\"a\";  r=000000000000000;   t=5",
                "\"a\";r=0;t=5;c=-123456789012.123;d=?1;e=@-999999999999999;f=123456789012345",
                "\"a\";r=0;t=5;c=*a!#$%&'*+-.^_`|~:/Z9",
                "\"a\";r=0;t=5;pk=::",
                "\"a\";r=0;t=5;pk=:YQ==:",
                "\"a\";r=0;t=5;pk=:YQ:",
                "\"a\";r=0;t=5;pk=:+/aB:",
                "\"a\";r=0;t=5;c=%\"%e2%82%ac %f0%9f%98%80 %ef%bf%bf~\"",
                "\"a\";r=0;t=5\t ,\t \"b\";r=1",
                "\"a\";r=0;t=5, ( 1  2 );x"
            })
    void everything_that_structured_fields_allow_is_stepped_over(String value) {
        assertThat(read(200, "RateLimit", value).delay()).isEqualTo(seconds(5));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "\"a\";r=0;t=5;c=%\"%C3\"",
                "\"a\";r=0;t=5;c=%\"%c\"",
                "\"a\";r=0;t=5;c=%\"x",
                "\"a\";r=0;t=5;c=%x",
                "\"a\";r=0;t=5, (1 2",
                "\"a\";r=0;t=5, (1,2)",
                "\"a\";r=0;t=5, (1 (2))",
                "\"a\";r=0;t=5, (1\"x\")",
                "remaining=0, reset=5, =3",
                "remaining=0, reset=5,",
                "\"a\" ;r=0;t=5",
                "\"a\"\t;r=0;t=5",
                "\"a\";\tr=0;t=5",
                "\"a\";r=0 ;t=5",
                "\"a\";r =0;t=5",
                "\"a\";r= 0;t=5",
                "\"a\";r=0;t=5;",
                "\"a\";r=0;t=5, (1\t2)",
                "\"a\";r=0;t=5;c=?2",
                "\"a\";r=0;t=5;c=?",
                "\"a\";r=0;t=5;c=?00",
                "\"a\";r=0;t=5;c=@1.5",
                "\"a\";r=0;t=5;c=@",
                "\"a\";r=0;t=5;c=@1234567890123456",
                "\"a\";r=0000000000000000;t=5",
                "\"a\";r=0;t=1000000000000000",
                "\"a\";r=0;t=5;c=-1000000000000000",
                "\"a\";r=0;t=5;c=1.2345",
                "\"a\";r=0;t=5;c=1234567890123.1",
                "\"a\";r=0;t=5;c=1.",
                "\"a\";r=0;t=5;c=.5",
                "\"a\";r=0;t=5;c=--1",
                "\"a\";r=0;t=5;c=+1",
                "\"a\";r=0;t=5;c=a@b",
                "\"a\";r=0;t=5;c=a{b}",
                "\"a\";r=0;t=5;c=a<b",
                "\"a\";r=0;t=5;c=a\\b",
                "\"a\";r=0;t=5;c=a?b",
                "\"a\";r=0;t=5;c=a[1]",
                "\"a\";r=0;t=5;pk=:YQ=a:",
                "\"a\";r=0;t=5;pk=:YQ=:",
                "\"a\";r=0;t=5;pk=:YQ===:",
                "\"a\";r=0;t=5;pk=:Y:",
                "\"a\";r=0;t=5;pk=:Y-_=:",
                "\"a\";r=0;t=5;c=%\"%ff\"",
                "\"a\";r=0;t=5;c=%\"%c3%28\"",
                "\"a\";r=0;t=5;c=%\"%c3x\"",
                "\"a\";r=0;t=5;c=%\"%c0%80\"",
                "\"a\";r=0;t=5;c=%\"%e0%80%80\"",
                "\"a\";r=0;t=5;c=%\"%ed%a0%80\"",
                "\"a\";r=0;t=5;c=%\"%f4%90%80%80\"",
                "\"a\";r=0;t=5;c=%\"%e2%82\"",
                "limit=9, remaining=0, reset=1000000000000000",
                "limit=9 ;x=1, remaining=0, reset=5"
            })
    void a_field_that_breaks_the_grammar_counts_for_nothing(String value) {
        assertThat(read(200, "RateLimit", value)).isSameAs(RateLimitSignal.none(200));
    }

    @Test
    void a_parameter_is_known_by_its_letters_and_not_by_a_sum_of_them() {
        assertThat(read(200, "RateLimit", "\"a\";r=5;t=5;lh1z=0").quotas())
                .extracting(Quota::remaining)
                .containsExactly(5L);
    }

    @Test
    void no_name_of_four_characters_is_taken_for_a_word_that_it_is_not() {
        List<String> words = List.of("size", "next", "left", "used", "name", "time", "date");
        String characters = "abcdefghijklmnopqrstuvwxyz0123456789_.";
        int length = characters.length();
        List<String> mistaken = new ArrayList<>();
        for (int i = 0; i < length * length * length * length; i++) {
            long code = 0;
            char[] name = new char[4];
            for (int j = 0, rest = i; j < 4; j++, rest /= length) {
                name[j] = characters.charAt(rest % length);
                code = HeaderWord.append(code, name[j]);
            }
            if (HeaderWord.of(code, 4) != HeaderWord.UNKNOWN && !words.contains(new String(name))) {
                mistaken.add(new String(name));
            }
        }
        assertThat(mistaken).isEmpty();
    }

    @Test
    void two_dictionaries_are_two_quotas_unless_the_second_only_goes_on() {
        List<Quota> two = read(
                        200,
                        "RateLimit",
                        "limit=100, remaining=50, reset=500",
                        "RateLimit",
                        "limit=10, remaining=0, reset=1")
                .quotas();
        assertThat(two).extracting(Quota::limit).containsExactly(100L, 10L);
        assertThat(two).extracting(Quota::remaining).containsExactly(50L, 0L);
        assertThat(two).extracting(Quota::reset).containsExactly(seconds(500), seconds(1));

        assertThat(read(200, "RateLimit", "limit=100, remaining=0", "RateLimit", "reset=5")
                        .quotas())
                .singleElement()
                .matches(quota -> quota.limit() == 100
                        && quota.remaining() == 0
                        && seconds(5).equals(quota.reset()));
        assertThat(read(
                                200,
                                "RateLimit",
                                "limit=1, remaining=1",
                                "RateLimit",
                                "limit=2, remaining=0",
                                "RateLimit",
                                "reset=5")
                        .delay())
                .isEqualTo(seconds(5));
    }

    @Test
    void a_dictionary_and_single_headers_are_one_quota_only_where_they_agree_whichever_comes_first() {
        String[] dictionary = {"RateLimit", "limit=5, remaining=2, reset=9"};
        String[] singles = {"RateLimit-Limit", "10", "RateLimit-Remaining", "0", "RateLimit-Reset", "1700000030"};
        long now = 1_700_000_000_000L;
        for (Headers both : List.of(both(dictionary, singles), both(singles, dictionary))) {
            RateLimitSignal signal = Dialects.standard().read(200, both, now);
            assertThat(signal.delay()).isEqualTo(seconds(30));
            assertThat(signal.quotas()).extracting(Quota::limit).containsExactlyInAnyOrder(5L, 10L);
        }
        String[] rest = {"RateLimit-Reset", "30", "RateLimit-Policy", "10;w=60"};
        String[] begun = {"RateLimit", "limit=10, remaining=0"};
        for (Headers both : List.of(both(begun, rest), both(rest, begun))) {
            assertThat(Dialects.standard().read(200, both, now).quotas())
                    .containsExactly(new Quota("", "requests", 10, 0, -1, seconds(30), seconds(60), null));
        }
    }

    private static Headers both(String[] some, String[] others) {
        List<String> all = new ArrayList<>(List.of(some));
        all.addAll(List.of(others));
        return Headers.of(all.toArray(new String[0]));
    }

    @Test
    void a_policy_is_the_quotas_by_name_and_partition_whichever_comes_first() {
        String mine = "\"a\";q=10;w=60;pk=:eA==:";
        String nobodys = "\"a\";q=99;w=999";
        for (String policies : List.of(mine + "," + nobodys, nobodys + "," + mine)) {
            RateLimitSignal signal = read(200, "RateLimit", "\"a\";r=0;pk=:eA==:", "RateLimit-Policy", policies);
            assertThat(signal.delay()).as(policies).isEqualTo(seconds(60));
            assertThat(signal.quotas().get(0).limit()).isEqualTo(10);
        }
        assertThat(read(200, "RateLimit", "\"a\";r=3", "RateLimit-Policy", mine)
                        .quotas()
                        .get(0)
                        .limit())
                .isEqualTo(-1);
    }

    @Test
    void the_window_of_a_policy_bounds_an_empty_quota_that_names_no_limit() {
        assertThat(read(200, "RateLimit-Remaining", "0", "RateLimit-Policy", "10;w=60")
                        .delay())
                .isEqualTo(seconds(60));
        assertThat(read(200, "RateLimit-Remaining", "0", "RateLimit-Policy", "10;w=60")
                        .quotas())
                .singleElement()
                .matches(quota -> quota.limit() == 10);
        assertThat(read(200, "RateLimit-Remaining", "0", "RateLimit-Policy", "10;w=1, 500;w=3600")
                        .delay())
                .isEqualTo(seconds(3600));
        assertThat(read(200, "RateLimit-Remaining", "0", "RateLimit-Limit", "10", "RateLimit-Policy", "10;w=1, 50;w=60")
                        .delay())
                .isEqualTo(seconds(1));
    }

    @Test
    void calls_in_flight_at_zero_are_cured_by_one_that_ends_but_a_refusal_takes_the_servers_time() {
        String[] lines = {"RateLimit-Policy", "\"c\";q=5;qu=\"concurrent-requests\"", "RateLimit", "\"c\";r=0;t=5"};

        assertThat(read(200, lines).delay()).isNull();
        assertThat(read(429, lines).delay()).isEqualTo(seconds(5));
    }
}
