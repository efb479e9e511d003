package io.github.reactorratelimit.examples.simulation;

import io.github.reactorratelimit.examples.simulation.Results.AtServer;
import java.util.stream.Collectors;

/** The page that the figures are shown on: {@code docs/simulation.md}. */
final class Page {

    private static final String HEAD = """
            # Simulation: what a client does about limits, and what comes of it

            Nine clients against ten servers with hidden limits, in virtual time and seeded, so that every run gives these
            figures. All of this page is written by

            ```sh
            mvn -B -q -Psimulation -DskipTests -pl examples -am verify
            ```

            and a test fails when the tables are not what the code says.

            ## What is simulated

            Three hundred calls are wanted, and twenty of them are under way or waiting at any time. Every server gives 5 per
            10 s, each in its own way: in fixed windows that start with the first request, in windows aligned to its clock, in
            sliding windows, as a token bucket of 5 that refills at 0.5 a second, or as 5 calls in flight that take 10 s each.
            Its clock is 41.3 s ahead. A way there or back takes 10 to 40 ms, so a period is some 200 round trips.
            Servers that tell send `Retry-After` with a 429, in whole seconds, and all but the last kind `X-RateLimit-Limit`,
            `-Remaining` and `-Reset` with each answer, in whole seconds, too. Servers that tell nothing send a bare 429.

            | client | what it does |
            | --- | --- |
            | no limiter, no retry | sends; what is refused is lost |
            | at once, until it is 200 | sends again when it is refused, at once |
            | backoff with jitter | sends again after a random time up to 0.5, 1, 2, 4, 8, 16, 20 s … |
            | Retry-After per call | sends again after the time that the refusal told; without one, as above |
            | bucket 0.5/s burst 5 | knows the rate: a token bucket before each request, and backoff with jitter |
            | bucket 0.4/s burst 1 | the same, evenly and with a fifth of headroom |
            | **ours, unconfigured** | this library, told nothing |
            | **ours, learning** | this library with `learn()` |
            | **ours, configured** | this library with `Limit.of(5, ofSeconds(10))`, or `Limit.inFlight(5)` |

            *Of the optimum*: the time that it takes at least, if each call goes at the first instant at which the server lets it
            pass and no way takes time, as a share of the time it took; times the share that was answered. *Wait* is from when a
            call became one of the twenty to its answer; the twenty before it take 40 s at 5 per 10 s.

            ## What comes of it

            - With known limits ours is never refused, spends one request per call, which nobody undercuts, and reaches 99 % of the
              optimum everywhere. Half of the calls wait 40.2 s at least, none more than 40.3 s.
            - Retrying at once gets every permit the instant it is there, and sends six hundred requests or so for each. Obeying
              `Retry-After` per call is as fast as ours with known limits, for four to twenty requests per call, and some callers
              starve: the last percent waits 100 s and more, at calls in flight all of the ten minutes. Where servers tell nothing
              it is backoff, whose last percent waits for three to ten minutes.
            - The textbook's bucket with the server's own rate and burst is refused by all servers: it lets ten go in the first ten
              seconds, and on the way requests move together, so that even a bucket refuses it. The slower one is not refused, and
              reaches 79 %.
            - Told no limits, ours is refused once in two periods where servers tell quotas; with `learn()` not at all. Both reach
              86 % and more there, for resets in whole seconds cost up to a second per period. Calls in flight are no quota, so
              there is nothing to learn: the ramp finds them, for three refusals and at 78 %.
            - Where nobody tells anything, neither the caller nor the server, ours is refused three to seven times per period, where
              backoff is 26 to 39 times, and six times in all for calls in flight. It pays in time for each ramp: 59 % of the
              optimum at fixed and sliding windows, which don't forgive a retry that is early.

            ![answers per time](simulation/goodput.svg)

            """;

    private static final String LOSS = """
            ## What the start costs, and what each period does

            What ours takes longer than the optimum with known limits, told apart by what the second half of its calls adds:

            """;

    private static final String DISTANCE = """

            Once: a round trip, and at aligned windows the 1.3 s by which the first window is over early. A client can't know where
            a server's windows start, and one that went by what it believes to be an edge would send ten in one span of 10 s. In
            each period: a thousandth of it as a margin, and the slowest way out and back of those on which the next permit waits.
            So the longer the work, the less the start counts: sixty calls at aligned windows would be 98.1 %.

            ## The price of a round trip

            A server may have counted a request as late as it answered it, or a second after it was sent, whichever is earlier. From
            then on a permit takes one period P to come back, and a thousandth of it as a margin. So each period costs a round trip,
            and no more than a second:

            ```text
            of the optimum = 1 / (1 + min(round trip, 1 s) / P + 1/1000)
            ```

            That is 98.91 % where all round trips take exactly a hundredth of the period, and 99 % from 110 round trips in a period
            on. To do better there one would have to take a request for counted before its answer is here, and be refused whenever
            it was counted later. What a server tells of its quota changes nothing: our own clock is the finer one. Ours with known
            limits, at a sliding window, every way equally long; beside the formula what was measured, the start included:

            """;

    private static final String LANES = """

            ![the price of a round trip](simulation/distance.svg)

            ## Wait per lane

            A job of sixty calls at once, and beside it fourteen people, one every 8 s or so, at a sliding window that tells of
            itself. With lanes (`.lane("background", Share.of(0.8))`) the job may use 4 of the 5 and people go first.

            """;

    private static final String FOOT = """

            ![wait per lane](simulation/lanes.svg)

            The fifth that is kept free for people is not used while nobody comes, which is what the job is slower for.
            """;

    private Page() {}

    static String of(Results results) {
        return HEAD
                + results.servers().stream().map(Page::section).collect(Collectors.joining())
                + LOSS
                + Tables.losses(results.servers())
                + DISTANCE
                + Tables.distances(results.distances())
                + LANES
                + Tables.lanes(results.lanes())
                + FOOT;
    }

    private static String section(AtServer at) {
        String title = at.service().name() + (at.service().hints() ? "" : ", telling nothing");
        return "## Server: " + title + "\n\n" + Tables.clients(at.outcomes()) + "\n![" + title
                + "](simulation/timeline-" + at.service().file() + ".svg)\n\n";
    }
}
