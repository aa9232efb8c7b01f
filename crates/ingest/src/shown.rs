//! Labels in messages, cut to a length that does no harm.

use std::cell::OnceCell;
use std::fmt::{self, Display, Write};
use timberline_logql::labels::LabelSet;

/// Most bytes of one value in a message. A refusal quotes the stream's labels, and there may be one per entry of a request:
/// without a bound, one request of 60 MiB costs terabytes of formatting.
const MAX_SHOWN_BYTES: usize = 1024;

/// The text of a value; of a longer one the beginning and `…`. Formatting ends where the text is cut.
pub(crate) fn shown(value: impl Display) -> String {
    let mut shown = Shown(String::new());
    if write!(shown, "{value}").is_err() {
        shown.0.push('…');
    }
    shown.0
}

/// The labels of a stream for the refusals of its entries: formatted for the first, copied for the others.
#[derive(Debug)]
pub(crate) struct ShownLabels<'a> {
    labels: &'a LabelSet,
    text: OnceCell<String>,
}

impl<'a> ShownLabels<'a> {
    /// Formats nothing yet.
    pub(crate) fn new(labels: &'a LabelSet) -> Self {
        Self {
            labels,
            text: OnceCell::new(),
        }
    }
}

impl Display for ShownLabels<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text.get_or_init(|| shown(self.labels)))
    }
}

struct Shown(String);

impl Write for Shown {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = text.len().min(MAX_SHOWN_BYTES - self.0.len());
        let end = (0..=room).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let fits = &text[..end];
        self.0.push_str(fits);
        if fits.len() < text.len() {
            Err(fmt::Error)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_cut_between_characters() {
        let f = |text: &str, want: &str| assert_eq!(shown(text), want);
        f("", "");
        f("short", "short");
        let most = "x".repeat(MAX_SHOWN_BYTES);
        f(&most, &most);
        f(&format!("{most}y"), &format!("{most}…"));
        let umlauts = "ü".repeat(MAX_SHOWN_BYTES);
        f(
            &format!("x{umlauts}"),
            &format!("x{}…", &umlauts[..MAX_SHOWN_BYTES - 2]),
        );
    }

    #[test]
    fn formatting_ends_where_the_text_is_cut() {
        struct Endless;
        impl Display for Endless {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                loop {
                    f.write_str("again and ")?;
                }
            }
        }
        assert_eq!(shown(Endless).len(), MAX_SHOWN_BYTES + '…'.len_utf8());
    }
}
