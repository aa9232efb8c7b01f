//! Slides a window over cells with a queue made of two stacks: any state that can be merged works, nothing is ever subtracted, and
//! each cell is merged at most twice however many windows hold it.

use std::collections::VecDeque;

/// A partial result that can be merged with a later one of the same series.
pub(crate) trait Merge: Clone {
    /// Takes in the state of a later cell.
    fn merge(&mut self, later: &Self);
}

/// The states of the cells now in the window.
pub(crate) struct Sliding<S> {
    /// Cells at the front, each already merged with all that follow it in this stack; the earliest cell is last.
    front: Vec<(i64, S)>,
    back: VecDeque<(i64, S)>,
    /// All of `back` merged.
    back_total: Option<S>,
}

impl<S: Merge> Sliding<S> {
    pub(crate) fn new() -> Self {
        Self {
            front: Vec::new(),
            back: VecDeque::new(),
            back_total: None,
        }
    }

    /// Adds a cell; cells come in ascending order.
    pub(crate) fn push(&mut self, cell: i64, state: S) {
        match &mut self.back_total {
            Some(total) => total.merge(&state),
            None => self.back_total = Some(state.clone()),
        }
        self.back.push_back((cell, state));
    }

    /// Drops all cells before `cell`.
    pub(crate) fn drop_before(&mut self, cell: i64) {
        while self.front.last().is_some_and(|(at, _)| *at < cell) {
            self.front.pop();
        }
        if !self.front.is_empty() {
            return;
        }
        while self.back.front().is_some_and(|(at, _)| *at < cell) {
            self.back.pop_front();
        }
        while let Some((at, mut state)) = self.back.pop_back() {
            if let Some((_, later)) = self.front.last() {
                state.merge(later);
            }
            self.front.push((at, state));
        }
        self.back_total = None;
    }

    /// All cells in the window merged; `None` if there is none.
    pub(crate) fn total(&self) -> Option<S> {
        let front = self.front.last().map(|(_, state)| state.clone());
        match (front, &self.back_total) {
            (Some(mut front), Some(back)) => {
                front.merge(back);
                Some(front)
            }
            (Some(front), None) => Some(front),
            (None, back) => back.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    impl Merge for String {
        fn merge(&mut self, later: &Self) {
            self.push_str(later);
        }
    }

    proptest! {
        /// Concatenation is not commutative, so this also shows that cells are merged in order.
        #[test]
        fn equals_merging_the_window_anew(gaps in prop::collection::vec(1i64..4, 0..40), width in 1i64..12) {
            let mut sliding = Sliding::new();
            let mut cells: Vec<(i64, String)> = Vec::new();
            let mut at = 0;
            for gap in gaps {
                at += gap;
                cells.push((at, format!("{at},")));
                sliding.push(at, format!("{at},"));
                sliding.drop_before(at - width + 1);
                let wanted: String = cells.iter().filter(|c| c.0 > at - width).map(|c| c.1.as_str()).collect();
                prop_assert_eq!(sliding.total(), Some(wanted));
            }
            sliding.drop_before(at + 1);
            prop_assert_eq!(sliding.total(), None);
        }
    }
}
