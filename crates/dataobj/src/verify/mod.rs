//! Checks a whole object: every checksum, and everything that the format promises.
//!
//! Reading trusts as little as it can; verifying also looks at what reading never needs: whether regions and pages tile the
//! file, statistics bound the values, rows stand in the declared order, and sections agree with each other.
//!
//! A finding is an *error* if a reader of the object could fail or answer wrongly because of it, and a *note* if the format
//! allows it or no reader relies on it. Objects that Loki writes give no errors. [`Check::ALL`] lists all that is checked.
//!
//! | file | checks |
//! |---|---|
//! | `envelope.rs` | header, regions, trailer |
//! | `section.rs` | metadata region, tiling by pages, columns of a kind |
//! | `column.rs` | pages, sums, statistics |
//! | `order.rs` | the declared order |
//! | `streams.rs` | streams sections: numbers, shard buckets, one section for each tenant |
//! | `logs.rs` | logs sections: streams and times of rows |
//! | `index.rs` | pointers, index pointers, postings: allowed values |
//! | `extension.rs` | sections of this project's own |

mod cells;
mod check;
mod column;
mod envelope;
mod extension;
mod index;
mod kinds;
mod logs;
mod order;
mod section;
mod streams;
#[cfg(test)]
mod tests;

pub use check::{Check, Severity};

use crate::error::Error;
use crate::read::{Scratch, Section};
use crate::schema::SectionKind;
use std::fmt;

/// Most findings that a report lists; further ones are only counted.
const MAX_FINDINGS: usize = 1000;

/// Most bytes of decoded columns that are kept in order to compare rows with each other. A section that needs more is
/// checked page by page only, and the report says so.
const MAX_KEPT_BYTES: usize = 1 << 30;

/// What came of verifying an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// What was found, in file order; the first thousand.
    pub findings: Vec<Finding>,
    /// All errors, those not listed included.
    pub errors: u64,
    /// All notes, those not listed included.
    pub notes: u64,
    /// What was looked at.
    pub checked: Checked,
}

/// How much was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Columnar sections, those of unknown kinds included.
    pub sections: u64,
    /// Sections of unknown kinds that are not columnar; only their place in the file was checked.
    pub opaque_sections: u64,
    /// Columns.
    pub columns: u64,
    /// Pages that were decoded.
    pub pages: u64,
    /// Their bytes as stored.
    pub page_bytes: u64,
    /// Their rows, nulls included.
    pub rows: u64,
    /// Their rows that are not null.
    pub values: u64,
}

/// Something that is not as it should be, or not as usual.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was checked.
    pub check: Check,
    /// Position of the section in the object; `None` for the object's envelope.
    pub section: Option<usize>,
    /// Logical name of the column, and `/tag` if it has a tag.
    pub column: Option<String>,
    /// Position of the page in the column.
    pub page: Option<usize>,
    /// File offset of what is meant.
    pub offset: u64,
    /// What is wrong with it.
    pub what: String,
}

impl Report {
    /// True if there are no errors; notes don't matter.
    pub fn is_sound(&self) -> bool {
        self.errors == 0
    }

    /// True if a finding of that check is listed.
    pub fn has(&self, check: Check) -> bool {
        self.findings.iter().any(|finding| finding.check == check)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: ", self.check.severity().name(), self.check.name())?;
        if let Some(section) = self.section {
            write!(f, "section {section}, ")?;
        }
        if let Some(column) = &self.column {
            write!(f, "column {column}, ")?;
        }
        if let Some(page) = self.page {
            write!(f, "page {page}, ")?;
        }
        write!(f, "offset {}: {}", self.offset, self.what)
    }
}

/// Checks a whole object. Any bytes give a report; it needs memory for decoded columns of up to 1 GiB, and for one page.
pub fn verify(object: &[u8]) -> Report {
    verify_within(object, MAX_KEPT_BYTES)
}

fn verify_within(object: &[u8], max_kept_bytes: usize) -> Report {
    let mut verifier = Verifier {
        object,
        report: Report::default(),
        scratch: Scratch::checking_content(),
        kept_bytes: 0,
        max_kept_bytes,
    };
    let sections = envelope::check(&mut verifier);
    // Rows of all other sections refer to streams.
    let (streams, others): (Vec<&Section>, Vec<&Section>) = sections
        .iter()
        .partition(|section| section.kind == SectionKind::Streams);
    let mut tenants = streams::Tenants::default();
    for section in streams {
        if let Some(decoded) = section::check(&mut verifier, section) {
            streams::check(&mut verifier, &mut tenants, decoded);
        }
    }
    let kept_by_streams = verifier.kept_bytes;
    for section in others {
        verifier.kept_bytes = kept_by_streams;
        let Some(decoded) = section::check(&mut verifier, section) else {
            continue;
        };
        match section.kind {
            SectionKind::Logs => logs::check(&mut verifier, &mut tenants, &decoded),
            SectionKind::TextFilter | SectionKind::ValueFilter | SectionKind::Volume => {
                extension::check(&mut verifier, section);
            }
            _ => index::check(&mut verifier, &tenants, &decoded),
        }
    }
    streams::check_tenants(&mut verifier, &tenants, &sections);
    let mut report = verifier.report;
    report.findings.sort_by_key(|finding| finding.section);
    report
}

/// What is shared while an object is verified.
struct Verifier<'a> {
    object: &'a [u8],
    report: Report,
    scratch: Scratch,
    kept_bytes: usize,
    max_kept_bytes: usize,
}

/// Where something was found.
#[derive(Clone, Debug, Default)]
struct Place {
    section: Option<usize>,
    column: Option<String>,
    page: Option<usize>,
    offset: u64,
}

impl<'a> Verifier<'a> {
    fn find(&mut self, check: Check, place: Place, what: impl Into<String>) {
        match check.severity() {
            Severity::Error => self.report.errors += 1,
            Severity::Note => self.report.notes += 1,
        }
        if self.report.findings.len() < MAX_FINDINGS {
            self.report.findings.push(Finding {
                check,
                section: place.section,
                column: place.column,
                page: place.page,
                offset: place.offset,
                what: what.into(),
            });
        }
    }

    /// Notes an error of the reading half.
    fn find_error(&mut self, check: Check, mut place: Place, error: &Error) {
        let what = match error {
            Error::Corrupt(corruption) => {
                place.offset = corruption.offset;
                corruption.reason.clone()
            }
            other => other.to_string(),
        };
        self.find(check, place, what);
    }

    /// The bytes of a range of the file, as far as they exist.
    fn slice(&self, range: &std::ops::Range<u64>) -> &'a [u8] {
        let end = self.object.len() as u64;
        let (start, end) = (range.start.min(end) as usize, range.end.min(end) as usize);
        self.object.get(start..end).unwrap_or_default()
    }
}

/// Counts rows that are wrong in the same way; one finding for all of them.
#[derive(Debug, Default)]
struct Tally {
    count: u64,
    first: Option<String>,
}

impl Tally {
    fn add(&mut self, row: u64, what: impl FnOnce() -> String) {
        self.count += 1;
        if self.first.is_none() {
            self.first = Some(format!("row {row}: {}", what()));
        }
    }

    fn report(self, verifier: &mut Verifier<'_>, check: Check, place: Place) {
        if let Some(first) = self.first {
            let more = match self.count - 1 {
                0 => String::new(),
                more => format!(" (and {more} more)"),
            };
            verifier.find(check, place, first + &more);
        }
    }
}
