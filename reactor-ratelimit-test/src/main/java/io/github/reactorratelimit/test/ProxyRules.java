package io.github.reactorratelimit.test;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a {@link FakeProxy} does. Immutable; every method that adds a rule returns a copy. Without a rule it opens a
 * tunnel for everybody to wherever they ask.
 */
public final class ProxyRules {

    /** Who a client says it is. */
    record Login(String user, String password) {
        String basic() {
            byte[] both = (user + ":" + password).getBytes(StandardCharsets.UTF_8);
            return "Basic " + Base64.getEncoder().encodeToString(both);
        }
    }

    private final boolean socks;
    private final @Nullable Login login;
    private final boolean rejecting;
    private final List<Reply> script;
    private final @Nullable Reply always;

    private ProxyRules(
            boolean socks, @Nullable Login login, boolean rejecting, List<Reply> script, @Nullable Reply always) {
        this.socks = socks;
        this.login = login;
        this.rejecting = rejecting;
        this.script = script;
        this.always = always;
    }

    static ProxyRules of(boolean socks) {
        return new ProxyRules(socks, null, false, List.of(), null);
    }

    /**
     * Asks for a login: Basic for HTTP, where others get a 407 with {@code Proxy-Authenticate}; user and password for
     * SOCKS5.
     *
     * @param user the user that may pass
     * @param password that user's password
     * @return a copy that asks for it
     */
    public ProxyRules credentials(String user, String password) {
        return new ProxyRules(socks, new Login(user, password), rejecting, script, always);
    }

    /**
     * Asks for a login and accepts none.
     *
     * @return a copy that lets nobody in
     */
    public ProxyRules rejectLogins() {
        return new ProxyRules(socks, login, true, script, always);
    }

    /**
     * Opens no tunnel; every CONNECT gets this reply, for example {@code Reply.status(502)} or {@code Reply.hang()}.
     * Over SOCKS5 a reply with a status is a general failure, the others are as they say. Comes after the login.
     *
     * @param reply what every CONNECT gets
     * @return a copy that refuses
     */
    public ProxyRules refuse(Reply reply) {
        return new ProxyRules(socks, login, rejecting, script, reply);
    }

    /**
     * Refuses the first CONNECTs, one reply for each, and then does what the other rules say. Comes after the login.
     *
     * @param replies what the first CONNECTs get, in order
     * @return a copy with this script after the one it has
     */
    public ProxyRules script(Reply... replies) {
        List<Reply> all = new ArrayList<>(script);
        all.addAll(List.of(replies));
        return new ProxyRules(socks, login, rejecting, List.copyOf(all), always);
    }

    /**
     * Starts the proxy on a free port of 127.0.0.1. Blocks until it listens.
     *
     * @return the running proxy
     */
    public FakeProxy start() {
        return FakeProxy.start(this);
    }

    boolean socks() {
        return socks;
    }

    boolean asksForLogin() {
        return login != null || rejecting;
    }

    boolean accepts(String user, String password) {
        return !rejecting && new Login(user, password).equals(login);
    }

    boolean acceptsBasic(@Nullable String authorization) {
        return !asksForLogin() || (!rejecting && login != null && login.basic().equals(authorization));
    }

    /** The refusal of the n-th CONNECT after the login, from 1, or null if it gets its tunnel. */
    @Nullable
    Reply refusal(int n) {
        return n <= script.size() ? script.get(n - 1) : always;
    }
}
