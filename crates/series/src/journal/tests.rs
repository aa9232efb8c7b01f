//! The journal on a disk that fails: what was told to be durable is there, and in the end everything is.

use super::file::{SegmentFile, Storage};
use super::frame::SEGMENT_HEADER;
use super::segment::{SegmentError, SegmentFault, read_frames};
use super::*;
use parking_lot::Mutex;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::io;

/// A disk in memory that fails now and then, and then keeps any part of what was not synced.
#[derive(Debug)]
struct Disk {
    segments: BTreeMap<u64, Content>,
    random: SmallRng,
    /// Of a hundred calls so many fail.
    failing: u32,
}

#[derive(Debug, Default, Clone)]
struct Content {
    bytes: Vec<u8>,
    synced: usize,
}

#[derive(Debug, Clone)]
struct FakeStorage(Arc<Mutex<Disk>>);

#[derive(Debug)]
struct FakeFile(Arc<Mutex<Disk>>, u64);

impl FakeStorage {
    fn new(seed: u64, failing: u32) -> FakeStorage {
        FakeStorage(Arc::new(Mutex::new(Disk {
            segments: BTreeMap::new(),
            random: SmallRng::seed_from_u64(seed),
            failing,
        })))
    }

    /// Sequence numbers of all frames, in order, and what is wrong with the segments.
    fn sequences(&self, synced_only: bool) -> (Vec<u64>, Vec<SegmentFault>) {
        let disk = self.0.lock();
        let (mut sequences, mut faults) = (Vec::new(), Vec::new());
        for content in disk.segments.values() {
            let bytes = if synced_only {
                &content.bytes[..content.synced]
            } else {
                &content.bytes
            };
            let visit = |sequence: u64, payload: &[u8]| {
                assert_eq!(payload, payload_of(sequence));
                sequences.push(sequence);
                Ok::<_, ()>(())
            };
            faults.extend(read_frames(bytes, false, visit).unwrap());
        }
        (sequences, faults)
    }
}

impl Disk {
    fn fails(&mut self) -> bool {
        self.random.random_ratio(self.failing, 100)
    }
}

fn broken() -> io::Error {
    io::Error::other("no space left")
}

impl Storage for FakeStorage {
    fn create(&mut self, number: u64) -> io::Result<Arc<dyn SegmentFile>> {
        let mut disk = self.0.lock();
        if disk.fails() {
            return Err(broken());
        }
        disk.segments.insert(number, Content::default());
        Ok(Arc::new(FakeFile(Arc::clone(&self.0), number)))
    }
}

impl SegmentFile for FakeFile {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        let mut disk = self.0.lock();
        let fails = disk.fails();
        let written = if fails {
            disk.random.random_range(0..=bytes.len())
        } else {
            bytes.len()
        };
        disk.segments
            .get_mut(&self.1)
            .unwrap()
            .bytes
            .extend_from_slice(&bytes[..written]);
        if fails { Err(broken()) } else { Ok(()) }
    }

    fn sync(&self) -> io::Result<()> {
        let mut disk = self.0.lock();
        let fails = disk.fails();
        let content = disk.segments.get_mut(&self.1).unwrap();
        if fails {
            // Pages that could not be written are dropped and read as zeros or as whatever is there.
            let synced = content.synced;
            content.bytes[synced..].fill(0);
            return Err(broken());
        }
        content.synced = content.bytes.len();
        Ok(())
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        let mut disk = self.0.lock();
        if disk.fails() {
            return Err(broken());
        }
        let content = disk.segments.get_mut(&self.1).unwrap();
        content.bytes.truncate(length as usize);
        content.synced = content.synced.min(length as usize);
        Ok(())
    }
}

fn payload_of(sequence: u64) -> Vec<u8> {
    vec![sequence as u8; 1 + (sequence as usize * 7919) % 300]
}

#[test]
fn what_is_told_to_be_durable_is_on_the_disk() {
    for (seed, fsync) in
        (0..6).flat_map(|seed| [Fsync::Always, Fsync::EverySecond, Fsync::No].map(|fsync| (seed, fsync)))
    {
        let storage = FakeStorage::new(seed, if seed == 0 { 0 } else { 20 });
        let journal = Journal::start(Box::new(storage.clone()), fsync, 5, 1).unwrap();
        let mut acknowledged = Vec::new();
        let mut last = 0;
        for round in 0..40 {
            for _ in 0..10 {
                let next = journal.next_sequence();
                last = journal.append(&payload_of(next));
                assert_eq!(last, next);
            }
            if round % 13 == 12 {
                journal.rotate();
            }
            if fsync == Fsync::Always {
                let (told, hears) = std::sync::mpsc::channel();
                let storage = storage.clone();
                let tell =
                    move |outcome: Result<(), _>| told.send((outcome.is_ok(), storage.sequences(true).0)).unwrap();
                journal.when_durable(last, Box::new(tell));
                let (is_durable, durable) = hears.recv().unwrap();
                if is_durable {
                    assert_eq!(durable[..last as usize], (1..=last).collect::<Vec<_>>(), "seed {seed}");
                }
                acknowledged.push(is_durable);
            } else if journal.sync(last).is_ok() {
                let durable = storage.sequences(true).0;
                assert_eq!(
                    durable[..last as usize],
                    (1..=last).collect::<Vec<_>>(),
                    "seed {seed} {fsync:?}"
                );
            }
        }
        storage.0.lock().failing = 0;
        drop(journal);
        let (found, faults) = storage.sequences(false);
        assert_eq!((found, faults), ((1..=last).collect(), vec![]), "seed {seed} {fsync:?}");
        if fsync == Fsync::Always {
            assert_eq!(acknowledged.len(), 40);
            assert_eq!(
                acknowledged.iter().all(|ok| *ok),
                seed == 0,
                "seed {seed}: failures are told"
            );
        }
    }
}

#[test]
fn a_disk_that_refuses_stops_writers_until_it_works_again() {
    let storage = FakeStorage::new(1, 100);
    let journal = Journal::start(Box::new(storage.clone()), Fsync::Always, 1, 1).unwrap();
    assert_eq!(journal.check(), Ok(()));
    let sequence = journal.append(&payload_of(1));
    assert_eq!(journal.sync(sequence), Err(JournalError("no space left".into())));
    assert_eq!(journal.check(), Err(JournalError("no space left".into())));
    assert_eq!(journal.statistics().failing.as_deref(), Some("no space left"));
    storage.0.lock().failing = 0;
    while journal.check().is_err() {
        std::thread::yield_now();
    }
    assert_eq!(journal.sync(sequence), Ok(()));
    assert_eq!(storage.sequences(true).0, [1]);
}

#[test]
fn the_policy_changes_while_writers_wait() {
    let storage = FakeStorage::new(1, 0);
    let journal = Journal::start(Box::new(storage.clone()), Fsync::No, 1, 1).unwrap();
    journal.append(&payload_of(1));
    journal.set_fsync(Fsync::Always);
    let sequence = journal.append(&payload_of(2));
    let (told, hears) = std::sync::mpsc::channel();
    journal.when_durable(sequence, Box::new(move |outcome| told.send(outcome).unwrap()));
    assert_eq!(hears.recv(), Ok(Ok(())));
    assert_eq!(storage.sequences(true).0, [1, 2]);
}

#[test]
fn segments_are_cut_at_the_first_frame_that_is_not_whole() {
    let storage = FakeStorage::new(1, 0);
    let journal = Journal::start(Box::new(storage.clone()), Fsync::Always, 1, 1).unwrap();
    for sequence in 1..=3 {
        journal.append(&payload_of(sequence));
    }
    drop(journal);
    let bytes = storage.0.lock().segments[&1].bytes.clone();
    let ends: Vec<usize> = (1..=3)
        .scan(SEGMENT_HEADER.len(), |end, n| {
            *end += 16 + payload_of(n).len();
            Some(*end)
        })
        .collect();
    let read = |bytes: &[u8], past_faults| {
        let mut found = Vec::new();
        let fault = read_frames(bytes, past_faults, |sequence, _| {
            found.push(sequence);
            Ok::<_, ()>(())
        });
        (found, fault.unwrap())
    };
    assert_eq!(read(&bytes, false), (vec![1, 2, 3], None));
    for cut in ends[1]..bytes.len() {
        let fault = SegmentFault {
            offset: ends[1] as u64,
            bytes: (cut - ends[1]) as u64,
            frames_follow: false,
        };
        assert_eq!(
            read(&bytes[..cut], false),
            (vec![1, 2], (cut > ends[1]).then_some(fault)),
            "{cut}"
        );
    }
    for at in ends[0]..ends[1] {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x40;
        let fault = SegmentFault {
            offset: ends[0] as u64,
            bytes: (bytes.len() - ends[0]) as u64,
            frames_follow: true,
        };
        assert_eq!(read(&damaged, false), (vec![1], Some(fault)), "{at}");
        assert_eq!(read(&damaged, true), (vec![1, 3], Some(fault)), "{at}");
    }
    for cut in 0..SEGMENT_HEADER.len() {
        assert_eq!(
            read(&bytes[..cut], false).1.map(|fault| fault.frames_follow),
            Some(false)
        );
    }
    let mut other = bytes;
    other[8] = 2;
    assert!(matches!(
        read_frames(&other, false, |_, _| Ok::<_, ()>(())),
        Err(SegmentError::Version)
    ));
}
