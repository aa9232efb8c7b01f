//! `key,timestamp,value`.

use super::{Record, Records, SeriesWriter, Unreadable, parse_timestamp, parse_value};
use crate::ts::attributes::Labels;
use crate::ts::{Sample, number};
use anyhow::{Context, anyhow};
use csv::{ByteRecord, ReaderBuilder};
use std::io::{self, BufRead, Write};

const COLUMNS: [&str; 3] = ["key", "timestamp", "value"];

pub(super) struct Writer<'w> {
    csv: csv::Writer<Box<dyn Write + 'w>>,
    key: Vec<u8>,
}

impl<'w> Writer<'w> {
    pub(super) fn new(out: Box<dyn Write + 'w>) -> io::Result<Self> {
        let mut csv = csv::Writer::from_writer(out);
        csv.write_record(COLUMNS)?;
        Ok(Self { csv, key: Vec::new() })
    }
}

impl SeriesWriter for Writer<'_> {
    fn start(&mut self, key: &[u8], _labels: &Labels) -> io::Result<()> {
        self.key = key.to_vec();
        Ok(())
    }

    fn samples(&mut self, samples: &[Sample]) -> io::Result<()> {
        for (timestamp, value) in samples {
            self.csv.write_field(&self.key)?;
            self.csv.write_field(timestamp.to_string())?;
            self.csv.write_field(number::text(*value))?;
            self.csv.write_record(None::<&[u8]>)?;
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.csv.flush()
    }
}

pub(super) struct Reader {
    csv: csv::Reader<Box<dyn BufRead>>,
    /// Where each of [`COLUMNS`] stands.
    places: [usize; 3],
    row: ByteRecord,
}

impl Reader {
    /// Reads the headings: the three columns, in any order.
    pub(super) fn new(input: Box<dyn BufRead>) -> anyhow::Result<Self> {
        let mut csv = ReaderBuilder::new().flexible(true).from_reader(input);
        let headings = csv.byte_headers().context("the line of headings")?.clone();
        let place = |name: &str| {
            headings
                .iter()
                .position(|heading| heading.trim_ascii() == name.as_bytes())
        };
        let places = COLUMNS.map(place);
        let [Some(key), Some(timestamp), Some(value)] = places else {
            return Err(anyhow!(
                "the first line must be the headings key,timestamp,value, in any order"
            ));
        };
        if headings.len() != COLUMNS.len() {
            return Err(anyhow!("there are headings besides key, timestamp and value"));
        }
        Ok(Self {
            csv,
            places: [key, timestamp, value],
            row: ByteRecord::new(),
        })
    }

    fn record(&self) -> Result<Record, String> {
        if self.row.len() != COLUMNS.len() {
            return Err(format!("{} fields instead of three", self.row.len()));
        }
        let [key, timestamp, value] = self.places.map(|place| self.row.get(place).unwrap_or_default());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes.trim_ascii()).into_owned();
        let sample = (parse_timestamp(&text(timestamp))?, parse_value(&text(value))?);
        Ok(Record {
            line: self.row.position().map_or(0, csv::Position::line),
            key: key.to_vec(),
            labels: Labels::new(),
            samples: vec![sample],
        })
    }
}

impl Records for Reader {
    fn next(&mut self) -> Option<Result<Record, Unreadable>> {
        match self.csv.read_byte_record(&mut self.row) {
            Ok(false) => None,
            Ok(true) => Some(self.record().map_err(|mistake| Unreadable::Line {
                line: self.row.position().map_or(0, csv::Position::line),
                mistake,
            })),
            Err(error) => Some(Err(Unreadable::File(error.into()))),
        }
    }
}
