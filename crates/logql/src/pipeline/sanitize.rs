//! From keys of lines to names of labels (logql.md 10.3).

/// Appends `key` as the name of a label (logql.md 10.3). Appends nothing if nothing is left.
pub(super) fn sanitize(key: &[u8], first_part: bool, out: &mut Vec<u8>) {
    let key = key.trim_ascii();
    if first_part && key.first().is_some_and(u8::is_ascii_digit) {
        out.push(b'_');
    }
    let start = out.len();
    out.extend_from_slice(key);
    if key.iter().all(|&b| is_name_byte(b)) {
        return;
    }
    out.truncate(start);
    let is_continuation = |b: u8| b & 0xc0 == 0x80;
    out.extend(
        key.iter()
            .filter(|&&b| !is_continuation(b))
            .map(|&b| if is_name_byte(b) { b } else { b'_' }),
    );
}

fn is_name_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_'
}
