//! The part of a text around a place, with a mark under the place, for a screen with cells of one width.

use unicode_width::UnicodeWidthChar;

/// Most cells of the line that are shown; longer lines are cut on both sides.
const MAX_CELLS: usize = 100;
/// Of them, those before the place where the line is cut before it.
const CELLS_BEFORE: usize = 60;
/// Stands for the part that was cut.
const CUT: &str = "…";

/// The line of `text` that holds the byte `place`, and below it a line with `^` under that byte. Tabs stay tabs in both lines,
/// so that the mark fits however wide they are shown.
pub(crate) fn excerpt(text: &str, place: usize) -> String {
    let place = (0..=place.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0);
    let start = text[..place].rfind('\n').map_or(0, |at| at + 1);
    let end = text[place..].find('\n').map_or(text.len(), |at| place + at);
    let line = text[start..end].trim_end_matches('\r');
    let (before, after) = line.split_at_checked(place - start).unwrap_or((line, ""));

    let cells = |part: &str| part.chars().map(width).sum::<usize>();
    let is_long = cells(line) > MAX_CELLS;
    let room_before = match is_long {
        true => CELLS_BEFORE.max(MAX_CELLS.saturating_sub(cells(after))),
        false => usize::MAX,
    };
    let before_start = before.len() - length_within(before.chars().rev(), room_before);
    let is_cut_before = before_start > 0;
    let before = &before[before_start..];
    let room_after = match is_long {
        true => MAX_CELLS - cells(before).min(MAX_CELLS),
        false => usize::MAX,
    };
    let shown_after = &after[..length_within(after.chars(), room_after)];

    let mut source = String::new();
    let mut mark = String::new();
    if is_cut_before {
        source.push_str(CUT);
        mark.push(' ');
    }
    for c in before.chars() {
        source.push(shown(c));
        match c {
            '\t' => mark.push('\t'),
            c => mark.extend(std::iter::repeat_n(' ', width(c))),
        }
    }
    source.extend(shown_after.chars().map(shown));
    if shown_after.len() < after.len() {
        source.push_str(CUT);
    }
    format!("{source}\n{mark}^")
}

/// Bytes of the characters that fit into so many cells. What has no width of its own belongs to the character before it.
fn length_within(chars: impl Iterator<Item = char>, room: usize) -> usize {
    let mut used = 0;
    let fits = |c: &char| {
        used += width(*c);
        used <= room
    };
    chars.take_while(fits).map(char::len_utf8).sum()
}

/// Control characters could do anything to a screen.
fn shown(c: char) -> char {
    if c.is_control() && c != '\t' { '\u{fffd}' } else { c }
}

/// Cells that the character takes; a tab counts as one.
fn width(c: char) -> usize {
    shown(c).width().unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_stands_under_the_place() {
        // `§` marks the place in the text.
        let f = |marked: &str, want: &str| {
            let place = marked.find('§').unwrap();
            assert_eq!(excerpt(&marked.replace('§', ""), place), want, "{marked}");
        };
        f("§", "\n^");
        f("a §b", "a b\n  ^");
        f("ab§", "ab\n  ^");
        f("one\ntwo §x\nthree", "two x\n    ^");
        f("one\r\ntwo§\r\nthree", "two\n   ^");
        f("one\n§", "\n^");
        f("\t{a=\tb}§", "\t{a=\tb}\n\t   \t  ^");
        f("日本§語", "日本語\n    ^");
        f("e\u{301}e\u{301}§x", "e\u{301}e\u{301}x\n  ^");
        f("\u{1b}[2J§x", "\u{fffd}[2Jx\n    ^");
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let long = "0123456789".repeat(30);
        let lines = |place| {
            let text = excerpt(&long, place);
            let (source, mark) = text.split_once('\n').unwrap();
            let at = mark.chars().count() - 1;
            // What stands above the mark is what stands at the place.
            assert_eq!(source.chars().nth(at), long.chars().nth(place), "{text}");
            (source.to_owned(), at)
        };
        assert_eq!(lines(5), (format!("{}…", &long[..100]), 5));
        assert_eq!(lines(150), (format!("…{}…", &long[90..190]), 61));
        assert_eq!(lines(295), (format!("…{}", &long[200..]), 96));
        assert_eq!(excerpt(&long, 300), format!("…{}\n{}^", &long[200..], " ".repeat(101)));
        let just_fits = "x".repeat(100);
        assert_eq!(excerpt(&just_fits, 99), format!("{just_fits}\n{}^", " ".repeat(99)));
        let wide = "語".repeat(100);
        let text = excerpt(&wide, wide.len() / 2);
        assert_eq!(text, format!("…{}…\n{}^", "語".repeat(50), " ".repeat(61)));
    }

    #[test]
    fn places_outside_and_within_characters_do_no_harm() {
        assert_eq!(excerpt("é", 1), "é\n^");
        assert_eq!(excerpt("a", 7), "a\n ^");
    }
}
