package io.github.reactorratelimit.test;

import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import java.io.IOException;
import java.io.InputStream;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.X509Certificate;
import javax.net.ssl.KeyManagerFactory;

/**
 * The self-signed certificate for localhost and 127.0.0.1 that comes with the kit. It is a file because the JDK can't
 * make one at run time without another library; its key is public, so nothing but a test may trust it.
 */
final class TestCertificate {

    private static final String FILE = "localhost.p12";
    private static final char[] PASSWORD = "changeit".toCharArray();

    private TestCertificate() {}

    static X509Certificate certificate() {
        try {
            return (X509Certificate) load().getCertificate("localhost");
        } catch (GeneralSecurityException | IOException e) {
            throw new IllegalStateException(FILE + " can't be read", e);
        }
    }

    static SslContext serverContext() {
        try {
            KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
            keys.init(load(), PASSWORD);
            return SslContextBuilder.forServer(keys).build();
        } catch (GeneralSecurityException | IOException e) {
            throw new IllegalStateException(FILE + " can't be used", e);
        }
    }

    private static KeyStore load() throws GeneralSecurityException, IOException {
        KeyStore store = KeyStore.getInstance("PKCS12");
        try (InputStream in = TestCertificate.class.getResourceAsStream(FILE)) {
            store.load(in, PASSWORD);
        }
        return store;
    }
}
