package io.github.reactorratelimit.signal;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Microsoft Graph: {@code x-ms-throttle-scope} names who was refused, {@code x-ms-throttle-limit-percentage} is the usage
 * from 0.8 on, {@code x-ms-resource-unit} the cost. Everything else, SharePoint's {@code RateLimit-*} included, is the
 * standard's.
 */
final class MicrosoftGraphDialect implements Dialect {

    private static final int BODY = 256 * 1024;
    private static final int MOST_SCOPES = 16;
    private static final String[] NOBODY = {};
    /** One client is one application, which may serve many tenants. */
    private static final List<String> WIDEST_FIRST = List.of("application", "tenant", "tenant_application");

    private final Dialect standard = StandardDialect.INSTANCE;
    private final boolean batch;

    MicrosoftGraphDialect(boolean batch) {
        this.batch = batch;
    }

    @Override
    public RateLimitSignal read(int status, Headers headers, long wallNowMillis) {
        RateLimitSignal signal = standard.read(status, headers, wallNowMillis);
        Own own = new Own();
        headers.forEach(own::line);
        if (own.scope == null && Double.isNaN(own.usage) && own.unit < 0) {
            return signal;
        }
        RateLimitSignal.Builder builder = signal.toBuilder();
        if (own.scope != null) {
            builder.scope(own.scope);
        }
        if (!Double.isNaN(own.usage)) {
            builder.usage(own.usage);
        }
        if (own.unit >= 0) {
            builder.cost(own.unit);
        }
        return builder.build();
    }

    @Override
    public int bodyBytes(int status, Headers headers) {
        return batch && status == 200 ? BODY : 0;
    }

    @Override
    public RateLimitSignal readBody(int status, Headers headers, byte[] body, long wallNowMillis) {
        RateLimitSignal signal = read(status, headers, wallNowMillis);
        if (!batch || status != 200) {
            return signal;
        }
        Parts parts = new Parts(DateLines.of(headers), wallNowMillis);
        // a batch that was cut off still tells the truth about the parts before the cut
        BodyReader.present().walk(body, 0, parts);
        return parts.refused == null ? signal : parts.into(signal);
    }

    @Override
    public String toString() {
        return batch ? "Microsoft Graph batches" : "Microsoft Graph";
    }

    // "User", "Application", "user, application"; "Tenant_Application/ReadWrite/<application>/<tenant>"
    private static @Nullable String widest(@Nullable String scope, @Nullable String value) {
        String widest = scope;
        for (String member : value == null ? NOBODY : BodyText.plain(value).split(",", MOST_SCOPES)) {
            int slash = member.indexOf('/');
            String name = BodyText.plain(slash < 0 ? member : member.substring(0, slash))
                    .toLowerCase(Locale.ROOT);
            widest = name.isEmpty() ? widest : wider(widest, name);
        }
        return widest;
    }

    /** The wider one holds the narrower one too; of those that cannot be told, both. */
    private static String wider(@Nullable String scope, String other) {
        if (scope == null || scope.equals(other)) {
            return other;
        }
        for (String wide : WIDEST_FIRST) {
            if (scope.equals(wide) || other.equals(wide)) {
                return wide;
            }
        }
        return scope.contains(other) ? scope : scope + ", " + other;
    }

    /** The headers that only Graph has. */
    private static final class Own {

        private @Nullable String scope;
        /** The fullest that is told of; NaN for none. */
        private double usage = Double.NaN;
        /** -1 for none. */
        private long unit = -1;

        void line(String name, String value) {
            switch (name.length()) {
                case 18 -> unit = HeaderName.same(name, "x-ms-resource-unit") ? Math.max(unit, units(value)) : unit;
                case 19 -> scope = HeaderName.same(name, "x-ms-throttle-scope") ? widest(scope, value) : scope;
                case 30 -> usage = HeaderName.same(name, "x-ms-throttle-limit-percentage") ? fuller(value) : usage;
                default -> {}
            }
        }

        private double fuller(String value) {
            double fullest = usage;
            for (String member : value.split(",", MOST_SCOPES)) {
                double share = BodyText.share(BodyText.plain(member));
                fullest = Double.isNaN(fullest) || share > fullest ? share : fullest;
            }
            return fullest;
        }

        private static long units(String value) {
            long most = -1;
            for (String member : value.split(",", MOST_SCOPES)) {
                most = Math.max(most, BodyText.count(BodyText.plain(member)));
            }
            return most;
        }
    }

    /** The parts of a {@code $batch} answer, each a response of its own inside a 200. */
    private final class Parts implements BodyReader.Leaves {

        private static final String PART = "responses[]";
        private static final String HEADER = PART + ".headers.";

        /** The server's clock, for parts without a {@code Date} of their own. */
        private final List<String> dates;

        private final long wallNowMillis;
        private final List<String> headers = new ArrayList<>();
        private int status;
        /** The one with the longest wait. */
        private @Nullable RateLimitSignal refused;

        private @Nullable String scope;
        /** A part was not refused, so the batch must not be sent again as it is. */
        private boolean partial;

        Parts(List<String> dates, long wallNowMillis) {
            this.dates = dates;
            this.wallNowMillis = wallNowMillis;
        }

        @Override
        public void leaf(String path, String text) {
            if (path.equals(PART + ".status")) {
                status = (int) Math.max(0, Math.min(999, BodyText.count(text)));
            } else if (path.startsWith(HEADER) && headers.size() < BodyReader.MOST_LINES) {
                headers.add(path.substring(HEADER.length()));
                headers.add(text);
            }
        }

        @Override
        public void end(String path) {
            if (path.equals(PART)) {
                headers.addAll(dates);
                RateLimitSignal part = read(status, Headers.of(headers.toArray(new String[0])), wallNowMillis);
                if (part.throttled()) {
                    refused = isLonger(part) ? part : refused;
                    scope = widest(scope, part.scope());
                }
                partial |= !part.throttled();
                status = 0;
                headers.clear();
            }
        }

        private boolean isLonger(RateLimitSignal part) {
            if (refused == null || refused.delay() == null) {
                return true;
            }
            Duration delay = part.delay();
            return delay != null && delay.compareTo(refused.delay()) > 0;
        }

        RateLimitSignal into(RateLimitSignal whole) {
            return refused == null
                    ? whole
                    : whole.toBuilder()
                            .throttled(true)
                            .partial(partial)
                            .hint(refused.hint())
                            .delay(refused.delay())
                            .coarse(refused.coarse())
                            .scope(widest(scope, whole.scope()))
                            .reason("parts of the batch were refused: " + refused.reason())
                            .build();
        }
    }
}
