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

    static final int CALLS = 300;
    static final Duration SLICE = Duration.ofSeconds(30);
    /** Who isn't through by then is not waited for. */
    private static final Duration HORIZON = Duration.ofMinutes(30);

    private static final int AT_A_TIME = 20;
    private static final int OF_THE_JOB = 60;
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
    private final int atATime;
    private final List<Answer> answered = new ArrayList<>();
    private final List<Long> waiting = new ArrayList<>();
    private long begun;
    private long lost;

    private Run(World world, Service service, List<Wanted> wanted, int atATime) {
        this.world = world;
        this.service = service;
        this.wanted = wanted;
        this.atATime = atATime;
    }

    /** Three hundred calls, twenty at a time. */
    static Outcome batch(Strategy strategy, Service service) {
        return batch(new World(), strategy, service);
    }

    /** The same by a client that knows the limits, at a distance. */
    static Outcome atDistance(Duration way, Service service) {
        return batch(new World(way), Strategy.configured(), service);
    }

    private static Outcome batch(World world, Strategy strategy, Service service) {
        List<Wanted> wanted = Collections.nCopies(CALLS, new Wanted(Duration.ZERO, Strategy.INTERACTIVE));
        return new Run(world, service, wanted, AT_A_TIME).of(strategy);
    }

    /** A job of sixty calls, beside people who want something every eight seconds or so. */
    static Outcome lanes(Strategy strategy) {
        Random random = new Random(7);
        List<Wanted> wanted =
                new ArrayList<>(Collections.nCopies(OF_THE_JOB, new Wanted(Duration.ZERO, Strategy.BACKGROUND)));
        for (int i = 0; i < OF_PEOPLE; i++) {
            Duration at = Duration.ofMillis(i * (long) BETWEEN_PEOPLE + random.nextInt(BETWEEN_PEOPLE));
            wanted.add(new Wanted(at, Strategy.INTERACTIVE));
        }
        wanted.sort(Comparator.comparing(Wanted::at));
        return new Run(new World(), Service.sliding(), wanted, Integer.MAX_VALUE).of(strategy);
    }

    private Outcome of(Strategy strategy) {
        SimulatedService there = service.in(world);
        Strategy.Client client = strategy.start().apply(world, service);
        Flux.fromIterable(wanted)
                .flatMap(each -> call(client, there.call(Service.request()), each), atATime)
                .subscribe();
        while (answered.size() + lost < wanted.size() && world.now().compareTo(HORIZON) < 0) {
            world.time.advanceTimeBy(SLICE);
            waiting.add(begun - answered.size() - lost);
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
        return world.after(each.at()).then(Mono.defer(() -> {
            begun++;
            Duration begin = world.now();
            return client.call(request, each.lane())
                    .doOnNext(response -> heard(response, each.lane(), begin))
                    .onErrorResume(error -> {
                        lost++;
                        return Mono.empty();
                    });
        }));
    }

    private void heard(SimulatedResponse response, String lane, Duration begin) {
        if (response.status() == 200) {
            answered.add(new Answer(lane, world.now(), world.now().minus(begin)));
        } else {
            lost++;
        }
    }

    private List<Slice> timeline(RequestLog log) {
        long[] passed = new long[waiting.size() + 1];
        long[] refused = new long[waiting.size() + 1];
        for (RequestLog.Entry entry : log.entries()) {
            int slice = (int) (Duration.between(World.START, entry.at()).toMillis() / SLICE.toMillis());
            (entry.status() == 429 ? refused : passed)[slice]++;
        }
        List<Slice> timeline = new ArrayList<>();
        for (int i = 0; i < waiting.size(); i++) {
            timeline.add(new Slice(SLICE.multipliedBy(i), passed[i], refused[i], waiting.get(i)));
        }
        return timeline;
    }
}
