//! Which fields the lines of a log query hold, and of what type their values are (http-api.md 10): what an application that
//! explores logs offers to filter by.
//!
//! ```
//! use timberline_logql::detect::{FieldDetector, ValueType};
//! use timberline_logql::labels::LabelSet;
//! use timberline_logql::pipeline::EntryLabels;
//!
//! let labels = EntryLabels { stream: LabelSet::from_pairs([("app", "shop")]), ..EntryLabels::default() };
//! let mut detector = FieldDetector::new(&[]);
//! detector.add(&labels, br#"{"resp":{"status":200}}"#).unwrap();
//! let fields = detector.finish();
//! assert_eq!(&*fields[0].label, "resp_status");
//! assert_eq!(fields[0].value_type(), ValueType::Int);
//! assert_eq!(fields[0].json_path, ["resp", "status"]);
//! ```

mod fields;
mod labels;
mod line;
mod value_type;

pub use fields::{DetectedField, FieldDetector, MAX_DETECTED_BYTES, TooManyFields};
pub use labels::is_worth_offering;
pub use value_type::ValueType;
