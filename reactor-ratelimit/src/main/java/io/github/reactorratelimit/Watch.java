package io.github.reactorratelimit;

import io.github.reactorratelimit.RateLimitListener.AttemptListener;
import io.github.reactorratelimit.RateLimitListener.Subject;
import java.util.List;

/**
 * Who is told about one attempt beside the limiter's listeners.
 *
 * @param who how the attempt is called in what they are told
 * @param listeners those who asked for it
 */
record Watch(Subject who, List<AttemptListener> listeners) {}
