package io.github.reactorratelimit.examples.simulation;

import io.github.reactorratelimit.examples.simulation.Outcome.Slice;
import java.awt.Dimension;
import java.awt.geom.Rectangle2D;
import java.io.IOException;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.text.DecimalFormat;
import java.text.DecimalFormatSymbols;
import java.util.List;
import java.util.Locale;
import java.util.function.ToLongFunction;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.apache.batik.svggen.SVGGraphics2D;
import org.jfree.chart.ChartFactory;
import org.jfree.chart.JFreeChart;
import org.jfree.chart.axis.CategoryLabelPositions;
import org.jfree.chart.axis.LogAxis;
import org.jfree.chart.axis.NumberTickUnit;
import org.jfree.chart.plot.CategoryPlot;
import org.jfree.chart.plot.XYPlot;
import org.jfree.chart.renderer.category.BarRenderer;
import org.jfree.chart.renderer.category.StandardBarPainter;
import org.jfree.chart.renderer.xy.XYLineAndShapeRenderer;
import org.jfree.data.category.DefaultCategoryDataset;
import org.jfree.data.xy.XYSeries;
import org.jfree.data.xy.XYSeriesCollection;

/** The pictures, as SVG on whatever background there is. */
final class Charts {

    private static final String SVG = "http://www.w3.org/2000/svg";
    private static final int COLUMNS = 3;
    private static final int PANEL_WIDTH = 320;
    private static final int PANEL_HEIGHT = 220;
    private static final int WIDTH = COLUMNS * PANEL_WIDTH;
    private static final int HEIGHT = 420;
    /** Where the timelines end, in seconds. */
    private static final int LONGEST = 1_050;

    private final Path folder;

    Charts(Path folder) {
        this.folder = folder;
    }

    void write(Results results) throws IOException {
        Files.createDirectories(folder);
        for (Results.AtServer at : results.servers()) {
            List<JFreeChart> panels =
                    at.outcomes().stream().map(Charts::timeline).toList();
            write("timeline-" + at.service().file(), PANEL_WIDTH, PANEL_HEIGHT, panels);
        }
        write("goodput", WIDTH, HEIGHT, List.of(goodput(results, true), goodput(results, false)));
        write("distance", WIDTH, HEIGHT, List.of(distance(results.distances())));
        write("lanes", WIDTH, HEIGHT, List.of(lanes(results.lanes())));
    }

    private static JFreeChart timeline(Outcome outcome) {
        XYSeriesCollection lines = new XYSeriesCollection();
        lines.addSeries(line(outcome, "waiting", Slice::waiting));
        lines.addSeries(line(outcome, "refused in 30 s", Slice::refused));
        lines.addSeries(line(outcome, "passed in 30 s", Slice::passed));
        JFreeChart chart = ChartFactory.createXYLineChart(outcome.strategy(), "seconds", null, lines);
        XYPlot plot = chart.getXYPlot();
        plot.getDomainAxis().setRange(0, LONGEST);
        plot.getRangeAxis().setLowerBound(0);
        XYLineAndShapeRenderer steps = new XYLineAndShapeRenderer(true, false);
        steps.setDrawSeriesLineAsPath(true);
        plot.setRenderer(steps);
        return Look.of(chart, Look.AMBER, Look.RED, Look.GREEN);
    }

    private static XYSeries line(Outcome outcome, String name, ToLongFunction<Slice> figure) {
        XYSeries line = new XYSeries(name, false, true);
        for (Slice slice : outcome.timeline()) {
            double from = slice.from().toSeconds();
            double value = figure.applyAsLong(slice);
            line.add(from, value);
            line.add(from + Run.SLICE.toSeconds(), value);
        }
        return line;
    }

    private static JFreeChart goodput(Results results, boolean hints) {
        DefaultCategoryDataset bars = new DefaultCategoryDataset();
        for (Results.AtServer at : results.servers()) {
            if (at.service().hints() == hints) {
                at.outcomes()
                        .forEach(outcome -> bars.addValue(
                                100 * outcome.ofOptimum(), at.service().name(), outcome.strategy()));
            }
        }
        String servers = hints ? "servers that tell of their limits" : "servers that tell nothing";
        JFreeChart chart = bars("answers per time in % of the optimum, at " + servers, bars);
        chart.getCategoryPlot().getRangeAxis().setRange(0, 100);
        return chart;
    }

    private static JFreeChart lanes(List<Outcome> outcomes) {
        DefaultCategoryDataset bars = new DefaultCategoryDataset();
        for (Outcome outcome : outcomes) {
            for (int percent : new int[] {50, 99}) {
                bars.addValue(
                        seconds(outcome, Strategy.INTERACTIVE, percent), "people, p" + percent, outcome.strategy());
            }
            for (int percent : new int[] {50, 99}) {
                bars.addValue(
                        seconds(outcome, Strategy.BACKGROUND, percent), "the job, p" + percent, outcome.strategy());
            }
        }
        return bars("wait per lane, in seconds", bars);
    }

    private static double seconds(Outcome outcome, String lane, int percent) {
        return outcome.wait(lane, percent).toMillis() / 1e3;
    }

    private static JFreeChart bars(String title, DefaultCategoryDataset bars) {
        JFreeChart chart = ChartFactory.createBarChart(title, null, null, bars);
        Look.of(chart, Look.BLUE, Look.GREEN, Look.AMBER, Look.VIOLET, Look.RED);
        CategoryPlot plot = chart.getCategoryPlot();
        plot.getDomainAxis().setCategoryLabelPositions(CategoryLabelPositions.createUpRotationLabelPositions(0.35));
        BarRenderer renderer = (BarRenderer) plot.getRenderer();
        renderer.setBarPainter(new StandardBarPainter());
        renderer.setShadowVisible(false);
        renderer.setItemMargin(0.05);
        return chart;
    }

    private static JFreeChart distance(List<Results.AtDistance> distances) {
        XYSeries measured = new XYSeries("limits known, measured");
        XYSeries formula = new XYSeries("by the formula");
        for (Results.AtDistance at : distances) {
            measured.add((double) at.trips(), 100 * at.silent().ofOptimum());
            formula.add((double) at.trips(), 100 * at.formula());
        }
        XYSeriesCollection lines = new XYSeriesCollection(measured);
        lines.addSeries(formula);
        JFreeChart chart = ChartFactory.createXYLineChart(
                "answers per time in % of the optimum, by round trips in a period", null, null, lines);
        LogAxis trips = new LogAxis(null);
        trips.setRange(1, 1_100);
        trips.setTickUnit(new NumberTickUnit(1));
        trips.setNumberFormatOverride(new DecimalFormat("#,##0", DecimalFormatSymbols.getInstance(Locale.ROOT)));
        chart.getXYPlot().setDomainAxis(trips);
        chart.getXYPlot().getRangeAxis().setRange(85, 100);
        return Look.of(chart, Look.BLUE, Look.AMBER);
    }

    private void write(String name, int width, int height, List<JFreeChart> panels) throws IOException {
        int columns = WIDTH / width;
        SVGGraphics2D canvas = canvas();
        canvas.setSVGCanvasSize(new Dimension(WIDTH, (panels.size() + columns - 1) / columns * height));
        for (int i = 0; i < panels.size(); i++) {
            panels.get(i)
                    .draw(canvas, new Rectangle2D.Double(i % columns * width, i / columns * height, width, height));
        }
        StringWriter svg = new StringWriter();
        canvas.stream(svg, false);
        Files.writeString(folder.resolve(name + ".svg"), Look.inBothModes(svg.toString()));
    }

    private static SVGGraphics2D canvas() throws IOException {
        try {
            return new SVGGraphics2D(DocumentBuilderFactory.newInstance()
                    .newDocumentBuilder()
                    .getDOMImplementation()
                    .createDocument(SVG, "svg", null));
        } catch (ParserConfigurationException e) {
            throw new IOException(e);
        }
    }
}
