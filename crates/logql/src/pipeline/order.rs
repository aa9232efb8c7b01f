// hot path: no locks, no logging, nothing allocated per entry in steady state.

//! The labels of an entry in order of their names.
//!
//! The lines of a stream tend to make the same labels in the same order, so orders are remembered: sorting the names of twenty labels
//! takes longer than parsing the line.

use super::entry::{Category, Slot};
use super::names::{NameId, Names};

/// How many orders are remembered: streams that mix lines of several programs have several.
const REMEMBERED: usize = 16;

/// Orders of labels.
#[derive(Default)]
pub(super) struct Orders {
    remembered: [Order; REMEMBERED],
    /// The visible labels of the entry in hand.
    labels: Vec<(NameId, Category)>,
    /// Their slots.
    slots: Vec<u32>,
    sorted: Vec<u32>,
}

#[derive(Default)]
struct Order {
    labels: Vec<(NameId, Category)>,
    /// Places in `labels`, in order.
    places: Vec<u32>,
}

impl Orders {
    /// Forgets the orders, because the numbers of names have changed.
    pub(super) fn forget(&mut self) {
        for order in &mut self.remembered {
            order.labels.clear();
            order.places.clear();
        }
    }

    /// The visible slots by rank of their category and by name.
    pub(super) fn sorted(&mut self, slots: &[Slot], names: &Names, rank: impl Fn(Category) -> Category) -> &[u32] {
        self.labels.clear();
        self.slots.clear();
        let mut hash = 0u64;
        for (at, slot) in (0u32..).zip(slots) {
            if !slot.hidden {
                let category = rank(slot.category);
                self.labels.push((slot.name, category));
                self.slots.push(at);
                let number = u64::from(slot.name.number()) << 2 | category as u64;
                hash = (hash.rotate_left(5) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            }
        }
        let order = &mut self.remembered[(hash >> 32) as usize % REMEMBERED];
        if order.labels != self.labels {
            order.labels.clone_from(&self.labels);
            order.places.clear();
            order.places.extend(0..self.labels.len() as u32);
            let place = |&at: &u32| {
                let (name, category) = self.labels[at as usize];
                (category, names.text(name))
            };
            order.places.sort_unstable_by(|a, b| place(a).cmp(&place(b)));
        }
        self.sorted.clear();
        self.sorted.extend(order.places.iter().map(|&at| self.slots[at as usize]));
        &self.sorted
    }
}
