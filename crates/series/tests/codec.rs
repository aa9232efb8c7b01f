//! Chunks against the columns that they were made of: every reader, all shapes of data, sizes around those of blocks.

mod shapes;

use proptest::prelude::*;
use timberline_series::codec::{BLOCK, Chunk, Encoding, MAX_CHUNK_SAMPLES};

/// Values that are special to some encoding.
const SPECIAL_VALUES: [u64; 14] = [
    0,
    1 << 63,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_0000_0000,
    0x7ff8_0000_0000_0000,
    0x7ff8_0000_dead_beef,
    0xfff0_0000_0000_0001,
    1,
    0x7fef_ffff_ffff_ffff,
    // 2^51, 2^53 + 2, 0.1 + 0.2, 1e22 and 1e-7.
    0x4320_0000_0000_0000,
    0x4340_0000_0000_0001,
    0x3fd3_3333_3333_3334,
    0x4480_f0cf_064d_d592,
    0x3e7a_d7f2_9abc_af48,
];

const SIZES: [usize; 12] = [1, 2, 3, 17, 126, 127, 128, 129, 255, 257, 1024, MAX_CHUNK_SAMPLES];

/// Bytes of a chunk beside its columns, and what the directory of a packed column takes at most for each block.
const FIXED_BYTES: usize = size_of::<Chunk>() + 32;
const BLOCK_BYTES: usize = 20;

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// Holds every reader of a chunk against the columns.
fn check_readers(chunk: &Chunk, timestamps: &[i64], values: &[f64]) {
    let len = timestamps.len();
    assert_eq!(chunk.len(), len);
    assert_eq!(chunk.first_timestamp(), timestamps[0]);
    assert_eq!(chunk.last_timestamp(), timestamps[len - 1]);
    let mut ranges = vec![0..len, 0..0, len..len, len / 3..len / 2, len - 1..len];
    ranges.extend([1, 127, 128, 129].into_iter().filter(|at| *at < len).map(|at| at..len));
    for range in ranges {
        let (mut some_timestamps, mut some_values) = (vec![7], vec![7.0]);
        chunk.append_timestamps(range.clone(), &mut some_timestamps);
        chunk.append_values(range.clone(), &mut some_values);
        assert_eq!(some_timestamps[1..], timestamps[range.clone()]);
        assert_eq!(bits(&some_values[1..]), bits(&values[range.clone()]));
        let (mut part_timestamps, mut part_values) = (vec![], vec![]);
        chunk.for_each_values(range.clone(), |part| part_values.extend_from_slice(part));
        assert_eq!(bits(&part_values), bits(&values[range.clone()]));
        part_values.clear();
        chunk.for_each_samples(range.clone(), |timestamps, values| {
            assert!(!timestamps.is_empty() && timestamps.len() <= BLOCK);
            part_timestamps.extend_from_slice(timestamps);
            part_values.extend_from_slice(values);
        });
        assert_eq!(part_timestamps, timestamps[range.clone()]);
        assert_eq!(bits(&part_values), bits(&values[range]));
    }
    if let Some((first, step)) = chunk.regular() {
        let line = (0..len as i64).map(|index| first.wrapping_add(step.wrapping_mul(index)));
        assert!(line.eq(timestamps.iter().copied()));
    }
    // A sample costs as much as its block, so of long chunks not all are read by themselves.
    let stride = if len > 300 { 7 } else { 1 };
    for (index, timestamp) in timestamps.iter().enumerate().step_by(stride) {
        assert_eq!(chunk.timestamp_at(index), *timestamp);
        assert_eq!(
            chunk.value_at(index).to_bits(),
            values[index].to_bits(),
            "value {index}"
        );
        for near in [timestamp.saturating_sub(1), *timestamp, timestamp.saturating_add(1)] {
            assert_eq!(chunk.find(near), timestamps.binary_search(&near));
        }
    }
    for far in [i64::MIN, 0, i64::MAX] {
        assert_eq!(chunk.find(far), timestamps.binary_search(&far));
    }
}

/// Encodes columns in both ways and reads them, also from bytes.
fn check(timestamps: &[i64], values: &[f64]) {
    for encoding in [Encoding::Compressed, Encoding::Uncompressed] {
        let chunk = Chunk::encode(timestamps, values, encoding);
        check_readers(&chunk, timestamps, values);
        let most_bytes = FIXED_BYTES + 16 * timestamps.len() + BLOCK_BYTES * timestamps.len().div_ceil(BLOCK);
        assert!(chunk.memory_bytes() <= most_bytes);
        let mut bytes = Vec::new();
        chunk.append_bytes(&mut bytes);
        let again = Chunk::from_bytes(&bytes).expect("what was written can be read");
        check_readers(&again, timestamps, values);
        let mut again_bytes = Vec::new();
        again.append_bytes(&mut again_bytes);
        assert_eq!(bytes, again_bytes);
    }
}

#[test]
fn shapes_of_all_sizes_round_trip() {
    for shape in shapes::shapes(MAX_CHUNK_SAMPLES) {
        for size in SIZES {
            check(&shape.timestamps[..size], &shape.values[..size]);
            // Out of step with the blocks in which the shape was made.
            let end = shape.values.len() - (MAX_CHUNK_SAMPLES - size) / 2;
            check(&shape.timestamps[end - size..end], &shape.values[end - size..end]);
        }
    }
}

#[test]
fn shapes_take_few_bytes() {
    let mut rows = String::new();
    let mut all_fit = true;
    for shape in shapes::shapes(20 * 1024) {
        let columns = shape.timestamps.chunks(1024).zip(shape.values.chunks(1024));
        let chunks = columns.map(|(timestamps, values)| Chunk::encode(timestamps, values, Encoding::Compressed));
        let bytes: usize = chunks.map(|chunk| chunk.memory_bytes()).sum();
        let bytes = bytes as f64 / shape.values.len() as f64;
        all_fit &= bytes <= shape.most_bytes;
        rows += &format!(
            "{:40} {bytes:.3} bytes a sample, at most {}\n",
            shape.name, shape.most_bytes
        );
    }
    assert!(all_fit, "{rows}");
}

#[test]
fn extreme_timestamps_round_trip() {
    let far = i64::MAX;
    for timestamps in [
        vec![0],
        vec![far],
        vec![0, far],
        vec![0, 1, far],
        vec![0, far - 1, far],
        vec![0, far / 2, far / 2 + 1, far],
        vec![i64::MIN, far],
        vec![i64::MIN, -1, 0, far],
        (0..300).collect(),
        (0..300).map(|index| far - 2 * (299 - index)).collect(),
        (0..300)
            .map(|index| far - index * index * 7 % 11 - 20 * (299 - index))
            .collect(),
        (0..200).map(|index| index * (far / 200)).collect(),
        (0..200).map(|index| index * (far / 200) + index * index).collect(),
        (0..130).chain([far]).collect(),
    ] {
        let values: Vec<f64> = (0..timestamps.len()).map(|index| index as f64).collect();
        check(&timestamps, &values);
    }
}

#[test]
fn special_values_round_trip() {
    let special = SPECIAL_VALUES.map(f64::from_bits);
    let timestamps: Vec<i64> = (0..600).collect();
    let check = |values: &[f64]| check(&timestamps[..values.len()], values);
    check(&special);
    for value in special {
        for size in [1, 2, 127, 128, 129] {
            check(&vec![value; size]);
        }
        // Alone among integers and among decimals, in every place of a block.
        for place in [0, 1, 63, 127, 128, 200] {
            for power in [1.0, 10.0, 1000.0] {
                let mut values: Vec<f64> = (0..201).map(|index| f64::from(index) / power).collect();
                values[place] = value;
                check(&values);
            }
        }
    }
    for period in [2, 5, 50] {
        let values: Vec<f64> = (0..600)
            .map(|index| {
                if index % period == 0 {
                    special[index / period % special.len()]
                } else {
                    index as f64
                }
            })
            .collect();
        check(&values);
    }
}

#[test]
fn constant_chunk_is_small() {
    let timestamps: Vec<i64> = (0..1024).map(|index| index * 10_000).collect();
    let chunk = Chunk::encode(&timestamps, &[42.5; 1024], Encoding::Compressed);
    assert!(chunk.memory_bytes() < 64, "{} bytes", chunk.memory_bytes());
}

#[test]
fn damaged_bytes_are_refused_or_read_without_panic() {
    for shape in shapes::shapes(150) {
        let mut bytes = Vec::new();
        Chunk::encode(&shape.timestamps, &shape.values, Encoding::Compressed).append_bytes(&mut bytes);
        for cut in 0..bytes.len() {
            assert!(Chunk::from_bytes(&bytes[..cut]).is_err(), "{} cut at {cut}", shape.name);
        }
        assert!(
            Chunk::from_bytes(&[&bytes[..], &[0]].concat()).is_err(),
            "{} with one byte more",
            shape.name
        );
        for at in 0..bytes.len().min(120) {
            for flipped in [1, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] ^= flipped;
                if let Ok(chunk) = Chunk::from_bytes(&damaged) {
                    let (mut timestamps, mut values) = (vec![], vec![]);
                    chunk.append_timestamps(0..chunk.len(), &mut timestamps);
                    chunk.append_values(0..chunk.len(), &mut values);
                    check_readers(&chunk, &timestamps, &values);
                }
            }
        }
    }
}

/// Ascending timestamps: distances of one or two kinds.
fn timestamps(len: usize) -> impl Strategy<Value = Vec<i64>> {
    let distance = prop_oneof![
        6 => 1..100i64,
        3 => (0..10u32).prop_map(|power| 10i64.pow(power)),
        1 => 1..1i64 << 40,
    ];
    let first = prop_oneof![Just(0), 0..1i64 << 41];
    (
        first,
        distance.clone(),
        distance,
        proptest::collection::vec(0..100u8, len),
        0..100u8,
    )
        .prop_map(|(first, usual, other, dice, share)| {
            let mut time = first;
            let next = dice.iter().map(|dice| {
                time += if *dice < share { other } else { usual } + i64::from(*dice % 3) * i64::from(share % 2);
                time
            });
            next.collect()
        })
}

/// Values of one kind, with some of another kind among them.
fn values(len: usize) -> impl Strategy<Value = Vec<f64>> {
    let kind = || {
        prop_oneof![
            (-100..100i64).prop_map(|number| number as f64),
            (-100_000..100_000i64, 0..12i32).prop_map(|(number, digits)| number as f64 / 10f64.powi(digits)),
            any::<i64>().prop_map(|number| (number >> 8) as f64),
            any::<f64>(),
            any::<f32>().prop_map(f64::from),
            any::<u64>().prop_map(f64::from_bits),
            proptest::sample::select(&SPECIAL_VALUES).prop_map(f64::from_bits),
        ]
    };
    let pool = || proptest::collection::vec(kind(), 1..40);
    let scale = prop_oneof![Just(0i32), Just(2), 0..15i32];
    (
        pool(),
        proptest::collection::vec((any::<u16>(), 0..100u8), len),
        0..110u8,
        scale,
    )
        .prop_map(|(pool, dice, share, scale)| {
            let mut walk = 0i64;
            let next = dice.iter().map(|(index, dice)| {
                walk += i64::from(*index % 64) - 20;
                if *dice < share {
                    walk as f64 / 10f64.powi(scale)
                } else {
                    pool[usize::from(*index) % pool.len()]
                }
            });
            next.collect()
        })
}

fn columns() -> impl Strategy<Value = (Vec<i64>, Vec<f64>)> {
    let size = prop_oneof![4 => 1..300usize, 1 => proptest::sample::select(&SIZES[..11])];
    size.prop_flat_map(|len| (timestamps(len), values(len)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_columns_round_trip((timestamps, values) in columns()) {
        check(&timestamps, &values);
    }

    #[test]
    fn any_bytes_are_safe(mut bytes in proptest::collection::vec(any::<u8>(), 0..400), len in 1..300u16, kinds in 0..12u8, times in 0..64u32) {
        if bytes.len() >= 24 {
            bytes[..2].copy_from_slice(&len.to_le_bytes());
            bytes[2..4].copy_from_slice(&[kinds % 3, kinds / 3]);
            bytes[4..8].copy_from_slice(&times.to_le_bytes());
        }
        if let Ok(chunk) = Chunk::from_bytes(&bytes) {
            let (mut timestamps, mut values) = (vec![], vec![]);
            chunk.append_timestamps(0..chunk.len(), &mut timestamps);
            chunk.append_values(0..chunk.len(), &mut values);
            check_readers(&chunk, &timestamps, &values);
        }
    }
}
