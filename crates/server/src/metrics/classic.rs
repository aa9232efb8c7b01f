//! The older of Prometheus' two text formats, for who does not ask for OpenMetrics.

/// Rewrites OpenMetrics text, as the metrics library writes it, into version 0.0.4 of the Prometheus text format.
///
/// The two differ in this: there, `HELP` and `TYPE` of a counter name the samples, with `_total`, and those of an `info` metric are a
/// gauge with `_info`; there are no units and no end mark.
pub(crate) fn from_openmetrics(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut help = None;
    for line in text.lines() {
        if let Some(described) = line.strip_prefix("# HELP ") {
            help = Some(described);
        } else if let Some(typed) = line.strip_prefix("# TYPE ") {
            let (name, kind) = typed.split_once(' ').unwrap_or((typed, "untyped"));
            let (suffix, kind) = match kind {
                "counter" => ("_total", "counter"),
                "info" => ("_info", "gauge"),
                "unknown" => ("", "untyped"),
                other => ("", other),
            };
            if let Some((_, words)) = help.take().and_then(|described| described.split_once(' ')) {
                out.push_str(&format!("# HELP {name}{suffix} {words}\n"));
            }
            out.push_str(&format!("# TYPE {name}{suffix} {kind}\n"));
        } else if !line.starts_with("# UNIT ") && line != "# EOF" {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_counters_are_those_of_their_samples() {
        let openmetrics = "\
# HELP pushes Requests: all of them
# TYPE pushes counter
pushes_total{a=\"# EOF\"} 3
# HELP wait_seconds Time
# TYPE wait_seconds histogram
# UNIT wait_seconds seconds
wait_seconds_bucket{le=\"1.0\"} 2
# HELP build What runs
# TYPE build info
build_info{version=\"1\"} 1
# TYPE free gauge
free 1
# EOF
";
        let wanted = "\
# HELP pushes_total Requests: all of them
# TYPE pushes_total counter
pushes_total{a=\"# EOF\"} 3
# HELP wait_seconds Time
# TYPE wait_seconds histogram
wait_seconds_bucket{le=\"1.0\"} 2
# HELP build_info What runs
# TYPE build_info gauge
build_info{version=\"1\"} 1
# TYPE free gauge
free 1
";
        assert_eq!(from_openmetrics(openmetrics), wanted);
        assert_eq!(from_openmetrics("# EOF\n"), "");
    }
}
