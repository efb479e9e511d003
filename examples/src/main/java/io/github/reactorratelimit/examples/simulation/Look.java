package io.github.reactorratelimit.examples.simulation;

import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Font;
import org.jfree.chart.JFreeChart;
import org.jfree.chart.StandardChartTheme;
import org.jfree.chart.block.BlockBorder;
import org.jfree.chart.plot.CategoryPlot;
import org.jfree.chart.plot.Plot;
import org.jfree.chart.plot.XYPlot;
import org.jfree.chart.renderer.AbstractRenderer;
import org.jfree.chart.ui.RectangleInsets;

/** What all charts look like: no background of their own, and ink that is light where the page is dark. */
final class Look {

    static final Color BLUE = new Color(0x3B82D6);
    static final Color GREEN = new Color(0x1F9D6B);
    static final Color RED = new Color(0xE5534B);
    static final Color AMBER = new Color(0xC78A10);
    static final Color VIOLET = new Color(0xA371F7);

    private static final Color INK = new Color(0x24292F);
    private static final Color GRID = new Color(0xD0D7DE);
    private static final Color CLEAR = new Color(255, 255, 255, 0);
    private static final String IN_THE_DARK = """
            <style>
            @media (prefers-color-scheme: dark) {
              [fill="rgb(36,41,47)"] { fill: #e6edf3 }
              [stroke="rgb(36,41,47)"] { stroke: #e6edf3 }
              [stroke="rgb(208,215,222)"] { stroke: #3d444d }
            }
            </style>""";

    private Look() {}

    static JFreeChart of(JFreeChart chart, Color... series) {
        StandardChartTheme theme = new StandardChartTheme("page");
        theme.setExtraLargeFont(new Font(Font.SANS_SERIF, Font.BOLD, 13));
        theme.setLargeFont(new Font(Font.SANS_SERIF, Font.PLAIN, 11));
        theme.setRegularFont(new Font(Font.SANS_SERIF, Font.PLAIN, 11));
        theme.setTitlePaint(INK);
        theme.setLegendItemPaint(INK);
        theme.setLegendBackgroundPaint(CLEAR);
        theme.setAxisLabelPaint(INK);
        theme.setTickLabelPaint(INK);
        theme.setPlotBackgroundPaint(CLEAR);
        theme.setChartBackgroundPaint(CLEAR);
        theme.setRangeGridlinePaint(GRID);
        theme.setDomainGridlinePaint(CLEAR);
        theme.apply(chart);
        chart.setPadding(new RectangleInsets(6, 6, 6, 6));
        chart.getLegend().setFrame(BlockBorder.NONE);
        Plot plot = chart.getPlot();
        plot.setOutlineVisible(false);
        AbstractRenderer renderer = plot instanceof XYPlot xy
                ? (AbstractRenderer) xy.getRenderer()
                : (AbstractRenderer) ((CategoryPlot) plot).getRenderer();
        for (int i = 0; i < series.length; i++) {
            renderer.setSeriesPaint(i, series[i]);
            renderer.setSeriesStroke(i, new BasicStroke(1.6f));
        }
        return chart;
    }

    /** Who shows a picture in a page tells it whether the page is dark. */
    static String inBothModes(String svg) {
        int inside = svg.indexOf('>', svg.indexOf("<svg")) + 1;
        return svg.substring(0, inside) + "\n" + IN_THE_DARK + svg.substring(inside);
    }
}
