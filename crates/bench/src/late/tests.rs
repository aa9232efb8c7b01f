use super::*;

fn outcome() -> Outcome {
    let options = Options {
        late_percents: vec![0.0, 99.0],
        chunk_bytes: vec![4096],
        encodings: vec![Encoding::Compressed],
        ..Options::default()
    };
    let run = |cpu_us: Option<f64>, rate: f64, errors| cell::Run {
        samples_per_second: rate,
        cpu_us,
        bytes_per_sample: 4.5,
        p50_ms: 1.0,
        p99_ms: 2.0,
        errors,
    };
    let cell = |server, late, runs: &[cell::Run]| summary(server, &options, Encoding::Compressed, 4096, late, runs);
    let ours = |cpu| {
        [
            run(Some(cpu), 1e6, 3),
            run(Some(cpu * 2.0), 5e5, 9),
            run(Some(cpu / 2.0), 2e6, 5),
        ]
    };
    let mut cells = vec![
        cell(0, 0.0, &ours(0.5)),
        cell(1, 0.0, &[run(None, 9e5, 0)]),
        cell(0, 99.0, &ours(1.3)),
        cell(1, 99.0, &[run(None, 9e4, 0)]),
    ];
    cells[3].rate_against_first_share = 0.1;
    Outcome {
        options,
        servers: vec!["timberline".to_owned(), "a<b".to_owned()],
        cells,
    }
}

#[test]
fn medians() {
    let f = |values: &[f64], want: f64| assert_eq!(median(values.to_vec()), want);
    f(&[], 0.0);
    f(&[3.0], 3.0);
    f(&[3.0, 1.0], 2.0);
    f(&[9.0, 1.0, 2.0], 2.0);
    let cell = &outcome().cells[0];
    assert_eq!((cell.cpu_us, cell.samples_per_second, cell.errors), (Some(0.5), 1e6, 5));
    assert_eq!((cell.samples_per_second_min, cell.samples_per_second_max), (5e5, 2e6));
}

#[test]
fn the_table_says_who_meets_the_goal() {
    let table = outcome().to_string();
    let row = |start: &str| {
        let line = table.lines().find(|line| line.trim_start().starts_with(start)).unwrap();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        row("0%  timberline"),
        "0% timberline 1000000 +0.0% 0.500 1.00x 4.50 1.000 2.000 5 0.96 0.6 met"
    );
    assert_eq!(
        row("99%  timberline"),
        "99% timberline 1000000 +0.0% 1.300 1.00x 4.50 1.000 2.000 5 12.64 1.2 missed"
    );
    assert_eq!(
        row("99%  a<b"),
        "99% a<b 90000 -90.0% - 11.11x 4.50 1.000 2.000 0 12.64 1.2"
    );
    assert!(table.contains("timberline meets the goal in 1 of 2 cells"), "{table}");
}

#[test]
fn other_workloads_are_not_set_beside_published_figures() {
    let f = |options: Options, published: bool, goals: bool| {
        let got = (options.is_published_workload(), options.has_goals());
        assert_eq!(got, (published, goals), "{options:?}");
    };
    let with = |change: fn(&mut Options)| {
        let mut options = Options::default();
        change(&mut options);
        options
    };
    f(Options::default(), true, true);
    f(with(|o| o.window = Some(5)), false, true);
    f(with(|o| o.samples_per_command = 10), false, false);
    f(with(|o| o.rule = "avg:10".parse().ok()), false, false);
}

#[test]
fn the_plot_has_a_line_for_each_server_whose_time_is_known() {
    let svg = outcome().to_svg();
    assert_eq!(svg.matches("class=\"line\"").count(), 2, "line and legend: {svg}");
    assert_eq!(svg.matches("class=\"peer\"").count(), 2, "{svg}");
    assert_eq!(svg.matches("<circle").count(), 2, "{svg}");
    assert!(
        svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && !svg.contains("NaN"),
        "{svg}"
    );
    // Tags are balanced: each one ends itself or is ended.
    let opened = ["svg", "style", "text", "polyline", "circle", "line", "title"].map(|tag| {
        let opens = svg.matches(&format!("<{tag} ")).count() + svg.matches(&format!("<{tag}>")).count();
        (tag, opens)
    });
    let closed: usize = svg.matches("</").count() + svg.matches("/>").count();
    assert_eq!(
        opened.iter().map(|(_, count)| count).sum::<usize>(),
        closed,
        "{opened:?}"
    );
}

#[test]
fn results_as_json() {
    let json: serde_json::Value = serde_json::from_str(&outcome().to_json()).unwrap();
    assert_eq!(json["cells"][2]["cpu_us"], 1.3);
    assert_eq!(json["cells"][1]["cpu_us"], serde_json::Value::Null);
    assert_eq!(json["options"]["encodings"][0], "compressed");
}
