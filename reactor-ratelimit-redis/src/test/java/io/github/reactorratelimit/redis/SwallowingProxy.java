package io.github.reactorratelimit.redis;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Stands between a client and a server and can stop forwarding, in both directions or one, without closing anything. */
final class SwallowingProxy implements AutoCloseable {

    private final ServerSocket entrance;
    private final int target;
    private final List<Socket> open = new CopyOnWriteArrayList<>();
    private volatile boolean swallowsCalls;
    private volatile boolean swallowsReplies;

    SwallowingProxy(int target) {
        this.target = target;
        try {
            entrance = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        daemon(this::accept);
    }

    int port() {
        return entrance.getLocalPort();
    }

    void swallowCalls(boolean on) {
        swallowsCalls = on;
    }

    void swallowReplies(boolean on) {
        swallowsReplies = on;
    }

    /** Ends all connections. */
    void cut() {
        open.forEach(SwallowingProxy::shut);
        open.clear();
    }

    private void accept() {
        while (!entrance.isClosed()) {
            try {
                Socket client = entrance.accept();
                Socket server = new Socket(InetAddress.getLoopbackAddress(), target);
                open.add(client);
                open.add(server);
                daemon(() -> copy(client, server, true));
                daemon(() -> copy(server, client, false));
            } catch (IOException e) {
                cut();
            }
        }
    }

    private void copy(Socket from, Socket to, boolean calls) {
        byte[] buffer = new byte[65_536];
        try {
            InputStream in = from.getInputStream();
            OutputStream out = to.getOutputStream();
            for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
                if (!(calls ? swallowsCalls : swallowsReplies)) {
                    out.write(buffer, 0, n);
                    out.flush();
                }
            }
        } catch (IOException e) {
            // The other direction closed it.
        }
        shut(from);
        shut(to);
    }

    private static void daemon(Runnable work) {
        Thread thread = new Thread(work, "swallowing-proxy");
        thread.setDaemon(true);
        thread.start();
    }

    private static void shut(Socket socket) {
        try {
            socket.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        cut();
        try {
            entrance.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
