package io.github.reactorratelimit.examples.simulation;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Writes {@code simulation.md} and its pictures. */
public final class Simulation {

    private Simulation() {}

    /**
     * Simulates, and writes what came of it.
     *
     * @param args the folder of the documents
     * @throws IOException if it can't be written
     */
    public static void main(String[] args) throws IOException {
        System.setProperty("java.awt.headless", "true");
        Path docs = Path.of(args[0]).normalize();
        Results results = Results.simulate();
        Files.writeString(docs.resolve("simulation.md"), Page.of(results));
        new Charts(docs.resolve("simulation")).write(results);
        System.out.println("written: " + docs.resolve("simulation.md"));
    }
}
