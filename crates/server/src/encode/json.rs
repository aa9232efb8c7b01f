//! JSON strings and lists.

// hot path: no locks, no logging, no allocation per row.

/// Writes text as a JSON string.
pub(super) fn text(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    escape(out, text.as_bytes());
    out.push(b'"');
}

/// Writes bytes as a JSON string. Each byte that is not part of valid UTF-8 becomes U+FFFD, as the peer's writer does.
pub(crate) fn string(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    match std::str::from_utf8(bytes) {
        Ok(text) => escape(out, text.as_bytes()),
        Err(_) => {
            for chunk in bytes.utf8_chunks() {
                escape(out, chunk.valid().as_bytes());
                for _ in chunk.invalid() {
                    out.extend_from_slice("\u{fffd}".as_bytes());
                }
            }
        }
    }
    out.push(b'"');
}

/// Writes a list `[a,b]`, each item by `write`.
pub(super) fn list<T>(out: &mut Vec<u8>, items: impl IntoIterator<Item = T>, mut write: impl FnMut(&mut Vec<u8>, T)) {
    out.push(b'[');
    for (i, item) in items.into_iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        write(out, item);
    }
    out.push(b']');
}

/// Writes an object of strings.
pub(super) fn object<'a>(out: &mut Vec<u8>, pairs: impl Iterator<Item = (&'a str, &'a str)>) {
    out.push(b'{');
    for (i, (name, value)) in pairs.enumerate() {
        if i > 0 {
            out.push(b',');
        }
        text(out, name);
        out.push(b':');
        text(out, value);
    }
    out.push(b'}');
}

fn escape(out: &mut Vec<u8>, valid: &[u8]) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut written = 0;
    for (i, byte) in valid.iter().enumerate() {
        if *byte >= 0x20 && *byte != b'"' && *byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&valid[written..i]);
        written = i + 1;
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', *byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            other => {
                let (high, low) = (HEX[usize::from(other >> 4)], HEX[usize::from(other & 15)]);
                out.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
            }
        }
    }
    out.extend_from_slice(&valid[written..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escapes() {
        let f = |bytes: &[u8], want: &str| {
            let mut out = Vec::new();
            string(&mut out, bytes);
            assert_eq!(String::from_utf8(out).unwrap(), want);
        };
        f(b"", r#""""#);
        f(b"a\"b\\c\n\r\t\x00\x1f", r#""a\"b\\c\n\r\t\u0000\u001f""#);
        f("é<&>\u{2028}".as_bytes(), "\"é<&>\u{2028}\"");
        f(b"a\xffb\xe2\x82", "\"a\u{fffd}b\u{fffd}\u{fffd}\"");
    }

    proptest! {
        #[test]
        fn a_json_reader_reads_it_back(value: String) {
            let mut out = Vec::new();
            string(&mut out, value.as_bytes());
            prop_assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), value);
        }
    }
}
