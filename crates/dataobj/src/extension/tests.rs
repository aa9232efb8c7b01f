//! A filter never loses a match: random texts, and needles cut out of them.

#![allow(clippy::unwrap_used, reason = "tests")]

use super::collect::{IDS, WORDS};
use super::fuse::{FuseBuilder, sort_keys};
use super::grams::{PageGrams, TextNeedle};
use super::page_filter::{FilterShape, PageFilter};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

const PAGES: u64 = 350;
const LINES: usize = 30;
const NEEDLES_PER_LINE: usize = 100;

/// What random lines are made of; every page takes one.
const ALPHABETS: &[&[u8]] = &[
    b"0123456789abcdef",
    b"0123456789ABCDEF-",
    b"0123456789.",
    b"0123456789.:- ",
    b"ab1 ",
    b"abcdefghijklmnopqrstuvwxyz",
    b"etaoin shrdlu=\"ETAOIN SHRDLU\"",
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
    b"aA0",
    "пользователь 0123456789 k\u{212a}s\u{17f} \n\t\0\u{7f}".as_bytes(),
];

fn random_line(random: &mut SmallRng, alphabet: &[u8]) -> Vec<u8> {
    let length = random.random_range(0..120);
    let any_byte = random.random_bool(0.1);
    let byte = |random: &mut SmallRng| {
        if any_byte && random.random_bool(0.3) {
            random.random()
        } else {
            alphabet[random.random_range(0..alphabet.len())]
        }
    };
    (0..length).map(|_| byte(random)).collect()
}

/// A piece of the line with the case of its letters changed at random.
fn cut_needle(random: &mut SmallRng, line: &[u8]) -> Vec<u8> {
    let start = random.random_range(0..=line.len());
    let end = random.random_range(start..=line.len().min(start + 32));
    let mut needle = line[start..end].to_vec();
    match random.random_range(0..4) {
        0 => needle.make_ascii_uppercase(),
        1 => needle.make_ascii_lowercase(),
        2 => {
            for byte in &mut needle {
                if byte.is_ascii_alphabetic() && random.random() {
                    *byte ^= 0x20;
                }
            }
        }
        _ => {}
    }
    needle
}

struct Filters {
    words: Vec<u8>,
    ids: Vec<u8>,
}

impl Filters {
    /// With room for so many bytes each; filters become thin where there is little.
    fn build(lines: &[Vec<u8>], max_bytes: usize) -> Option<Filters> {
        let mut grams = PageGrams::default();
        lines.iter().for_each(|line| grams.add_line(line));
        let mut builder = FuseBuilder::default();
        let mut keys = Vec::new();
        grams.take_words(&mut keys);
        let words = WORDS.build(&mut keys, max_bytes, &mut builder)?;
        sort_keys(grams.ids_mut(), &mut keys);
        let ids = IDS.build(grams.ids_mut(), max_bytes, &mut builder)?;
        Some(Filters { words, ids })
    }

    fn parsed(&self) -> [PageFilter<'_>; 2] {
        let parse = |shape: FilterShape, bytes| shape.parse(bytes).unwrap();
        [parse(WORDS, &self.words), parse(IDS, &self.ids)]
    }
}

fn may_contain([words, ids]: &[PageFilter<'_>; 2], needle: &[u8]) -> bool {
    let needle = TextNeedle::new(needle);
    words.may_hold_all(needle.words()) && ids.may_hold_all(needle.ids())
}

#[test]
fn no_needle_of_a_million_is_lost() {
    let (mut pairs, mut built, mut excluded, mut tried) = (0u64, 0, 0, 0);
    for page in 0..PAGES {
        let mut random = SmallRng::seed_from_u64(page);
        let alphabet = ALPHABETS[page as usize % ALPHABETS.len()];
        let lines: Vec<Vec<u8>> = (0..LINES).map(|_| random_line(&mut random, alphabet)).collect();
        // From plenty of room to hardly any.
        let rooms = [20_000, 4_000 >> (page % 8), 400 >> (page % 4)];
        let filters = rooms.iter().filter_map(|room| Filters::build(&lines, *room));
        let filters: Vec<Filters> = filters.collect();
        built += filters.len();
        let parsed: Vec<_> = filters.iter().map(Filters::parsed).collect();
        for (at, line) in lines.iter().enumerate() {
            for i in 0..NEEDLES_PER_LINE {
                let needle = cut_needle(&mut random, line);
                let filter = (at + i) % parsed.len();
                assert!(
                    may_contain(&parsed[filter], &needle),
                    "page {page}, filter {filter} lost {needle:?} of {line:?}"
                );
                pairs += 1;
            }
            let other = random_line(&mut random, alphabet);
            if other.len() > 16 {
                tried += 1;
                excluded += u64::from(!may_contain(&parsed[0], &other));
            }
        }
    }
    assert!(pairs >= 1_000_000, "{pairs}");
    // Filters that let everything pass would lose nothing either.
    assert!(built as u64 > 2 * PAGES, "{built}");
    assert!(excluded * 10 > tried * 6, "{excluded} of {tried}");
}

/// Found by trying: of six hexadecimal digits, these have the key that is zero.
#[test]
fn a_gram_whose_key_is_zero_is_kept() {
    for id in ["ac8ab4", "7cecf9", "28e75b"] {
        let line = format!("id={id};").into_bytes();
        let needle = TextNeedle::new(&line);
        assert_eq!(needle.ids(), [0], "{id}");
        let others = (0..500u64).map(|i| format!("{:016x}", i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).into_bytes());
        let lines: Vec<Vec<u8>> = std::iter::once(line.clone()).chain(others).collect();
        let filters = Filters::build(&lines, 20_000).unwrap();
        assert!(may_contain(&filters.parsed(), &line), "{id}");
    }
}

#[test]
fn a_needle_tells_something_from_its_length_on() {
    let f = |needle: &str, words: usize, ids: bool| {
        let needle = TextNeedle::new(needle.as_bytes());
        assert_eq!(
            (needle.words().len(), !needle.ids().is_empty()),
            (words, ids),
            "{needle:?}"
        );
    };
    f("", 0, false);
    f("abc", 0, false);
    f("abcd", 1, false);
    f("ABCD", 1, false);
    f("abcdef", 3, false);
    f("aaaaaaa", 1, false);
    f("a1b2c3", 0, false);
    f("4bf92f3577b34da6", 0, true);
    f("192.168.17.34", 0, true);
    f(" 4bf92f ", 0, true);
    f("=4bf9=", 0, false);
    assert_eq!(
        TextNeedle::new(b"TimeOut 4BF92F3577"),
        TextNeedle::new(b"timeout 4bf92f3577")
    );
}
