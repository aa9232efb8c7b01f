//! The settings of series (specification, chapter 16).

use crate::server::Server;
use std::sync::Arc;
use timberline_series::codec::Encoding;
use timberline_series::policy::DuplicatePolicy;
use timberline_series::settings::CompactionPolicy;

pub(super) fn check_chunk_size(_: &Server, value: &str) -> Result<(), String> {
    let size: i64 = value
        .parse()
        .map_err(|_| "argument couldn't be parsed into an integer".to_owned())?;
    if !(48..=1_048_576).contains(&size) {
        return Err("argument must be between 48 and 1048576 inclusive".to_owned());
    }
    if size % 8 != 0 {
        return Err("TSDB: CHUNK_SIZE value must be a multiple of 8 in the range [48 .. 1048576]".to_owned());
    }
    Ok(())
}

pub(super) fn check_policy(_: &Server, value: &str) -> Result<(), String> {
    match DuplicatePolicy::parse(value.as_bytes()) {
        Some(_) => Ok(()),
        None => Err(format!("Invalid duplicate policy: {value}")),
    }
}

pub(super) fn set_policy(server: &Arc<Server>, value: &str) {
    if let Some(policy) = DuplicatePolicy::parse(value.as_bytes()) {
        server
            .engine
            .change_settings(|settings| settings.duplicate_policy = policy);
    }
}

const ENCODINGS: [(&str, Encoding); 2] = [
    ("compressed", Encoding::Compressed),
    ("uncompressed", Encoding::Uncompressed),
];

pub(super) fn check_encoding(_: &Server, value: &str) -> Result<(), String> {
    if ENCODINGS.iter().any(|(name, _)| name.eq_ignore_ascii_case(value)) {
        Ok(())
    } else {
        Err(format!("Invalid encoding: {value}"))
    }
}

pub(super) fn encoding(server: &Server) -> String {
    let encoding = server.engine.settings().encoding;
    let found = ENCODINGS.iter().find(|(_, known)| *known == encoding);
    found.map_or("compressed", |(name, _)| name).to_owned()
}

pub(super) fn set_encoding(server: &Arc<Server>, value: &str) {
    if let Some((_, encoding)) = ENCODINGS.iter().find(|(name, _)| name.eq_ignore_ascii_case(value)) {
        server.engine.change_settings(|settings| settings.encoding = *encoding);
    }
}

pub(super) fn check_ignore_value(_: &Server, value: &str) -> Result<(), String> {
    const INVALID: &str = "Invalid value for `ts-ignore-max-val-diff`";
    match value.parse::<f64>() {
        Ok(difference) if difference.is_nan() => Err(INVALID.to_owned()),
        Ok(difference) if difference < 0.0 || difference.is_infinite() => Err(format!(
            "{INVALID}. Value must be in the range [0.000000 .. {:.6}]",
            f64::MAX
        )),
        Ok(_) => Ok(()),
        Err(_) => Err(INVALID.to_owned()),
    }
}

pub(super) fn set_ignore_value(server: &Arc<Server>, value: &str) {
    if let Ok(difference) = value.parse() {
        server
            .engine
            .change_settings(|settings| settings.ignore_value = difference);
    }
}

pub(super) fn check_compaction(_: &Server, value: &str) -> Result<(), String> {
    CompactionPolicy::parse(value)
        .map(|_| ())
        .map_err(|error| error.to_string())
}

pub(super) fn set_compaction(server: &Arc<Server>, value: &str) {
    if let Ok(policy) = CompactionPolicy::parse(value) {
        server.engine.change_settings(|settings| settings.compaction = policy);
    }
}
