package io.github.reactorratelimit.signal;

/** Tells whether bytes are UTF-8, one by one: neither cut off, nor longer than need be, nor halves of a pair. */
final class Utf8 {

    private int toCome;
    private int least;
    private int most;

    void start() {
        toCome = 0;
    }

    /** Takes the next byte; false if it can't come here. */
    boolean next(int octet) {
        if (toCome > 0) {
            boolean fits = octet >= least && octet <= most;
            toCome--;
            least = 0x80;
            most = 0xBF;
            return fits;
        }
        least = octet == 0xE0 ? 0xA0 : octet == 0xF0 ? 0x90 : 0x80;
        most = octet == 0xED ? 0x9F : octet == 0xF4 ? 0x8F : 0xBF;
        toCome = octet < 0x80 ? 0 : octet < 0xE0 ? 1 : octet < 0xF0 ? 2 : 3;
        return (octet >= 0 && octet < 0x80) || (octet >= 0xC2 && octet <= 0xF4);
    }

    /** Whether no character is begun and not ended. */
    boolean isWhole() {
        return toCome == 0;
    }
}
