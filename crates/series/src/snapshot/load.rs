//! Reading snapshots into an engine.

use super::blocks::{BlockError, BlockReader};
use super::items::{Item, read_item};
use crate::cold::ColdTier;
use crate::engine::{Access, Bodies};
use crate::keyspace::Entry;
use crate::series::SeriesBody;
use crate::wire::Reader;
use ahash::AHashMap;
use std::io::Read;
use std::sync::Arc;

/// What a snapshot says beside keys and series.
pub(super) struct Loaded {
    pub(super) bodies: Bodies,
    pub(super) first_sequence: u64,
    pub(super) next_sequence: u64,
}

/// Reads a snapshot into an empty engine.
pub(super) fn load<R: Read>(access: &Access<'_>, input: R, tier: Option<&ColdTier>) -> Result<Loaded, BlockError> {
    let mut blocks = BlockReader::new(input)?;
    let mut reading = Reading {
        access,
        tier,
        keys: AHashMap::new(),
        series: AHashMap::new(),
        group: 0,
        current: None,
        end: None,
    };
    loop {
        let offset = blocks.offset();
        let Some(block) = blocks.next()? else { break };
        let mut reader = Reader::new(block);
        while !reader.is_empty() {
            reading
                .item(&mut reader)
                .map_err(|what| BlockError::Corrupt(offset, what))?;
        }
    }
    reading
        .finish()
        .map_err(|what| BlockError::Corrupt(blocks.offset(), what))
}

struct Reading<'a> {
    access: &'a Access<'a>,
    tier: Option<&'a ColdTier>,
    keys: AHashMap<u64, (u8, Arc<[u8]>, i64)>,
    /// Bodies with the number of their group.
    series: AHashMap<u64, (u64, SeriesBody)>,
    group: u64,
    /// A series some of whose chunks are still to come.
    current: Option<(u64, SeriesBody, u64)>,
    end: Option<(u64, u64, u64)>,
}

impl Reading<'_> {
    fn item(&mut self, reader: &mut Reader<'_>) -> Result<(), &'static str> {
        if self.end.is_some() {
            return Err("items follow behind the end");
        }
        let item =
            read_item(reader, self.tier).ok_or("an item is damaged, or refers to an object store that is not there")?;
        match item {
            Item::SeriesKey {
                db,
                key,
                expires_at,
                id,
            } => {
                self.keys.insert(id, (db, key.into(), expires_at));
            }
            Item::TextKey {
                plain,
                db,
                key,
                expires_at,
                text,
            } => {
                self.access.place(
                    db,
                    key,
                    Entry {
                        value: plain.value(text),
                        expires_at,
                    },
                );
            }
            Item::Series {
                id,
                begins_group,
                body,
                chunks,
            } => {
                self.complete()?;
                self.group += u64::from(begins_group);
                self.current = Some((id, body, chunks));
            }
            Item::Chunk(place) => {
                let (_, body, missing) = self.current.as_mut().ok_or("a chunk belongs to no series")?;
                *missing = missing.checked_sub(1).ok_or("a series has too many chunks")?;
                body.chunks.push(place);
            }
            Item::End {
                next_id,
                first_sequence,
                next_sequence,
            } => {
                self.complete()?;
                self.end = Some((next_id, first_sequence, next_sequence));
            }
        }
        Ok(())
    }

    fn complete(&mut self) -> Result<(), &'static str> {
        match self.current.take() {
            Some((_, _, 1..)) => Err("a series lacks chunks"),
            Some((id, body, 0)) => {
                self.series.insert(id, (self.group, body));
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Makes the series.
    fn finish(mut self) -> Result<Loaded, &'static str> {
        let (next_id, first_sequence, next_sequence) = self.end.ok_or("the end is missing")?;
        self.drop_ended_rules();
        let bodies = self.series.into_iter().map(|(id, (_, body))| (id, body));
        let mut bodies = Bodies::new(bodies.collect());
        for (id, (db, key, expires_at)) in self.keys {
            if !bodies
                .give_birth(self.access, id, db, &key, expires_at)
                .map_err(|error| error.0)?
            {
                return Err("a key has no series");
            }
        }
        bodies.make_rules();
        bodies.note_id(next_id.saturating_sub(1));
        Ok(Loaded {
            bodies,
            first_sequence,
            next_sequence,
        })
    }

    /// Drops rules that ended while the snapshot was written: their destination was written again, later and without the source. What the source
    /// gave it is in there.
    fn drop_ended_rules(&mut self) {
        let groups: AHashMap<u64, u64> = self.series.iter().map(|(id, (group, _))| (*id, *group)).collect();
        for (group, body) in self.series.values_mut() {
            body.rules.retain(|rule| groups.get(&rule.destination) == Some(group));
        }
    }
}
