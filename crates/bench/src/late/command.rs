//! Commands as bytes.

/// Appends a command.
pub(super) fn append_command(out: &mut Vec<u8>, words: &[&[u8]]) {
    append_header(out, words.len());
    for word in words {
        append_word(out, word);
    }
}

/// Appends the number of words of a command.
pub(super) fn append_header(out: &mut Vec<u8>, words: usize) {
    out.extend_from_slice(format!("*{words}\r\n").as_bytes());
}

/// Appends a word of a command.
pub(super) fn append_word(out: &mut Vec<u8>, word: &[u8]) {
    out.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
    out.extend_from_slice(word);
    out.extend_from_slice(b"\r\n");
}
