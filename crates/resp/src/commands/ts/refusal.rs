//! Why a TS command is refused, in the peer's words (specification, chapter 15).

use crate::commands::Command;
use crate::context::CommandError;
use timberline_series::error::RuleError;
use timberline_series::view::ReadError;

/// Why a command is refused.
#[derive(Clone, Debug)]
pub(super) enum Refusal {
    /// The line of the error, code included.
    Text(&'static str),
    /// Too few or too many words; the line names the command.
    Arity,
    /// Anything else.
    Other(CommandError),
}

impl Refusal {
    /// The error of a command.
    pub(super) fn of(self, command: &Command) -> CommandError {
        match self {
            Refusal::Text(text) => CommandError::text(text),
            Refusal::Arity => CommandError::arity(command.name),
            Refusal::Other(error) => error,
        }
    }
}

impl From<ReadError> for Refusal {
    fn from(error: ReadError) -> Refusal {
        Refusal::Other(error.into())
    }
}

impl From<CommandError> for Refusal {
    fn from(error: CommandError) -> Refusal {
        Refusal::Other(error)
    }
}

/// The words for a rule that is not made or ended.
pub(super) fn rule_refusal(error: RuleError) -> Refusal {
    match error {
        RuleError::SameKey => RULE_SAME_KEY,
        RuleError::SourceMissing | RuleError::DestinationMissing => MISSING_KEY,
        RuleError::SourceWrongType | RuleError::DestinationWrongType => WRONG_TYPE,
        RuleError::SourceIsDestination => RULE_SOURCE_IS_DESTINATION,
        RuleError::DestinationHasRules => RULE_DESTINATION_HAS_RULES,
        RuleError::DestinationHasSource => RULE_DESTINATION_HAS_SOURCE,
        RuleError::NoSuchRule => RULE_MISSING,
    }
}

macro_rules! refusals {
    ($($name:ident = $text:literal;)*) => {
        $(pub(super) const $name: Refusal = Refusal::Text($text);)*
    };
}

refusals! {
    MISSING_KEY = "ERR TSDB: the key does not exist";
    // With two codes in front, as clients know it (chapter 20, item 14).
    WRONG_TYPE = "ERR WRONGTYPE Operation against a key holding the wrong kind of value";
    WRONG_TYPE_OF_READ = "WRONGTYPE Operation against a key holding the wrong kind of value";
    NOT_A_SERIES = "ERR TSDB: the key is not a TSDB key";
    KEY_EXISTS = "ERR TSDB: key already exists";

    VALUE = "ERR TSDB: invalid value";
    TIMESTAMP = "ERR TSDB: invalid timestamp";
    NEGATIVE_TIMESTAMP = "ERR TSDB: invalid timestamp, must be a nonnegative integer";
    OLDER_THAN_RETENTION = "ERR TSDB: Timestamp is older than retention";
    BLOCKED = "ERR TSDB: Error at upsert, update is not supported when DUPLICATE_POLICY is set to BLOCK mode, or either current or \
               new value is NaN and DUPLICATE_POLICY is MAX/MIN/SUM";
    STEP = "ERR TSDB: invalid increase/decrease value";
    INCREMENT_OLDER = "TSDB: timestamp must be equal to or higher than the maximum existing timestamp";
    INCREMENT_NAN = "ERR TSDB: cannot increment/decrement NaN value";
    DELETE_BEYOND_RETENTION = "ERR TSDB: When a series has compactions, deleting samples or compaction buckets beyond the series \
                               retention period is not possible";

    RETENTION = "ERR TSDB: Couldn't parse RETENTION";
    NEGATIVE_RETENTION = "TSDB: Couldn't parse RETENTION";
    CHUNK_SIZE = "ERR TSDB: Couldn't parse CHUNK_SIZE";
    CHUNK_SIZE_RANGE = "ERR TSDB: CHUNK_SIZE value must be a multiple of 8 in the range [48 .. 1048576]";
    ENCODING = "ERR TSDB: unknown ENCODING parameter";
    DUPLICATE_POLICY = "ERR TSDB: Couldn't parse DUPLICATE_POLICY";
    UNKNOWN_DUPLICATE_POLICY = "ERR TSDB: Unknown DUPLICATE_POLICY";
    IGNORE = "ERR TSDB: Couldn't parse IGNORE";
    NEGATIVE_IGNORE = "ERR TSDB: IGNORE arguments cannot be negative";
    LABELS = "ERR TSDB: Couldn't parse LABELS";

    FROM = "ERR TSDB: wrong fromTimestamp";
    TO = "ERR TSDB: wrong toTimestamp";
    COUNT_MISSING = "ERR TSDB: COUNT argument is missing";
    COUNT = "ERR TSDB: Couldn't parse COUNT";
    COUNT_RANGE = "ERR TSDB: Invalid COUNT value";
    AGGREGATION = "ERR TSDB: Couldn't parse AGGREGATION";
    UNKNOWN_AGGREGATION = "ERR TSDB: Unknown aggregation type";
    EMPTY_AGGREGATION = "ERR TSDB: Empty aggregation type in list";
    TOO_MANY_AGGREGATIONS = "ERR TSDB: Too many aggregation types";
    BUCKET_DURATION = "ERR TSDB: bucketDuration must be greater than zero";
    ALIGN = "ERR TSDB: unknown ALIGN parameter";
    ALIGN_ALONE = "ERR TSDB: ALIGN parameter can only be used with AGGREGATION";
    ALIGN_START = "ERR TSDB: start alignment can only be used with explicit start timestamp";
    ALIGN_END = "ERR TSDB: end alignment can only be used with explicit end timestamp";
    EMPTY_POSITION = "ERR TSDB: EMPTY flag should be the 3rd or 5th flag after AGGREGATION flag";
    BUCKETTIMESTAMP_POSITION = "ERR TSDB: BUCKETTIMESTAMP flag should be the 3rd or 4th flag after AGGREGATION flag";
    BUCKETTIMESTAMP = "ERR TSDB: unknown BUCKETTIMESTAMP parameter";
    FILTER_BY_VALUE_MISSING = "ERR TSDB: FILTER_BY_VALUE one or more arguments are missing";
    FILTER_BY_VALUE_MIN = "ERR TSDB: Couldn't parse MIN";
    FILTER_BY_VALUE_MAX = "ERR TSDB: Couldn't parse MAX";
    FILTER_BY_TS_MISSING = "ERR TSDB: FILTER_BY_TS one or more arguments are missing";

    FILTER_MISSING = "ERR TSDB: missing FILTER argument";
    FILTER_EMPTY = "ERR TSDB: missing labels for filter argument";
    FILTER = "ERR TSDB: failed parsing labels";
    NO_MATCHER = "ERR TSDB: please provide at least one matcher";
    BOTH_LABEL_OPTIONS = "ERR TSDB: cannot accept WITHLABELS and SELECT_LABELS together";
    SELECTED_LABELS_MISSING = "ERR TSDB: SELECT_LABELS should have at least 1 parameter";
    SELECTED_LABELS_LIMIT = "ERR TSDB: reached max size for SELECT_LABELS";
    GROUPBY_BEFORE_FILTER = "ERR TSDB: GROUPBY should always come after filter";
    REDUCER = "ERR TSDB: Invalid reducer type";
    GROUPBY_AGGREGATIONS = "ERR TSDB: GROUPBY is not allowed when multiple aggregators are specified";
    GROUPBY_EXCLUDEEMPTY = "ERR TSDB: EXCLUDEEMPTY is not allowed with GROUPBY";

    RULE_SAME_KEY = "ERR TSDB: the source key and destination key should be different";
    RULE_SOURCE_IS_DESTINATION = "ERR TSDB: the source key already has a source rule";
    RULE_DESTINATION_HAS_RULES = "ERR TSDB: the destination key already has a dst rule";
    RULE_DESTINATION_HAS_SOURCE = "ERR TSDB: the destination key already has a src rule";
    RULE_AGGREGATIONS = "ERR TSDB: CREATERULE requires exactly one aggregation type";
    RULE_ALIGN = "ERR TSDB: Couldn't parse alignTimestamp";
    RULE_MISSING = "ERR TSDB: compaction rule does not exist";

    GET_WORD = "ERR TSDB: wrong 3rd argument";
    QUERYLABELS_SUBTYPE = "ERR TSDB: unknown subtype, must be one of LABELS|VALUES";
    QUERYLABELS_FILTER = "ERR TSDB: unknown argument, expected FILTER";
    QUERYLABELS_NO_FILTER = "ERR TSDB: FILTER given with no filter expressions";
    NUMKEYS = "ERR TSDB: numkeys must be a positive integer";
    AGGREGATIONS_PER_KEY = "ERR TSDB: the number of AGGREGATION arguments must be equal to numkeys";

    READ_TIMESTAMP = "TSDB: invalid timestamp";
    READ_BLOCK = "TSDB: BLOCK milliseconds must be a non-negative integer";
    READ_MIN_COUNT = "TSDB: BLOCK min_count must be a positive integer";
    READ_MAX_COUNT = "TSDB: MAX_COUNT must be a positive integer";
    READ_COUNTS = "TSDB: BLOCK min_count must be <= MAX_COUNT";
    READ_BLOCKING = "TSDB: blocking TS.READ (with BLOCK) is not allowed inside MULTI, EVAL, or a deny-blocking context";
}
