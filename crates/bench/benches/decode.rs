//! `cargo bench -p timberline-bench --bench decode [-- A1 A2]`: the same as `timberline bench decode`.

use timberline_bench::{Effort, decode};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` wants to see that it runs.
    let effort = if arguments.iter().any(|argument| argument == "--test") {
        Effort::Smoke
    } else {
        Effort::Full
    };
    let only: Vec<&str> = arguments
        .iter()
        .map(String::as_str)
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    if let Some(unknown) = only.iter().find(|name| decode::workloads().all(|id| id != **name)) {
        eprintln!(
            "no workload {unknown:?}; there are {:?}",
            decode::workloads().collect::<Vec<_>>()
        );
        std::process::exit(2);
    }
    println!("{}", decode::run(effort, &only));
}
