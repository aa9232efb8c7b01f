//! Labels of series, filters over them, and the index that finds series by them (specification, chapters 1 and 11).

mod filter;
mod index;

pub use filter::{Filters, LabelFilter, Test};
pub use index::{LabelIndex, Selected};

/// Pairs of name and value in the order given; names may repeat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels(Box<[Label]>);

/// A name and a value.
type Label = (Box<[u8]>, Box<[u8]>);

impl Labels {
    /// Labels of pairs. The caller has checked names and values (specification, chapter 3).
    pub fn from_pairs(pairs: Vec<(Vec<u8>, Vec<u8>)>) -> Labels {
        let boxed = pairs
            .into_iter()
            .map(|(name, value)| (name.into_boxed_slice(), value.into_boxed_slice()));
        Labels(boxed.collect())
    }

    /// Names and values in the order given.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], &[u8])> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// How many pairs.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no pair.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first value of a name.
    pub fn get(&self, name: &[u8]) -> Option<&[u8]> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Bytes of memory behind the labels.
    pub(crate) fn heap_bytes(&self) -> usize {
        let texts: usize = self.0.iter().map(|(name, value)| name.len() + value.len()).sum();
        texts + size_of_val::<[_]>(&self.0)
    }
}
