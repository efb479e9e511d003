package io.github.reactorratelimit.test;

import java.lang.reflect.AnnotatedElement;
import java.time.DateTimeException;
import java.time.Instant;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ExtensionConfigurationException;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolutionException;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.platform.commons.support.AnnotationSupport;

/** Makes a test's {@link VirtualTime} when it is first asked for, and checks it when the test is over. */
final class VirtualTimeExtension implements ParameterResolver, AfterEachCallback {

    private static final ExtensionContext.Namespace OURS = ExtensionContext.Namespace.create(VirtualTime.class);

    /** Else a constructor would get the context of the class, which all its tests share. */
    @Override
    public ExtensionContextScope getTestInstantiationExtensionContextScope(ExtensionContext root) {
        return ExtensionContextScope.TEST_METHOD;
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        return parameter.getParameter().getType() == VirtualTime.class;
    }

    @Override
    public VirtualTime resolveParameter(ParameterContext parameter, ExtensionContext context) {
        if (context.getTestMethod().isEmpty()) {
            throw new ParameterResolutionException("A VirtualTime belongs to one test. Take it in the constructor of a"
                    + " class with an instance per test, in @BeforeEach, in the test or in @AfterEach, not in "
                    + parameter.getDeclaringExecutable());
        }
        return context.getStore(OURS)
                .getOrComputeIfAbsent(VirtualTime.class, key -> start(settings(context)), VirtualTime.class);
    }

    private static VirtualTime start(@Nullable InVirtualTime settings) {
        String wallClock = settings == null ? InVirtualTime.START : settings.wallClock();
        try {
            return VirtualTime.startingAt(Instant.parse(wallClock));
        } catch (DateTimeException | IllegalArgumentException e) {
            throw new ExtensionConfigurationException(
                    "wallClock must be an instant such as " + InVirtualTime.START + ", was '" + wallClock + "'", e);
        }
    }

    @Override
    public void afterEach(ExtensionContext context) {
        VirtualTime time = context.getStore(OURS).get(VirtualTime.class, VirtualTime.class);
        InVirtualTime settings = settings(context);
        boolean wanted = settings == null || settings.leakCheck();
        // What a test that failed half-way leaves over says nothing new.
        if (time != null && wanted && context.getExecutionException().isEmpty()) {
            time.checkLeaks();
        }
    }

    private static @Nullable InVirtualTime settings(ExtensionContext context) {
        InVirtualTime found =
                context.getTestMethod().map(VirtualTimeExtension::settings).orElse(null);
        Class<?> at = context.getTestClass().orElse(null);
        while (found == null && at != null) {
            found = settings(at);
            at = at.getEnclosingClass();
        }
        return found;
    }

    private static @Nullable InVirtualTime settings(AnnotatedElement element) {
        return AnnotationSupport.findAnnotation(element, InVirtualTime.class).orElse(null);
    }
}
