package io.github.reactorratelimit.examples.simulation;

import io.github.reactorratelimit.examples.simulation.Outcome.Answer;
import io.github.reactorratelimit.examples.simulation.Outcome.Slice;
import io.github.reactorratelimit.test.RequestLog;
import io.github.reactorratelimit.test.SimulatedResponse;
import io.github.reactorratelimit.test.SimulatedService;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** One client at one server, from the first call that is wanted to the last that is answered. */
final class Run {

    static final int CALLS = 60;
    static final Duration SLICE = Duration.ofSeconds(5);
    /** Who isn't through by then is not waited for. */
    private static final Duration HORIZON = Duration.ofMinutes(15);

    private static final int OF_PEOPLE = 14;
    private static final int BETWEEN_PEOPLE = 8_000;

    /**
     * A call that somebody wants.
     *
     * @param at when, since the start
     * @param lane whose it is
     */
    record Wanted(Duration at, String lane) {}

    private final World world;
    private final Service service;
    private final List<Wanted> wanted;
    private final List<Answer> answered = new ArrayList<>();
    private int lost;

    private Run(World world, Service service, List<Wanted> wanted) {
        this.world = world;
        this.service = service;
        this.wanted = wanted;
    }

    /** Sixty calls that are wanted at once. */
    static Outcome burst(Strategy strategy, Service service) {
        return new Run(new World(), service, atOnce()).of(strategy);
    }

    /** The same by a client that knows the limits, at a distance. */
    static Outcome atDistance(Duration way, Service service) {
        return new Run(new World(way), service, atOnce()).of(Strategy.configured());
    }

    private static List<Wanted> atOnce() {
        return Collections.nCopies(CALLS, new Wanted(Duration.ZERO, Strategy.INTERACTIVE));
    }

    /** A job of sixty calls, beside people who want something every eight seconds or so. */
    static Outcome lanes(Strategy strategy) {
        Random random = new Random(7);
        List<Wanted> wanted =
                new ArrayList<>(Collections.nCopies(CALLS, new Wanted(Duration.ZERO, Strategy.BACKGROUND)));
        for (int i = 0; i < OF_PEOPLE; i++) {
            Duration at = Duration.ofMillis(i * (long) BETWEEN_PEOPLE + random.nextInt(BETWEEN_PEOPLE));
            wanted.add(new Wanted(at, Strategy.INTERACTIVE));
        }
        wanted.sort(Comparator.comparing(Wanted::at));
        return new Run(new World(), Service.sliding(), wanted).of(strategy);
    }

    private Outcome of(Strategy strategy) {
        SimulatedService there = service.in(world);
        Strategy.Client client = strategy.start().apply(world, service);
        Flux.fromIterable(wanted)
                .flatMap(each -> call(client, there.call(Service.request()), each), Integer.MAX_VALUE)
                .subscribe();
        while (answered.size() + lost < wanted.size() && world.now().compareTo(HORIZON) < 0) {
            world.time.advanceTimeBy(SLICE);
        }
        RequestLog log = there.log();
        return new Outcome(
                strategy.name(),
                wanted.size(),
                log.count(),
                log.count(429),
                List.copyOf(answered),
                service.optimum(wanted.stream().map(Wanted::at).toList()),
                timeline(log));
    }

    private Mono<SimulatedResponse> call(Strategy.Client client, Mono<SimulatedResponse> request, Wanted each) {
        return world.after(each.at())
                .then(client.call(request, each.lane()))
                .doOnNext(response -> {
                    if (response.status() == 200) {
                        answered.add(
                                new Answer(each.lane(), world.now(), world.now().minus(each.at())));
                    } else {
                        lost++;
                    }
                })
                .onErrorResume(error -> {
                    lost++;
                    return Mono.empty();
                });
    }

    private List<Slice> timeline(RequestLog log) {
        int slices = (int) (world.now().toMillis() / SLICE.toMillis());
        long[] passed = new long[slices + 1];
        long[] refused = new long[slices + 1];
        for (RequestLog.Entry entry : log.entries()) {
            int slice = (int) (Duration.between(World.START, entry.at()).toMillis() / SLICE.toMillis());
            (entry.status() == 429 ? refused : passed)[slice]++;
        }
        List<Slice> timeline = new ArrayList<>();
        for (int i = 0; i < slices; i++) {
            Duration end = SLICE.multipliedBy(i + 1L);
            long asked = wanted.stream()
                    .filter(each -> each.at().compareTo(end) <= 0)
                    .count();
            long gone = answered.stream()
                    .filter(each -> each.at().compareTo(end) <= 0)
                    .count();
            timeline.add(new Slice(SLICE.multipliedBy(i), passed[i], refused[i], asked - gone));
        }
        return timeline;
    }
}
