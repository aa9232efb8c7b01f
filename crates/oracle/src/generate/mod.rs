//! Data and queries from a seed: small, from small pools, so that things collide, match and repeat.
//!
//! ```
//! use timberline_oracle::generate::{Dice, question, rows};
//!
//! let mut dice = Dice::new(7);
//! let rows = rows(&mut dice);
//! assert!(rows.len() >= 5);
//! let question = question(&mut dice);
//! assert_eq!(timberline_logql::parse(&question.expr.to_string()), Ok(question.expr));
//! ```

mod data;
mod filter;
mod metric;
mod request;
mod shrink;
mod stage;
mod usage;

pub use data::rows;
pub use request::{Question, question};
pub use shrink::smaller;
pub use usage::constructs;

use data::Kind;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// A second, in nanoseconds.
const SECOND: i64 = 1_000_000_000;
/// Times of the data lie between this and [`LAST_NS`].
const FIRST_NS: i64 = 1000 * SECOND;
const LAST_NS: i64 = FIRST_NS + 120 * SECOND;

/// Choices that follow from a seed.
#[derive(Debug)]
pub struct Dice {
    random: SmallRng,
    /// What the lines of the last data set are: most parsers should find something.
    kinds: Vec<Kind>,
}

impl Dice {
    /// The choices of this seed.
    pub fn new(seed: u64) -> Self {
        Self {
            random: SmallRng::seed_from_u64(seed),
            kinds: vec![Kind::Text],
        }
    }

    /// True so many times of a hundred.
    pub fn percent(&mut self, percent: u32) -> bool {
        self.random.random_range(0..100) < percent
    }

    /// A number from `least` to `most`.
    pub fn between(&mut self, least: usize, most: usize) -> usize {
        self.random.random_range(least..=most)
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.random.random_range(0..of.len())]
    }

    fn text(&mut self, of: &[&str]) -> String {
        self.pick(of).to_owned()
    }

    /// A time near those of the data: often on the grid that they are on, or a nanosecond beside it.
    fn time_ns(&mut self) -> i64 {
        let grid = FIRST_NS + 10 * SECOND * self.between(0, 12) as i64;
        match self.between(0, 9) {
            0 => grid + 1,
            1 => grid - 1,
            2 => self.random.random_range(FIRST_NS..LAST_NS),
            _ => grid,
        }
    }
}
