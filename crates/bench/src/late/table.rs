//! Results as a table.

use super::{Cell, Outcome};
use std::fmt;

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options = &self.options;
        let command = match options.samples_per_command {
            1 => "one TS.ADD each".to_owned(),
            count => format!("{count} to a TS.MADD"),
        };
        let window = options.window.map_or_else(
            || "anywhere in the past".to_owned(),
            |w| format!("in the last {w} timestamps"),
        );
        let rule = options.rule.as_ref().map_or_else(String::new, |rule| {
            format!("; a rule {} of {} ms each", rule.aggregator, rule.bucket_ms)
        });
        let policy = options
            .policy
            .as_ref()
            .map_or_else(String::new, |p| format!("; policy {p}"));
        writeln!(
            f,
            "{} series of {} samples, {command}, {} commands sent together, late ones {window}{rule}{policy}; medians of {}",
            options.series, options.samples, options.pipeline, options.repeat
        )?;
        for (encoding, chunk) in options.configurations() {
            writeln!(f, "\n{encoding}, chunks of {chunk} bytes")?;
            let cells = self
                .cells
                .iter()
                .filter(|c| c.encoding == encoding && c.chunk_bytes == chunk);
            self.section(f, &cells.collect::<Vec<_>>())?;
        }
        writeln!(f)?;
        self.verdict(f)?;
        writeln!(
            f,
            "late: share of samples; change: of samples/s against the first share; cpu: microseconds of the server's processors for each sample;\n\
             p50, p99: milliseconds for a batch; peer: the published processor time, measured on two cores of an AMD EPYC (Zen 4)."
        )
    }
}

impl Outcome {
    fn section(&self, f: &mut fmt::Formatter<'_>, cells: &[&Cell]) -> fmt::Result {
        let width = self
            .servers
            .iter()
            .map(String::len)
            .max()
            .unwrap_or(0)
            .max("server".len());
        let ratio = if self.servers.len() > 1 { "   ratio" } else { "" };
        let published = cells.iter().any(|cell| cell.published_cpu_us.is_some());
        let goals = cells.iter().any(|cell| cell.goal_cpu_us.is_some());
        write!(
            f,
            "{:>5}  {:<width$} {:>10} {:>8} {:>8}{ratio} {:>9} {:>8} {:>8} {:>8}",
            "late", "server", "samples/s", "change", "cpu", "B/sample", "p50", "p99", "errors"
        )?;
        if published {
            write!(f, " {:>7}", "peer")?;
        }
        if goals {
            write!(f, " {:>6}", "goal")?;
        }
        writeln!(f)?;
        for cell in cells {
            let cpu = cell.cpu_us.map_or_else(|| "-".to_owned(), |us| format!("{us:.3}"));
            write!(
                f,
                "{:>4}%  {:<width$} {:>10.0} {:>+7.1}% {cpu:>8}",
                cell.late_percent,
                self.servers[cell.server],
                cell.samples_per_second,
                (cell.rate_against_first_share - 1.0) * 100.0,
            )?;
            if self.servers.len() > 1 {
                let first = cells
                    .iter()
                    .find(|c| c.server == 0 && c.late_percent == cell.late_percent);
                write!(f, " {:>7}", ratio_of(cell, first.copied()))?;
            }
            write!(
                f,
                " {:>9.2} {:>8.3} {:>8.3} {:>8}",
                cell.bytes_per_sample, cell.p50_ms, cell.p99_ms, cell.errors
            )?;
            if published {
                let peer = cell.published_cpu_us.map_or_else(String::new, |us| format!("{us:.2}"));
                write!(f, " {peer:>7}")?;
            }
            if let Some(goal) = cell.goal_cpu_us {
                let met = match cell.cpu_us {
                    Some(us) if us <= goal => "met",
                    Some(_) => "missed",
                    None => "",
                };
                write!(f, " {goal:>6.1} {met}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }

    /// How many goals each server meets.
    fn verdict(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, name) in self.servers.iter().enumerate() {
            let judged: Vec<bool> = self
                .cells
                .iter()
                .filter(|cell| cell.server == number)
                .filter_map(|cell| Some(cell.cpu_us? <= cell.goal_cpu_us?))
                .collect();
            let met = judged.iter().filter(|met| **met).count();
            if !judged.is_empty() {
                writeln!(f, "{name} meets the goal in {met} of {} cells", judged.len())?;
            }
        }
        Ok(())
    }
}

/// Processor time against that of the first server; samples in a second where the time is not known.
fn ratio_of(cell: &Cell, first: Option<&Cell>) -> String {
    let Some(first) = first else {
        return String::new();
    };
    let ratio = match (cell.cpu_us, first.cpu_us) {
        (Some(ours), Some(first)) if first > 0.0 => ours / first,
        _ => first.samples_per_second / cell.samples_per_second,
    };
    format!("{ratio:.2}x")
}
