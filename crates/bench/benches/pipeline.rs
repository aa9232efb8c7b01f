//! `cargo bench -p timberline-bench --bench pipeline [-- P1 P2]`: the same as `timberline bench pipeline`, and counts allocations.

use timberline_bench::{CountingAllocator, Effort, pipeline};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

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
    if let Some(unknown) = only.iter().find(|name| pipeline::workloads().all(|id| id != **name)) {
        eprintln!(
            "no workload {unknown:?}; there are {:?}",
            pipeline::workloads().collect::<Vec<_>>()
        );
        std::process::exit(2);
    }
    println!("{}", pipeline::run(effort, &only, Some(CountingAllocator::allocations)));
}
