package io.github.reactorratelimit;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What limits are counted against: one key per combination of the named attributes' values, below the keys of the scopes
 * above it. Immutable: every method returns a changed copy.
 *
 * <p>A value that matches a pattern such as {@code /users/{id}} is counted under the pattern, so that all users' paths
 * share one key. A key without limits still has its cooldowns.
 *
 * <p>Keys of the narrowest scope that differ in nothing but {@code endpoint}, {@code method} or {@code route} become one
 * when the server tells that they share a {@linkplain io.github.reactorratelimit.signal.RateLimitSignal#bucket() bucket}.
 */
public final class Scope {

    /** The attribute that adapters name endpoints by. */
    private static final String ENDPOINT = "endpoint";

    /** Words of names of attributes whose values nobody else should read. */
    private static final Set<String> CREDENTIALS = Set.of(
            "token",
            "authorization",
            "auth",
            "bearer",
            "jwt",
            "apikey",
            "key",
            "password",
            "secret",
            "credential",
            "credentials",
            "cookie",
            "session");
    /** Between the words of a name: {@code x-api-key}, {@code client_secret}, {@code accessToken}. */
    private static final Pattern WORDS = Pattern.compile("[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])");
    /** What says where a call goes: servers put several such routes into one bucket. */
    private static final Set<String> ROUTE = Set.of("endpoint", "method", "route");
    /** Makes the short hashes of two processes differ, so that a log gives no dictionary away. */
    private static final int SALT = ThreadLocalRandom.current().nextInt();

    private final List<String> attributes;
    private final List<Limit> every;
    private final Map<String, List<Limit>> byFirst;
    private final List<EndpointPattern> patterns;
    private final List<Limit> otherwise;
    private final @Nullable Function<Map<String, String>, List<Limit>> function;

    private Scope(
            List<String> attributes,
            List<Limit> every,
            Map<String, List<Limit>> byFirst,
            List<Limit> otherwise,
            @Nullable Function<Map<String, String>, List<Limit>> function) {
        this.attributes = attributes;
        this.every = every;
        this.byFirst = byFirst;
        this.patterns = byFirst.keySet().stream()
                .filter(EndpointPattern::isPattern)
                .map(EndpointPattern::new)
                .toList();
        this.otherwise = otherwise;
        this.function = function;
    }

    /**
     * A scope with one key per combination of these attributes' values.
     *
     * @param attributes at least one name; patterns match the first
     * @return a scope without limits
     * @throws IllegalArgumentException if there is none, or one comes twice
     */
    public static Scope by(String... attributes) {
        List<String> names = List.of(attributes);
        if (names.isEmpty() || names.size() != Set.copyOf(names).size()) {
            throw new IllegalArgumentException("a scope must name each of its attributes once, was " + names);
        }
        return new Scope(names, List.of(), Map.of(), List.of(), null);
    }

    /**
     * Limits of the keys whose first attribute is this value or matches this pattern. A value that is given as it is comes
     * before all patterns, and of several patterns that match the one given first counts.
     *
     * @param pattern a value, or a path with {@code {name}} for any one segment
     * @param limits what applies
     * @return the changed scope
     * @throws IllegalArgumentException if the pattern was given before, or its braces are not around a whole segment
     */
    public Scope limit(String pattern, Limit... limits) {
        Objects.requireNonNull(pattern, "pattern");
        if (EndpointPattern.isPattern(pattern) && !EndpointPattern.isWhole(pattern)) {
            throw new IllegalArgumentException(
                    "a pattern's braces must be around whole segments, was '" + pattern + "'");
        }
        Map<String, List<Limit>> more = new LinkedHashMap<>(byFirst);
        if (more.put(pattern, List.of(limits)) != null) {
            throw new IllegalArgumentException("a scope must give each pattern once, was '" + pattern + "' again");
        }
        return new Scope(attributes, every, more, otherwise, function);
    }

    /**
     * Limits of every key, beside those of its pattern.
     *
     * @param limits what applies
     * @return the changed scope
     */
    public Scope limits(Limit... limits) {
        return new Scope(attributes, List.of(limits), byFirst, otherwise, function);
    }

    /**
     * Limits of the keys whose first attribute matches no pattern.
     *
     * @param limits what applies
     * @return the changed scope
     */
    public Scope otherwise(Limit... limits) {
        return new Scope(attributes, every, byFirst, List.of(limits), function);
    }

    /**
     * Further limits from a function of the key, for plans and tiers. Called once when a key is first seen and again when
     * limits are changed, on the caller's thread; it must not block.
     *
     * @param limits from the key's attributes, those of the scopes above included, to what applies
     * @return the changed scope
     */
    public Scope limitsBy(Function<Map<String, String>, List<Limit>> limits) {
        return new Scope(attributes, every, byFirst, otherwise, Objects.requireNonNull(limits, "limits"));
    }

    /** The same scope with every limit changed. */
    Scope each(UnaryOperator<Limit> change) {
        Map<String, List<Limit>> changed = new LinkedHashMap<>();
        byFirst.forEach((value, limits) -> changed.put(value, each(limits, change)));
        Function<Map<String, String>, List<Limit>> byKey = function;
        return new Scope(
                attributes,
                each(every, change),
                changed,
                each(otherwise, change),
                byKey == null ? null : path -> each(byKey.apply(path), change));
    }

    static List<Limit> each(List<Limit> limits, UnaryOperator<Limit> change) {
        return limits.stream().map(change).toList();
    }

    /** Whether it counts the same keys, whatever their limits. */
    boolean countsLike(Scope other) {
        return attributes.equals(other.attributes) && byFirst.keySet().equals(other.byFirst.keySet());
    }

    /** Whether any of its keys may have a limit. */
    boolean isLimited() {
        return !every.isEmpty()
                || !otherwise.isEmpty()
                || function != null
                || byFirst.values().stream().anyMatch(limits -> !limits.isEmpty());
    }

    List<String> attributes() {
        return attributes;
    }

    /** The values that a demand is counted under here. */
    Object keyOf(Demand demand) {
        String first = canonical(value(demand, attributes.get(0)));
        if (attributes.size() == 1) {
            return first;
        }
        String[] values = new String[attributes.size()];
        values[0] = first;
        for (int i = 1; i < values.length; i++) {
            values[i] = value(demand, attributes.get(i));
        }
        return Arrays.asList(values);
    }

    /** The value or pattern of an endpoint that limits were given for; null if it has none of its own, or this is another scope. */
    @Nullable
    String endpoint(Object key) {
        if (!attributes.get(0).equals(ENDPOINT)) {
            return null;
        }
        String value = (String) values(key).get(0);
        return byFirst.containsKey(value) ? value : null;
    }

    /** Whether a demand has every attribute of this scope. */
    boolean isNamedBy(Demand demand) {
        return attributes.stream().allMatch(name -> demand.attribute(name) != null);
    }

    private String value(Demand demand, String attribute) {
        String value = demand.attribute(attribute);
        if (value == null) {
            throw new IllegalArgumentException("a demand must name the attribute '" + attribute
                    + "', because the limiter counts by it, was " + demand);
        }
        return value;
    }

    private String canonical(String first) {
        if (patterns.isEmpty() || byFirst.containsKey(first)) {
            return first;
        }
        for (EndpointPattern pattern : patterns) {
            if (pattern.matches(first)) {
                return pattern.toString();
            }
        }
        return first;
    }

    private static List<?> values(Object key) {
        return key instanceof List<?> list ? list : List.of(key);
    }

    /** The limits of a key. May call the user's function, so never under the monitor. */
    List<Limit> limitsOf(Object key, Map<String, String> path) {
        List<?> values = values(key);
        List<Limit> all = new ArrayList<>(every);
        all.addAll(byFirst.getOrDefault((String) values.get(0), otherwise));
        if (function != null) {
            all.addAll(function.apply(path));
        }
        return all;
    }

    /** Adds this scope's attributes of a key to those of the scopes above. */
    void describe(Object key, Map<String, String> into) {
        List<?> values = values(key);
        for (int i = 0; i < attributes.size(); i++) {
            into.put(attributes.get(i), (String) values.get(i));
        }
    }

    /** The key for people: endpoints as they are, credentials as a short salted hash. */
    String label(Object key) {
        List<?> values = values(key);
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < attributes.size(); i++) {
            String name = attributes.get(i);
            Object value = values.get(i);
            boolean hidden = isCredential(name);
            text.append(i == 0 ? "" : ",").append(name).append('=').append(hidden ? hash(value) : value);
        }
        return text.toString();
    }

    /** What a key has besides its route; null if it has no route. */
    @Nullable
    Object besidesRoute(Object key) {
        if (!namesRoute()) {
            return null;
        }
        List<?> values = values(key);
        List<Object> besides = new ArrayList<>(values.size());
        for (int i = 0; i < values.size(); i++) {
            if (!ROUTE.contains(lower(attributes.get(i)))) {
                besides.add(values.get(i));
            }
        }
        return besides;
    }

    boolean namesRoute() {
        return attributes.stream().anyMatch(name -> ROUTE.contains(lower(name)));
    }

    boolean namesCredential() {
        return attributes.stream().anyMatch(Scope::isCredential);
    }

    private static boolean isCredential(String name) {
        return WORDS.splitAsStream(name).anyMatch(word -> CREDENTIALS.contains(lower(word)));
    }

    private static String lower(String name) {
        return name.toLowerCase(Locale.ROOT);
    }

    private static String hash(Object value) {
        int mixed = (value.hashCode() ^ SALT) * 0x9E3779B1;
        return "#" + String.format(Locale.ROOT, "%06x", mixed >>> 8);
    }

    @Override
    public String toString() {
        return "Scope by " + String.join(", ", attributes);
    }
}
