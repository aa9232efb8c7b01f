//! The processor time of each sample over the share of late ones, as a plot.
//!
//! Written by hand, without a background: colours of middle lightness stand on white and on black, and the text follows the viewer's theme.

use super::published::{GOAL_IN_ORDER_US, GOAL_LATE_US};
use super::{Cell, Outcome};
use std::fmt::Write;

const WIDTH: f64 = 960.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 640.0;
const TOP: f64 = 48.0;
const BOTTOM: f64 = 432.0;
const HEIGHT: f64 = 496.0;
/// Where the legend begins, and how far apart its lines are.
const LEGEND_X: f64 = 664.0;
const LEGEND_STEP: f64 = 20.0;
/// About so many lines across the plot.
const GRID_LINES: f64 = 8.0;

/// One after the other for the configurations of a server; told apart also by people who see few colours (after Okabe and Ito).
const COLOURS: [&str; 7] = [
    "#0a84c6", "#e07b00", "#009e73", "#cc6fa5", "#56a8e0", "#b58900", "#d0553a",
];
/// One after the other for servers.
const DASHES: [&str; 4] = ["", "8 4", "2 3", "10 3 2 3"];

const STYLE: &str = "text{font:13px system-ui,sans-serif;fill:#333}.title{font-size:16px;font-weight:600}.axis{stroke:#888;stroke-width:1}\
.grid{stroke:#888;stroke-opacity:.25}.line{fill:none;stroke-width:2}.peer{fill:none;stroke-width:1.5;stroke-opacity:.55;stroke-dasharray:1 4;stroke-linecap:round}\
.goal{stroke:#888;stroke-dasharray:6 6}@media(prefers-color-scheme:dark){text{fill:#ddd}}";

/// A line of the plot.
struct Line {
    label: String,
    colour: &'static str,
    dash: Option<&'static str>,
    points: Vec<(f64, f64)>,
}

pub(super) fn plot(outcome: &Outcome) -> String {
    let lines = lines(outcome);
    let goals = outcome.options.has_goals();
    let figures = lines.iter().flat_map(|line| line.points.iter().map(|(_, us)| *us));
    let highest = figures.fold(if goals { GOAL_LATE_US } else { 0.1 }, f64::max);
    let step = nice_step(highest / GRID_LINES);
    let top = (highest / step).ceil() * step;
    let x = |percent: f64| LEFT + percent / 100.0 * (RIGHT - LEFT);
    let y = |us: f64| BOTTOM - us / top * (BOTTOM - TOP);

    let height = HEIGHT.max(TOP + LEGEND_STEP * (lines.len() as f64 + 3.0));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"Processor time for each sample over the share of late samples\">\n\
         <style>{STYLE}</style>\n\
         <text class=\"title\" x=\"{LEFT}\" y=\"26\">Server processor time for each sample</text>\n"
    );
    let mut add = |text: String| {
        svg += &text;
        svg.push('\n');
    };
    for number in 0..=(top / step).round() as usize {
        let us = number as f64 * step;
        let class = if number == 0 { "axis" } else { "grid" };
        let at = y(us);
        add(format!(
            "<line class=\"{class}\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>"
        ));
        add(format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 8.0,
            at + 4.0,
            trimmed(us)
        ));
    }
    for percent in [0.0, 10.0, 25.0, 50.0, 75.0, 100.0] {
        let at = x(percent);
        add(format!(
            "<line class=\"axis\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{BOTTOM}\" y2=\"{:.1}\"/>",
            BOTTOM + 5.0
        ));
        add(format!(
            "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{percent}</text>",
            BOTTOM + 20.0
        ));
    }
    add(format!(
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">late samples, %</text>",
        (LEFT + RIGHT) / 2.0,
        BOTTOM + 44.0
    ));
    add(format!(
        "<text transform=\"translate(18 {:.1}) rotate(-90)\" text-anchor=\"middle\">microseconds</text>",
        (TOP + BOTTOM) / 2.0
    ));
    if goals {
        for (us, name) in [(GOAL_LATE_US, "goal, late"), (GOAL_IN_ORDER_US, "goal, in order")] {
            let at = y(us);
            add(format!(
                "<line class=\"goal\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{at:.1}\" y2=\"{at:.1}\"><title>{name}: {us} us</title></line>"
            ));
        }
    }
    for (number, line) in lines.iter().enumerate() {
        draw(line, TOP + LEGEND_STEP * number as f64, x, y, &mut add);
    }
    if goals {
        let at = TOP + LEGEND_STEP * lines.len() as f64;
        add(format!(
            "<line class=\"goal\" x1=\"{LEGEND_X}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>",
            LEGEND_X + 32.0
        ));
        add(format!(
            "<text x=\"{:.1}\" y=\"{:.1}\">goals: {GOAL_IN_ORDER_US} us in order, {GOAL_LATE_US} us late</text>",
            LEGEND_X + 40.0,
            at + 4.0
        ));
    }
    svg + "</svg>\n"
}

/// Draws a line, its points, and its entry in the legend.
fn draw(line: &Line, legend_y: f64, x: impl Fn(f64) -> f64, y: impl Fn(f64) -> f64, add: &mut impl FnMut(String)) {
    let colour = line.colour;
    let look = match line.dash {
        None => format!("class=\"peer\" stroke=\"{colour}\""),
        Some("") => format!("class=\"line\" stroke=\"{colour}\""),
        Some(dash) => format!("class=\"line\" stroke=\"{colour}\" stroke-dasharray=\"{dash}\""),
    };
    let label = escaped(&line.label);
    let mut points = String::new();
    for (percent, us) in &line.points {
        let _ = write!(points, "{:.1},{:.1} ", x(*percent), y(*us)); // Writing to a string can't fail.
    }
    add(format!(
        "<polyline {look} points=\"{}\"><title>{label}</title></polyline>",
        points.trim_end()
    ));
    if line.dash.is_some() {
        for (percent, us) in &line.points {
            add(format!(
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{colour}\"><title>{label}, {percent} % late: {us:.3} us</title></circle>",
                x(*percent),
                y(*us)
            ));
        }
    }
    let end = LEGEND_X + 32.0;
    add(format!(
        "<polyline {look} points=\"{LEGEND_X},{legend_y:.1} {end},{legend_y:.1}\"/>"
    ));
    add(format!(
        "<text x=\"{:.1}\" y=\"{:.1}\">{label}</text>",
        end + 8.0,
        legend_y + 4.0
    ));
}

/// A line for each server and configuration whose processor time is known, and the published ones.
fn lines(outcome: &Outcome) -> Vec<Line> {
    let mut lines = Vec::new();
    for (number, (encoding, chunk)) in outcome.options.configurations().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let of = |server: usize, figure: fn(&Cell) -> Option<f64>| {
            let mut points: Vec<(f64, f64)> = outcome
                .cells
                .iter()
                .filter(|c| c.server == server && c.encoding == encoding && c.chunk_bytes == chunk)
                .filter_map(|cell| Some((cell.late_percent, figure(cell)?)))
                .collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            points
        };
        for (server, name) in outcome.servers.iter().enumerate() {
            lines.push(Line {
                label: format!("{name}, {encoding}, {chunk}"),
                colour,
                dash: Some(DASHES[server % DASHES.len()]),
                points: of(server, |cell| cell.cpu_us),
            });
        }
        lines.push(Line {
            label: format!("peer as published, {encoding}, {chunk}"),
            colour,
            dash: None,
            points: of(0, |cell| cell.published_cpu_us),
        });
    }
    lines.retain(|line| !line.points.is_empty());
    lines
}

/// The next larger of 1, 2, 5 times a power of ten.
fn nice_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|factor| factor * power >= least * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

/// A label of the axis, without the noise of floating point.
fn trimmed(us: f64) -> String {
    let text = format!("{us:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_the_axis() {
        let f = |least: f64, want: f64| {
            let step = nice_step(least);
            assert!((step - want).abs() < want * 1e-9, "{least}: {step}");
        };
        f(1.0, 1.0);
        f(1.1, 2.0);
        f(0.2, 0.2);
        f(0.21, 0.5);
        f(6.0, 10.0);
        f(2.11, 5.0);
    }

    #[test]
    fn labels() {
        assert_eq!(
            (trimmed(0.0), trimmed(0.2 * 3.0), trimmed(10.0)),
            ("0".into(), "0.6".into(), "10".into())
        );
        assert_eq!(escaped("a<b>&\"c\""), "a&lt;b&gt;&amp;&quot;c&quot;");
    }
}
