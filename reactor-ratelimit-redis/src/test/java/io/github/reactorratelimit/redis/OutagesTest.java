package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisException;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What each error means, and what to do about it. */
class OutagesTest {

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            READONLY You can't write against a read only replica.                                 | connect to the master
            -READONLY You can't write against a read only replica.                                | connect to the master
            LOADING Redis is loading the dataset in memory                                        | is loading its data
            OOM command not allowed when used memory > 'maxmemory'.                               | raise maxmemory
            CROSSSLOT Keys in request don't hash to the same slot                                 | don't rename keys
            WRONGTYPE Operation against a key holding the wrong kind of value                     | choose another prefix
            NOPERM this user has no permissions to run the 'evalsha' command                      | docs/redis.md
            NOAUTH Authentication required.                                                       | wants a password
            CLUSTERDOWN Hash slot not served                                                      | no node for the limiter's slot
            MASTERDOWN Link with MASTER is down                                                   | lost its master
            BUSY Redis is busy running a script.                                                  | somebody else's
            NOREPLICAS Not enough good replicas to write.                                         | fewer replicas
            ERR Write commands not allowed after non deterministic commands                       | Redis 5 or later
            STALE batch 3 came after 4                                                            | a later call
            """)
    void an_error_says_what_it_means_what_to_do_and_what_redis_said(String said, String meaning) {
        Throwable explained = Outages.explained(new RedisCommandExecutionException(said));
        assertThat(explained).hasMessageContaining(meaning).hasMessageContaining(said);
        assertThat(explained.getCause()).hasMessage(said);
    }

    @Test
    void what_is_not_known_is_handed_on_as_it_is() {
        assertThat(Outages.explained(new CompletionException(new RedisException("Connection closed"))))
                .hasMessage("Redis failed (Connection closed)")
                .hasCauseInstanceOf(RedisException.class);
        assertThat(Outages.explained(new RedisException("Currently not connected. Commands are rejected.")))
                .hasMessageContaining("no connection");
    }
}
