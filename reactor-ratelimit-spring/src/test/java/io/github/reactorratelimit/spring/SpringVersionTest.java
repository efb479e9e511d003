package io.github.reactorratelimit.spring;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.springframework.core.SpringVersion;
import org.springframework.web.reactive.function.client.WebClient;

class SpringVersionTest {

    @Test
    void the_tests_run_on_the_spring_that_the_build_says() {
        String wanted = System.getProperty("spring.tested");
        assertThat(wanted).isNotNull();
        assertThat(SpringVersion.getVersion()).isEqualTo(wanted);
        assertThat(WebClient.class.getPackage().getImplementationVersion()).isEqualTo(wanted);
    }
}
