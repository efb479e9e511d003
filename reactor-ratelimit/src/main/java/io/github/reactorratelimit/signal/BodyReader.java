package io.github.reactorratelimit.signal;

/** Walks a JSON body from front to back; bounded, and never failing because of what it finds. */
interface BodyReader {

    /** How deep a body is looked into; what is deeper is stepped over. */
    int MOST_DEPTH = 32;

    /** How deep a body may be at all; one that is deeper is read up to there. */
    int STEPPED_OVER = 10_000;

    /** The longest text or path that is handed on; what is longer is stepped over. */
    int LONGEST = 4096;

    /** The most names and values together that are kept of header lines in a body. */
    int MOST_LINES = 512;

    /** Receives what a body holds. A path is {@code errors[].extensions.code}; odd keys are in quotes. */
    @FunctionalInterface
    interface Leaves {

        /** A string, a number or a boolean, as text. */
        void leaf(String path, String text);

        /** At {@code path} an object or an array begins, or there is a text too long to be handed on. */
        default void other(String path) {}

        /** The end of the object at {@code path}. */
        default void end(String path) {}
    }

    /**
     * Walks the body.
     *
     * @return whether all of it is well-formed; if not, what came before the fault was handed on
     */
    boolean walk(byte[] body, int offset, Leaves leaves);

    /** The reader of this class path: Jackson's if it is there, else one that can read nothing. */
    static BodyReader present() {
        return Present.READER;
    }

    /** Looked up once, when the first body comes. */
    final class Present {

        static final BodyReader READER = find("com.fasterxml.jackson.core.JsonFactory");

        private Present() {}

        static BodyReader find(String jackson) {
            try {
                Class.forName(jackson, false, BodyReader.class.getClassLoader());
                return new JacksonBodyReader();
            } catch (ClassNotFoundException | LinkageError absent) {
                return (body, offset, leaves) -> false;
            }
        }
    }
}
