package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.Dialects;
import java.time.Duration;
import java.util.Locale;
import java.util.Set;

/**
 * Specs of APIs whose limits are published, to be built as they are or changed first: {@code
 * Presets.oneNote().lane("background", Share.of(0.5)).build()}. Vendors change their limits; each preset names the page
 * that its figures are from and the version of that page.
 */
public final class Presets {

    private static final Duration MINUTE = Duration.ofMinutes(1);
    private static final Duration HOUR = Duration.ofHours(1);
    private static final String POINTS = "points";
    private static final String WRITES = "writes";
    private static final Set<String> READS = Set.of("GET", "HEAD", "OPTIONS");
    private static final long[] SLACK_TIERS = {1, 20, 50, 100};

    private Presets() {}

    /**
     * OneNote in Microsoft Graph, all six limits at once: 240 per minute, 800 per hour and 20 in flight per application;
     * 120 per minute, 400 per hour and 5 in flight per user. A demand names its {@code user}. Refusals come without a hint,
     * and each call that comes too early makes them last longer.
     *
     * <p>It is for an application that calls both for users who signed in and for itself. For one that does only one of
     * both there are {@link #oneNoteForUsers()} and {@link #oneNoteForApplication()}.
     *
     * @return the spec
     * @see <a href="https://learn.microsoft.com/graph/throttling-limits#onenote-service-limits">OneNote service limits</a>,
     *     version of 2025-01-14
     */
    public static RateLimiterSpec oneNote() {
        return oneNoteForApplication()
                .scope(Scope.by("user").limits(Limit.of(120, MINUTE), Limit.of(400, HOUR), Limit.inFlight(5)));
    }

    /**
     * The half of {@link #oneNote()} that holds with delegated permissions: the limits per {@code user}.
     *
     * @return the spec
     */
    public static RateLimiterSpec oneNoteForUsers() {
        return oneNote().limit();
    }

    /**
     * The half of {@link #oneNote()} that holds with application permissions: the limits of the application, without users.
     *
     * @return the spec
     */
    public static RateLimiterSpec oneNoteForApplication() {
        return RateLimiter.named("onenote")
                .limit(Limit.of(240, MINUTE), Limit.of(800, HOUR), Limit.inFlight(20))
                .dialect(Dialects.microsoftGraph());
    }

    /**
     * Outlook in Microsoft Graph (mail, calendar, contacts): 10,000 requests per 10 minutes and 4 in flight, per
     * application and {@code mailbox}, which a demand names.
     *
     * @return the spec
     * @see <a href="https://learn.microsoft.com/graph/throttling-limits#outlook-service-limits">Outlook service limits</a>,
     *     version of 2025-01-14
     */
    public static RateLimiterSpec outlook() {
        return RateLimiter.named("outlook")
                .scope(Scope.by("mailbox").limits(Limit.of(10_000, Duration.ofMinutes(10)), Limit.inFlight(4)))
                .dialect(Dialects.microsoftGraph());
    }

    /**
     * GitHub's REST API for one kind of signed-in user, per {@code token}: 5,000 requests per hour, 100 in flight, one
     * write per second; per {@code endpoint} 900 points per minute, where a GET, HEAD or OPTIONS costs 1 and anything else
     * 5; for {@code /search/{kind}}, all kinds together, 30 per minute. The {@code method} tells the cost; a demand without
     * one is taken for a write. Searches count against the 5,000 too, although GitHub counts them apart.
     *
     * <p>Paths with identifiers in them are endpoints of their own unless the demand says otherwise; give it the pattern,
     * such as {@code /repos/{owner}/{repo}}. A reset of up to an hour is waited for.
     *
     * @return the spec
     * @see <a href="https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api">Rate limits</a>, <a
     *     href="https://docs.github.com/rest/search/search#rate-limit">search</a> and <a
     *     href="https://docs.github.com/rest/using-the-rest-api/best-practices-for-using-the-rest-api">best practices</a>,
     *     API version 2026-03-10
     */
    public static RateLimiterSpec gitHub() {
        Limit points = Limit.of(900, MINUTE).unit(POINTS);
        Limit writes = Limit.of(1, Duration.ofSeconds(1)).unit(WRITES);
        return RateLimiter.named("github")
                .scope(Scope.by("token").limits(Limit.of(5_000, HOUR), Limit.inFlight(100), writes))
                .scope(Scope.by("endpoint").limits(points).limit("/search/{kind}", Limit.of(30, MINUTE)))
                .costs(Presets::gitHubCosts)
                .maxServerDelay(HOUR)
                .dialect(Dialects.gitHub());
    }

    private static Demand gitHubCosts(Demand demand) {
        String method = demand.attribute("method");
        boolean reads = method != null && READS.contains(method.toUpperCase(Locale.ROOT));
        long requests = demand.cost(Limit.REQUESTS);
        return demand.cost(POINTS, reads ? requests : 5 * requests).cost(WRITES, reads ? 0 : requests);
    }

    /**
     * GitHub's REST API without a token: 60 requests per hour, counted by GitHub per address. A demand names its {@code
     * egress}: the address, or the proxy, that it leaves by. A reset of up to an hour is waited for.
     *
     * @return the spec
     * @see <a href="https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api">Rate limits</a>, API
     *     version 2026-03-10
     */
    public static RateLimiterSpec gitHubAnonymous() {
        return RateLimiter.named("github-anonymous")
                .scope(Scope.by("egress").limits(Limit.of(60, HOUR)))
                .maxServerDelay(HOUR)
                .dialect(Dialects.gitHub());
    }

    /**
     * Notion: three requests per second on average, per integration, which its {@code token} tells. Notion lets short
     * bursts pass; this preset does not use that.
     *
     * @return the spec
     * @see <a href="https://developers.notion.com/reference/request-limits">Request limits</a>, API version 2022-06-28
     */
    public static RateLimiterSpec notion() {
        return RateLimiter.named("notion").scope(Scope.by("token").limits(Limit.of(3, Duration.ofSeconds(1))));
    }

    /**
     * Slack's Web API: each method ({@code endpoint}) has its tier per application and workspace, which its {@code token}
     * tells. The methods of this spec are all of one tier; where they are not, give {@link Scope#limit} the others with
     * {@link #slackTier}. The further limit of {@code chat.postMessage}, one per second and channel, is not in it.
     *
     * @param tier 1 to 4
     * @return the spec
     * @throws IllegalArgumentException if there is no such tier
     * @see <a href="https://docs.slack.dev/apis/web-api/rate-limits">Rate limits</a>, version of 2025-05-29
     */
    public static RateLimiterSpec slack(int tier) {
        return RateLimiter.named("slack").scope(Scope.by("endpoint", "token").otherwise(slackTier(tier)));
    }

    /**
     * What Slack lets through at least in a tier: 1, 20, 50 or 100 requests per minute.
     *
     * @param tier 1 to 4
     * @return the limit
     * @throws IllegalArgumentException if there is no such tier
     * @see <a href="https://docs.slack.dev/apis/web-api/rate-limits">Rate limits</a>, version of 2025-05-29
     */
    public static Limit slackTier(int tier) {
        if (tier < 1 || tier > SLACK_TIERS.length) {
            throw new IllegalArgumentException("a Slack tier must be between 1 and 4, was " + tier);
        }
        return Limit.of(SLACK_TIERS[tier - 1], MINUTE);
    }
}
