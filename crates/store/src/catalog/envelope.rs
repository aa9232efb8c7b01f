//! The frame around each file of the catalog: a format number and a checksum over the bytes of the body.

use crate::Error;
use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The format that is written and read. Raise it when an older reader would misunderstand the file.
const FORMAT: u64 = 1;

#[derive(Serialize, Deserialize)]
struct Envelope<'a> {
    format: u64,
    #[serde(borrow)]
    checksum: &'a str,
    #[serde(borrow)]
    body: &'a RawValue,
}

#[derive(Deserialize)]
struct FormatOnly {
    format: u64,
}

/// The bytes of a catalog file.
pub(crate) fn seal(body: &impl Serialize) -> Bytes {
    let body = serde_json::value::to_raw_value(body).expect("bug: the catalog's types always serialise");
    let envelope = Envelope {
        format: FORMAT,
        checksum: &checksum_of(&body),
        body: &body,
    };
    let mut bytes = serde_json::to_vec(&envelope).expect("bug: the catalog's types always serialise");
    bytes.push(b'\n');
    bytes.into()
}

/// Checks a catalog file and reads its body.
pub(crate) fn unseal<T: DeserializeOwned>(key: &str, bytes: &[u8]) -> Result<T, Error> {
    let damaged = |message: String| corrupt(key, message);
    let format: FormatOnly = serde_json::from_slice(bytes).map_err(|e| damaged(e.to_string()))?;
    if format.format != FORMAT {
        return Err(Error::UnknownFormat {
            key: key.to_owned(),
            found: format.format,
            known: FORMAT,
        });
    }
    let envelope: Envelope<'_> = serde_json::from_slice(bytes).map_err(|e| damaged(e.to_string()))?;
    let found = checksum_of(envelope.body);
    if found != envelope.checksum {
        return Err(damaged(format!("checksum is {found}, file says {}", envelope.checksum)));
    }
    serde_json::from_str(envelope.body.get()).map_err(|e| damaged(e.to_string()))
}

/// A damaged file of the catalog.
pub(crate) fn corrupt(key: &str, message: String) -> Error {
    Error::Corrupt {
        object: key.to_owned(),
        section: "catalog".into(),
        offset: 0,
        message,
    }
}

fn checksum_of(body: &RawValue) -> String {
    format!("crc32c:{:08x}", crc32c::crc32c(body.get().as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_and_later_formats_are_told_apart() {
        let sealed = seal(&vec![1, 2, 3]);
        assert_eq!(
            sealed,
            r#"{"format":1,"checksum":"crc32c:63f19980","body":[1,2,3]}"#.to_owned() + "\n"
        );
        assert_eq!(unseal::<Vec<u32>>("k", &sealed).unwrap(), [1, 2, 3]);
        let text = String::from_utf8(sealed.to_vec()).unwrap();
        let f = |from: &str, to: &str, want: &str| {
            let message = unseal::<Vec<u32>>("k", text.replace(from, to).as_bytes())
                .unwrap_err()
                .to_string();
            assert!(message.starts_with(want), "{message}");
        };
        f(
            "[1,2,3]",
            "[1,2,4]",
            "corrupt: object k, catalog, offset 0: checksum is",
        );
        f("]}", "", "corrupt: object k");
        f(
            r#""format":1"#,
            r#""format":2"#,
            "k has format 2, this version reads format 1",
        );
        f(&text, r#"{"format":7,"new":[]}"#, "k has format 7");
    }
}
