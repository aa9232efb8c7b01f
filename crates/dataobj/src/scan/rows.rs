//! Sets of rows as ascending ranges: what statistics leave, what a test keeps, where kept rows stand in a decoded page.

use std::ops::Range;

/// A set of rows: ranges that ascend, don't touch and aren't empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowRanges(Vec<Range<u64>>);

impl RowRanges {
    /// The rows of one range.
    pub fn from_range(range: Range<u64>) -> RowRanges {
        let mut rows = RowRanges::default();
        rows.push(range);
        rows
    }

    /// The ranges, ascending.
    pub fn ranges(&self) -> &[Range<u64>] {
        &self.0
    }

    /// How many rows there are.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|range| range.end - range.start).sum()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds rows behind all others.
    pub(crate) fn push(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        match self.0.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            last => {
                debug_assert!(last.is_none_or(|last| last.end < range.start), "ranges ascend");
                self.0.push(range);
            }
        }
    }

    /// Adds the rows `first + i` for the bits `i` that are set, behind all others.
    #[inline]
    pub(crate) fn push_mask(&mut self, first: u64, mask: u64) {
        if mask == u64::MAX {
            return self.push(first..first + 64);
        }
        let (mut rest, mut at) = (mask, first);
        while rest != 0 {
            let zeros = rest.trailing_zeros();
            let ones = (rest >> zeros).trailing_ones();
            at += u64::from(zeros);
            self.push(at..at + u64::from(ones));
            at += u64::from(ones);
            // Not all 64 bits are set, so neither shift is by 64.
            rest = (rest >> zeros) >> ones;
        }
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// The ranges that have rows in `range`; the outer ones may reach beyond it.
    fn touching(&self, range: &Range<u64>) -> &[Range<u64>] {
        let first = self.0.partition_point(|own| own.end <= range.start);
        let touching = self.0.get(first..).unwrap_or_default();
        let count = touching.partition_point(|own| own.start < range.end);
        touching.get(..count).unwrap_or_default()
    }

    /// From the first to behind the last.
    fn span(&self) -> Range<u64> {
        match self.0.as_slice() {
            [] => 0..0,
            [first, .., last] => first.start..last.end,
            [only] => only.clone(),
        }
    }

    /// True if a row of `range` is among them.
    pub(crate) fn overlap(&self, range: &Range<u64>) -> bool {
        !range.is_empty() && !self.touching(range).is_empty()
    }

    /// Those within `range`.
    pub(crate) fn clip(&self, range: &Range<u64>) -> RowRanges {
        let mut clipped = RowRanges::default();
        for own in self.touching(range) {
            clipped.push(own.start.max(range.start)..own.end.min(range.end));
        }
        clipped
    }

    /// The first of them at or behind `row`.
    pub(crate) fn first_from(&self, row: u64) -> Option<u64> {
        let next = self.0.partition_point(|range| range.end <= row);
        self.0.get(next).map(|range| range.start.max(row))
    }

    /// Rows in both. Costs little if one of them is a small part of the other.
    pub(crate) fn intersect(&self, other: &RowRanges) -> RowRanges {
        let mut both = RowRanges::default();
        let mut left = self.touching(&other.span());
        let mut right = other.touching(&self.span());
        while let ([a, ..], [b, ..]) = (left, right) {
            let start = a.start.max(b.start);
            let end = a.end.min(b.end);
            if start < end {
                both.push(start..end);
            }
            if a.end <= b.end {
                left = &left[1..];
            }
            if b.end <= a.end {
                right = &right[1..];
            }
        }
        both
    }

    /// Rows in either.
    pub(crate) fn union(&self, other: &RowRanges) -> RowRanges {
        let mut either = RowRanges::default();
        let mut push = |range: &Range<u64>| match either.0.last_mut() {
            Some(last) if last.end >= range.start => last.end = last.end.max(range.end),
            _ => either.0.push(range.clone()),
        };
        let (mut left, mut right) = (self.0.as_slice(), other.0.as_slice());
        while let ([a, a_rest @ ..], [b, b_rest @ ..]) = (left, right) {
            if a.start <= b.start {
                push(a);
                left = a_rest;
            } else {
                push(b);
                right = b_rest;
            }
        }
        left.iter().chain(right).for_each(push);
        either
    }

    /// Rows of this set that are not in the other.
    pub(crate) fn subtract(&self, other: &RowRanges) -> RowRanges {
        let mut left = RowRanges::default();
        let mut removed = other.touching(&self.span());
        for own in &self.0 {
            let mut start = own.start;
            while let [hole, rest @ ..] = removed
                && hole.start < own.end
            {
                left.push(start..hole.start.clamp(start, own.end));
                start = start.max(hole.end);
                if hole.end > own.end {
                    break;
                }
                removed = rest;
            }
            left.push(start.min(own.end)..own.end);
        }
        left
    }

    /// The positions within this set of the rows of a subset.
    pub(crate) fn positions_of(&self, subset: &RowRanges) -> RowRanges {
        let mut positions = RowRanges::default();
        let mut own = self.0.iter();
        let mut current = own.next();
        // The position of the first row of `current`.
        let mut before = 0;
        for range in &subset.0 {
            while let Some(candidate) = current
                && candidate.end <= range.start
            {
                before += candidate.end - candidate.start;
                current = own.next();
            }
            let holder = current.expect("bug: rows are not a subset");
            debug_assert!(holder.start <= range.start && range.end <= holder.end, "a subset");
            positions.push(before + range.start - holder.start..before + range.end - holder.start);
        }
        positions
    }

    /// The rows that stand at these positions within this set.
    pub(crate) fn at_positions(&self, positions: &RowRanges) -> RowRanges {
        let mut rows = RowRanges::default();
        let mut cursor = RowCursor::new(self.clone());
        let mut passed = 0;
        for range in &positions.0 {
            cursor.skip(range.start - passed);
            cursor.take_into(range.end - range.start, u64::MAX, &mut rows);
            passed = range.end;
        }
        rows
    }

    /// True if every row of `other` is in this set.
    pub(crate) fn contain(&self, other: &RowRanges) -> bool {
        other.0.iter().all(|range| {
            let touching = self.touching(range);
            matches!(touching, [holder] if holder.start <= range.start && range.end <= holder.end)
        })
    }
}

/// Takes rows from the front of a set, piece by piece.
#[derive(Debug, Default)]
pub(crate) struct RowCursor {
    rows: RowRanges,
    /// The range that holds the next row, and rows of it that are taken already.
    at: usize,
    taken: u64,
}

impl RowCursor {
    pub(crate) fn new(rows: RowRanges) -> RowCursor {
        RowCursor { rows, at: 0, taken: 0 }
    }

    fn rest_of_range(&self) -> Option<Range<u64>> {
        self.rows
            .0
            .get(self.at)
            .map(|range| range.start + self.taken..range.end)
    }

    /// The next row, if there is one.
    pub(crate) fn peek(&self) -> Option<u64> {
        self.rest_of_range().map(|range| range.start)
    }

    /// Appends the next rows to `out`: at most `count`, and only such below `end`. Returns how many.
    pub(crate) fn take_into(&mut self, count: u64, end: u64, out: &mut RowRanges) -> u64 {
        let mut missing = count;
        while missing > 0
            && let Some(range) = self.rest_of_range()
            && range.start < end
        {
            let piece = range.start..range.end.min(end).min(range.start.saturating_add(missing));
            let length = piece.end - piece.start;
            missing -= length;
            self.advance(length, piece.end == range.end);
            out.push(piece);
        }
        count - missing
    }

    fn skip(&mut self, count: u64) {
        let mut missing = count;
        while missing > 0
            && let Some(range) = self.rest_of_range()
        {
            let length = missing.min(range.end - range.start);
            missing -= length;
            self.advance(length, length == range.end - range.start);
        }
    }

    fn advance(&mut self, length: u64, is_whole: bool) {
        if is_whole {
            self.at += 1;
            self.taken = 0;
        } else {
            self.taken += length;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn rows_of(set: &BTreeSet<u64>) -> RowRanges {
        let mut rows = RowRanges::default();
        set.iter().for_each(|row| rows.push(*row..*row + 1));
        rows
    }

    fn set_of(rows: &RowRanges) -> BTreeSet<u64> {
        assert!(rows.0.iter().all(|range| !range.is_empty()));
        assert!(rows.0.is_sorted_by(|a, b| a.end < b.start));
        rows.0.iter().cloned().flatten().collect()
    }

    fn rows() -> impl Strategy<Value = BTreeSet<u64>> {
        prop_oneof![
            proptest::collection::btree_set(0u64..150, 0..150),
            (0u64..150, 0u64..150).prop_map(|(start, length)| (start..start + length).collect()),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn sets_of_numbers_agree(a in rows(), b in rows(), start in 0u64..160, length in 0u64..100, count in 0u64..80) {
            let (left, right) = (rows_of(&a), rows_of(&b));
            prop_assert_eq!(left.count(), a.len() as u64);
            prop_assert_eq!(set_of(&left.intersect(&right)), &a & &b);
            prop_assert_eq!(set_of(&left.union(&right)), &a | &b);
            prop_assert_eq!(set_of(&left.subtract(&right)), &a - &b);
            prop_assert_eq!(left.contain(&right), b.is_subset(&a));

            let range = start..start + length;
            let clipped: BTreeSet<u64> = a.iter().copied().filter(|row| range.contains(row)).collect();
            prop_assert_eq!(left.overlap(&range), !clipped.is_empty());
            prop_assert_eq!(set_of(&left.clip(&range)), clipped);
            prop_assert_eq!(left.first_from(start), a.range(start..).next().copied());

            let subset = left.intersect(&right);
            let positions: BTreeSet<u64> =
                a.iter().enumerate().filter(|(_, row)| b.contains(row)).map(|(i, _)| i as u64).collect();
            prop_assert_eq!(set_of(&left.positions_of(&subset)), positions.clone());
            prop_assert_eq!(left.at_positions(&rows_of(&positions)), subset);

            let mut cursor = RowCursor::new(left.clone());
            let (mut first, mut second) = (RowRanges::default(), RowRanges::default());
            let taken = cursor.take_into(count, start, &mut first);
            let want: BTreeSet<u64> = a.iter().copied().filter(|row| *row < start).take(count as usize).collect();
            prop_assert_eq!(taken, want.len() as u64);
            prop_assert_eq!(cursor.peek(), a.difference(&want).next().copied());
            cursor.take_into(u64::MAX, u64::MAX, &mut second);
            prop_assert_eq!(set_of(&second), &a - &want);
            prop_assert_eq!(set_of(&first), want);
        }

        #[test]
        fn masks_are_sets_of_bits(mask in prop_oneof![any::<u64>(), Just(u64::MAX), Just(0), Just(1 << 63)], first in 0u64..100) {
            let mut rows = RowRanges::default();
            rows.push_mask(first, mask);
            let want: BTreeSet<u64> = (0..64).filter(|bit| mask >> bit & 1 == 1).map(|bit| first + bit).collect();
            prop_assert_eq!(set_of(&rows), want);
        }
    }
}
