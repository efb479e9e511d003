package io.github.reactorratelimit.signal;

import org.jspecify.annotations.Nullable;

/**
 * A member of a policy list: {@code "burst";q=100;w=60} (IETF drafts from 08 on) or {@code 100;w=60} (before).
 *
 * @param prefix the family of the header it came in
 * @param name the policy's name, or null where it is known by its limit
 * @param partition the partition key in base64, or null
 * @param unit what it counts, or null
 * @param limit the quota, -1 if not said
 * @param windowSeconds the window, -1 if not said
 */
record Policy(
        long prefix,
        @Nullable String name,
        @Nullable String partition,
        @Nullable String unit,
        long limit,
        long windowSeconds) {}
