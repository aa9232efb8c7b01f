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
    /// The visible labels of the entry in hand, see [`code`].
    labels: Vec<u32>,
    /// Their slots.
    slots: Vec<u32>,
    /// The same in order.
    sorted: Vec<u32>,
}

#[derive(Default)]
struct Order {
    labels: Vec<u32>,
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
        for (at, slot) in (0u32..).zip(slots) {
            if !slot.hidden {
                self.labels.push(code(slot.name, rank(slot.category)));
                self.slots.push(at);
            }
        }
        // Where labels hardly ever come in another order, their number and two of them tell orders apart well enough.
        let mark = |at: Option<&u32>| at.map_or(0, |&code| code as usize);
        let choice =
            self.labels.len() + 3 * mark(self.labels.last()) + 5 * mark(self.labels.get(self.labels.len() / 2));
        let order = &mut self.remembered[choice % REMEMBERED];
        if order.labels != self.labels {
            order.labels.clone_from(&self.labels);
            order.places.clear();
            order.places.extend(0..self.labels.len() as u32);
            let place = |&at: &u32| {
                let slot = &slots[self.slots[at as usize] as usize];
                (rank(slot.category), names.text(slot.name))
            };
            order.places.sort_unstable_by(|a, b| place(a).cmp(&place(b)));
        }
        if self.slots.len() == slots.len() {
            return &order.places;
        }
        self.sorted.clear();
        self.sorted
            .extend(order.places.iter().map(|&at| self.slots[at as usize]));
        &self.sorted
    }
}

/// A name and its category as one number.
fn code(name: NameId, category: Category) -> u32 {
    name.number() << 2 | category as u32
}
