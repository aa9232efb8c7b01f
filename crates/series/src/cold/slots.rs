//! Slots of a series that go to the object store.

use crate::series::{Place, State};
use crate::view::{ColdPart, ReadError};

impl State {
    /// Replaces a chunk by its place in the object store if it is still the same: in memory, with these bounds, nothing waiting beside
    /// it. Says whether it was.
    pub(crate) fn make_cold(&mut self, part: ColdPart) -> Result<bool, ReadError> {
        let find = |state: &State| {
            state
                .slots
                .binary_search_by_key(&part.first_timestamp, |slot| slot.start())
                .ok()
        };
        let Some(index) = find(self) else { return Ok(false) };
        self.settle_slot(index)?;
        let Some(index) = find(self) else { return Ok(false) };
        let slot = &mut self.slots[index];
        let is_same = match &slot.place {
            Place::Hot(chunk) => chunk.last_timestamp() == part.last_timestamp && chunk.len() == part.len,
            Place::Cold(_) => false,
        };
        if is_same {
            slot.place = Place::Cold(part);
        }
        Ok(is_same)
    }
}
