//! Published figures of the peer, and what we want to reach.

use super::Encoding;

/// Shares of late samples of the published workload.
pub(super) const LATE_PERCENTS: [f64; 8] = [0.0, 1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 99.0];

/// What we want to reach without late samples: microseconds of the server's processors for each TS.ADD.
pub(super) const GOAL_IN_ORDER_US: f64 = 0.6;
/// And at any share of late samples.
pub(super) const GOAL_LATE_US: f64 = 1.2;
/// What an empty series may take.
pub(super) const GOAL_EMPTY_SERIES_BYTES: f64 = 500.0;
/// How much more shuffled samples may take than those in order.
pub(super) const GOAL_SHUFFLED: f64 = 1.1;

/// Microseconds of the peer's processor for each TS.ADD, at [`LATE_PERCENTS`].
const PEER_CPU_US: [(Encoding, u64, [f64; 8]); 3] = [
    (
        Encoding::Compressed,
        4096,
        [0.96, 1.00, 1.56, 2.06, 3.96, 6.44, 9.12, 12.64],
    ),
    (
        Encoding::Compressed,
        128,
        [1.08, 1.26, 1.20, 1.20, 1.96, 1.60, 1.96, 2.28],
    ),
    (
        Encoding::Uncompressed,
        4096,
        [1.00, 0.92, 0.98, 1.04, 1.08, 1.16, 1.38, 1.44],
    ),
];

/// The peer's figure for a cell.
pub(super) fn peer_cpu_us(encoding: Encoding, chunk_bytes: u64, late_percent: f64) -> Option<f64> {
    let (_, _, figures) = PEER_CPU_US
        .iter()
        .find(|(e, chunk, _)| *e == encoding && *chunk == chunk_bytes)?;
    let index = LATE_PERCENTS.iter().position(|percent| *percent == late_percent)?;
    Some(figures[index])
}

/// The goal for a share of late samples.
pub(super) fn goal_us(late_percent: f64) -> f64 {
    if late_percent == 0.0 {
        GOAL_IN_ORDER_US
    } else {
        GOAL_LATE_US
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_by_cell() {
        assert_eq!(peer_cpu_us(Encoding::Compressed, 4096, 99.0), Some(12.64));
        assert_eq!(peer_cpu_us(Encoding::Compressed, 128, 0.0), Some(1.08));
        assert_eq!(peer_cpu_us(Encoding::Uncompressed, 128, 0.0), None);
        assert_eq!(peer_cpu_us(Encoding::Compressed, 4096, 30.0), None);
        assert_eq!((goal_us(0.0), goal_us(1.0)), (0.6, 1.2));
    }
}
