package io.github.reactorratelimit;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * Where the books of limits are kept that several processes share; for those who write a store, not for those who use one.
 * The limiter keeps its waiting lines to itself, has at most one call under way, and asks in it for everything that can be
 * used. Times are nanoseconds, all figures are whole. The test kit has contracts that hold a store to this, among them {@code
 * LimitStoreContract}.
 */
public interface LimitStore {

    /**
     * Decides a batch atomically: closings, holdings and corrections first, then the asks in order. Its error makes the
     * limiter go by {@link Terms#processes}; its message should say what to do.
     *
     * @param batch what one process tells and asks
     * @return one reply, on the thread on which callers are to get their permits; cancelled when its time is over
     */
    Mono<Reply> decide(Batch batch);

    /**
     * How a scope key is called in the store. Called once per key, under the limiter's monitor: a pure function.
     *
     * @param attributes the key's attributes from broad to narrow; empty for the root
     * @return its name
     */
    String key(Map<String, String> attributes);

    /**
     * What is agreed on.
     *
     * @return the terms, always the same
     */
    Terms terms();

    /**
     * What a limiter and its store agree on.
     *
     * @param timeout after which a call counts as lost
     * @param lease for how long what is in flight is held without another word; renewed at a third of it
     * @param probe how often a store that is out of order is asked whether it works again
     * @param processes how many processes share the limits while it doesn't, each going on with its part of them; 0 if
     *     demands are to fail then
     */
    record Terms(Duration timeout, Duration lease, Duration probe, int processes) {}

    /** What a limit's books look like. */
    enum Kind {
        /** No more than {@code permits} in any span. */
        WINDOW,
        /** At most {@code permits} at once, and so many as its rate gives. */
        BUCKET,
        /** At most {@code permits} held. */
        FLIGHT,
        /** At most {@code permits} ever. */
        TOTAL,
        /** What a server said is left of {@code permits}, until its reset; without a word of it anything goes. */
        QUOTA
    }

    /**
     * One limit's books for one key.
     *
     * @param key the place of its key in {@link Batch#keys}
     * @param unit what is counted
     * @param lane whose share it is, null for the whole limit
     * @param kind its kind
     * @param permits how many
     * @param spanNanos of a window, margin included, and of the bucket that spaces one: what was granted so long ago is not
     *     corrected there any more; of a quota, if it is known; else 0
     * @param ratePermits of a bucket: so many
     * @param rateNanos per so long
     * @param initial of a bucket: what it holds at the start
     * @param borrows whether a bucket grants what is heavier than itself when it is full
     * @param name what the server calls a quota, mostly nothing; else empty
     */
    record Books(
            int key,
            String unit,
            @Nullable String lane,
            Kind kind,
            long permits,
            long spanNanos,
            long ratePermits,
            long rateNanos,
            long initial,
            boolean borrows,
            String name) {}

    /**
     * What one process tells and asks at once.
     *
     * @param number rises with every batch of a limiter; 0 if it only looks, or makes a key be forgotten
     * @param sentAtNanos when it is sent, on this process's own clock
     * @param keys the scope keys, by their names
     * @param books the limits that the rest refers to by their places
     * @param closings closed or opened keys
     * @param holdings what is in flight
     * @param corrections of what was granted before
     * @param ramps what became of keys that open again
     * @param learns whether quotas are learned from responses: then replies tell of those that others learned, and a
     *     quota that an ask doesn't name yet counts as one that costs what it counts: its requests
     * @param words what responses told of quotas
     * @param asks what is asked for
     */
    record Batch(
            long number,
            long sentAtNanos,
            List<String> keys,
            List<Books> books,
            List<Closing> closings,
            List<Holding> holdings,
            List<Correction> corrections,
            List<Ramping> ramps,
            boolean learns,
            List<Word> words,
            List<Ask> asks) {}

    /**
     * A key is closed for everybody, or opened, or forgotten.
     *
     * @param key its place
     * @param nanos for how long at least; {@link #OPEN} or {@link #FORGET}
     * @param refusedNanos when the permit was granted that the server refused, on the store's clock; 0 if none was. The
     *     first refusal of a permit that was granted after the last wave is the next wave, and narrows the key's ramp
     */
    record Closing(int key, long nanos, long refusedNanos) {

        /** It is open again, whoever closed it. */
        public static final long OPEN = -1;
        /** Nothing that was ever told of it counts any more. */
        public static final long FORGET = -2;
    }

    /**
     * What a process has to tell of a key that opens again after a refusal.
     *
     * @param key its place
     * @param waveNanos the wave that it knows of; what is told of an earlier one has no place in the ramp
     * @param held how many it has out
     * @param clean how many were answered since it told last
     * @param normal how wide the limits of the key are, 0 if none is known
     * @param usagePerMille how full the server says the key is, -1 for nothing new
     */
    record Ramping(int key, long waveNanos, long held, long clean, long normal, int usagePerMille) {}

    /**
     * What a response told of a quota. In one window the lower figure counts; a later one begins with this figure, less one
     * for each other process that may have asked what is left.
     *
     * @param books its place
     * @param left the server's figure
     * @param earliestNanos how long until its reset at least
     * @param latestNanos and at most
     */
    record Word(int books, long left, long earliestNanos, long latestNanos) {}

    /**
     * What the process holds now, whatever it was before.
     *
     * @param books the place of the limit
     * @param held how many
     */
    record Holding(int books, long held) {}

    /**
     * Corrects what was granted before. What it costs less comes back to a bucket only if that has not been full since; of
     * a key that was {@linkplain Closing#FORGET forgotten} since nothing is corrected.
     *
     * @param books the place of the limit
     * @param grantedNanos when it was granted, on the store's clock
     * @param baseNanos what it counts from, on the store's clock; in a bucket that spaces no window, when it was granted
     * @param counted how much of that counts from an earlier time
     * @param ageNanos how long ago that is; negative if it is to come
     * @param delta what it costs more, or less
     */
    record Correction(int books, long grantedNanos, long baseNanos, long counted, long ageNanos, long delta) {}

    /**
     * One permit's cost in one limit.
     *
     * @param books the place of the limit
     * @param cost positive
     * @param transitNanos how much later than the grant it counts from
     */
    record Part(int books, long cost, long transitNanos) {}

    /**
     * Some permits of a kind.
     *
     * @param times how many are wanted, as many as possible of them; 0 if only some are wanted ahead
     * @param ahead how many more will probably be wanted before the next call: all or none, and only if all of
     *     {@code times} are granted, nothing slows the keys down, no quota counts, and {@link #SCARCE} times as many fit
     * @param keptNanos for how long those are kept at most: they count from so much later
     * @param figures whether it is to be answered what is left
     * @param keys the places of the keys that must be open
     * @param parts what each takes
     */
    record Ask(int times, int ahead, long keptNanos, boolean figures, List<Integer> keys, List<Part> parts) {

        /** Nothing is granted ahead unless so many times as much is there. */
        public static final int SCARCE = 16;
    }

    /**
     * What became of an ask.
     *
     * @param granted how many
     * @param ahead how many more, none or as many as were asked for
     * @param waitNanos how long the next one has to wait, -1 if that is not a matter of time
     * @param key the place of the key that says so; -1 if nothing does
     * @param books the place of the limit that says so; -1 if it is the key itself, or nothing does
     * @param left if that was asked, what that limit has left, or the one with the least left; -1 if there is none
     * @param fullNanos in what time it is full again, -1 if that is not a matter of time
     */
    record Answer(int granted, int ahead, long waitNanos, int key, int books, long left, long fullNanos) {}

    /**
     * How a key stands for everybody.
     *
     * @param closedNanos for how long it is closed; negative if it was opened by hand before that was over, which a store
     *     tells for as long as somebody may still believe that it is closed
     * @param waveNanos when the last wave of refusals was told first, on the store's clock; 0 if there was none
     * @param waves how many came in a row
     * @param width how many may be out while it opens again; 0 if it is open
     * @param usagePerMille how full the server said it is
     * @param usageNanos when that was told; 0 if it never was
     * @param quotas what is left of those that are known, before what this batch asks for
     */
    record KeyState(
            long closedNanos,
            long waveNanos,
            int waves,
            long width,
            int usagePerMille,
            long usageNanos,
            List<Quota> quotas) {}

    /**
     * What is left of a quota of a key.
     *
     * @param name what the server calls it
     * @param unit what it counts
     * @param size of how many, -1 if that is not known
     * @param windowNanos how long its window is, 0 if that is not known
     * @param left how many
     * @param nanos until its reset
     */
    record Quota(String name, String unit, long size, long windowNanos, long left, long nanos) {}

    /**
     * What a batch is answered.
     *
     * @param atNanos when it was decided, on the store's clock
     * @param keys how each key stands
     * @param answers one per ask
     */
    record Reply(long atNanos, List<KeyState> keys, List<Answer> answers) {}
}
