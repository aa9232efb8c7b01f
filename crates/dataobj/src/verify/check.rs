//! What is checked, as one table.

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// A reader could fail or answer wrongly.
    Error,
    /// Allowed, but not how objects are usually written.
    Note,
}

impl Severity {
    /// `error` or `note`.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Note => "note",
        }
    }
}

macro_rules! checks {
    ($($variant:ident $name:literal $severity:ident $meaning:literal,)*) => {
        /// Everything that is checked.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Check {
            $(#[doc = $meaning] $variant,)*
        }

        impl Check {
            /// All checks.
            pub const ALL: &[Check] = &[$(Check::$variant,)*];

            /// A name that stays the same.
            pub fn name(self) -> &'static str {
                match self { $(Check::$variant => $name,)* }
            }

            /// How bad a violation is.
            pub fn severity(self) -> Severity {
                match self { $(Check::$variant => Severity::$severity,)* }
            }

            /// What must hold.
            pub fn meaning(self) -> &'static str {
                match self { $(Check::$variant => $meaning,)* }
            }
        }
    };
}

checks! {
    Header "header" Error "The object starts with a header that can be read.",
    Trailer "trailer" Error "The object ends with its magic.",
    NoSections "no-sections" Note "An object has sections.",
    Region "region" Error "Regions of sections lie inside of the body and don't overlap.",
    RegionLayout "region-layout" Note "Regions follow each other without gaps, metadata of all sections before data of all sections.",
    SectionMetadata "section-metadata" Error "Metadata of a section can be read, and its counts agree with each other.",
    MetadataLayout "metadata-layout" Note "A metadata region is a version byte, lists of pages, and a table, without gaps.",
    PageOverlap "page-overlap" Error "Pages don't overlap.",
    PageLayout "page-layout" Note "Pages tile the data region.",
    ColumnTwice "column-twice" Error "A section has one column of a type, logical name and tag.",
    ColumnSums "column-sums" Error "Sizes of a column are the sums of those of its pages.",
    ColumnMissing "column-missing" Error "A section with rows has the columns of its kind, with their types.",
    ColumnUnknown "column-unknown" Note "All columns are those of the section's kind.",
    Page "page" Error "A page has its checksum, decompresses and decodes to as many rows and values as it says.",
    PageEmpty "page-empty" Note "A page has rows.",
    StatsWrong "stats-wrong" Error "Smallest and largest value of a page or column bound its values.",
    StatsLoose "stats-loose" Note "Smallest and largest value are values of the page or column.",
    Cardinality "cardinality" Error "A metadata column with a value that is not empty says that it has at least one: Loki sizes filters by it.",
    OrderColumns "order-columns" Error "The declared order names columns that exist and directions.",
    Order "order" Error "Rows stand in the declared order.",
    OrderLoose "order-loose" Note "Index pointers stand in the declared order, and rows do across the logs sections of a tenant.",
    Null "null" Error "Columns that always have a value have one in each row.",
    Value "value" Error "Values are among those that the column allows.",
    StreamsSection "streams-section" Error "A tenant with logs or pointers has one streams section.",
    StreamsMissing "streams-missing" Note "An object with logs or pointers has streams sections.",
    StreamNumbers "stream-numbers" Error "Streams are numbered from 1 without holes.",
    StreamTwice "stream-twice" Note "No two streams have the same labels.",
    StreamReference "stream-reference" Error "Rows refer to streams that exist.",
    StreamTimes "stream-times" Error "Rows lie between the earliest and the latest time of their stream.",
    StreamRows "stream-rows" Note "A stream has no more rows than it says.",
    ShardBucket "shard-bucket" Error "The shard bucket of a stream is that of its labels.",
    Extension "extension" Note "Extension sections can be read; a reader does without those that can't.",
    NotChecked "not-checked" Error "Columns that are compared row by row fit into the memory kept for that.",
}
