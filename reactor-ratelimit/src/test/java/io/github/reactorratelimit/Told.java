package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import reactor.util.context.ContextView;

/** A listener that writes down what it is told, a line per event, with the attempt's number in front. */
final class Told implements RateLimitListener {

    final List<String> lines = new CopyOnWriteArrayList<>();
    final List<Subject> subjects = new CopyOnWriteArrayList<>();

    private void note(Subject who, String line) {
        subjects.add(who);
        lines.add(who.attempt() + " " + line);
    }

    @Override
    public void built(RateLimiter limiter) {
        lines.add("built " + limiter.spec().name());
    }

    @Override
    public void changed(RateLimiter limiter) {
        lines.add("changed to " + limiter.spec().rootLimits());
    }

    @Override
    public AttemptListener attempt(Subject who, ContextView caller) {
        note(who, "begins for " + caller.getOrDefault("caller", "nobody"));
        return new AttemptListener() {
            @Override
            public void released(Subject own, Duration held, Ending ending) {
                note(own, "is over by its own listener");
            }
        };
    }

    @Override
    public void asked(Subject who) {
        note(who, "asked");
    }

    @Override
    public void waiting(Subject who, Queue queue) {
        note(who, "waits for " + queue.blockedBy() + " behind " + queue.ahead() + " for " + queue.expected());
    }

    @Override
    public void granted(Subject who, Duration waited) {
        note(who, "granted after " + waited);
    }

    @Override
    public void refused(Subject who, Duration waited, Throwable why) {
        note(who, "refused after " + waited + " " + why.getClass().getSimpleName());
    }

    @Override
    public void left(Subject who, Duration waited) {
        note(who, "left after " + waited);
    }

    @Override
    public void sent(Subject who) {
        note(who, "sent");
    }

    @Override
    public void answered(Subject who, RateLimitSignal signal) {
        note(who, "answered " + signal.status());
    }

    @Override
    public void throttled(Subject who, RateLimitSignal signal, Duration closedFor) {
        note(who, "throttled " + signal.status() + " for " + closedFor);
    }

    @Override
    public void closed(Closing closing) {
        lines.add("closed " + closing.keys() + " for " + closing.remaining() + ", " + closing.added() + " more, "
                + closing.cause());
    }

    @Override
    public void opened(String limiter, List<String> keys) {
        lines.add("opened " + keys);
    }

    @Override
    public void retried(Subject who, Retry retry) {
        note(who, "again as " + retry.next() + ", " + retry.reason() + ", in " + retry.delay());
    }

    @Override
    public void exhausted(Subject who, RetriesExhaustedException why) {
        note(who, "exhausted by " + why.attempts());
    }

    @Override
    public void failed(Subject who, Throwable error) {
        note(who, "failed " + error.getClass().getSimpleName());
    }

    @Override
    public void settled(Subject who, String unit, long asked, long actual) {
        note(who, "settled " + asked + " " + unit + " to " + actual);
    }

    @Override
    public void released(Subject who, Duration held, Ending ending) {
        note(who, "released after " + held + " " + ending);
    }

    @Override
    public void proxyFailed(Subject who, String proxy, Throwable error) {
        note(who, "proxy " + proxy + " " + error.getMessage());
    }

    /** What was told since the last time. */
    List<String> take() {
        List<String> all = List.copyOf(lines);
        lines.clear();
        return all;
    }
}
