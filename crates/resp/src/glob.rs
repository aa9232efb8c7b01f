//! Patterns over bytes, as KEYS, SCAN, PSUBSCRIBE, CONFIG GET and access rules use them: `*`, `?`, `[a-z]`, `[^a]`, `\` before a
//! character that stands for itself.

/// Whether a text fits a pattern. Takes time in proportion to the product of both lengths at most.
pub fn matches(pattern: &[u8], text: &[u8]) -> bool {
    matches_with(pattern, text, false)
}

/// Whether a text fits a pattern in any case.
pub fn matches_any_case(pattern: &[u8], text: &[u8]) -> bool {
    matches_with(pattern, text, true)
}

fn matches_with(pattern: &[u8], text: &[u8], any_case: bool) -> bool {
    let (mut p, mut t) = (0, 0);
    // Behind the last star, and the first byte of the text that it does not swallow yet. Only the last star needs to be tried anew.
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        if pattern.get(p) == Some(&b'*') {
            p += 1;
            retry = Some((p, t));
            continue;
        }
        if let Some(len) = element(&pattern[p..], text[t], any_case) {
            p += len;
            t += 1;
            continue;
        }
        let Some((star, swallowed)) = retry else { return false };
        p = star;
        t = swallowed + 1;
        retry = Some((star, t));
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

/// The length of the first element of a pattern, if a byte fits it.
fn element(pattern: &[u8], byte: u8, any_case: bool) -> Option<usize> {
    let same = |one: u8, other: u8| {
        if any_case {
            one.eq_ignore_ascii_case(&other)
        } else {
            one == other
        }
    };
    match pattern {
        [] => None,
        [b'?', ..] => Some(1),
        [b'[', class @ ..] => {
            let (fits, len) = class_fits(class, byte, any_case);
            fits.then_some(1 + len)
        }
        [b'\\', literal, ..] => same(*literal, byte).then_some(2),
        [literal, ..] => same(*literal, byte).then_some(1),
    }
}

/// Whether a byte is in a class, whose bytes behind the bracket are given, and how long the class is.
fn class_fits(class: &[u8], byte: u8, any_case: bool) -> (bool, usize) {
    let negated = class.first() == Some(&b'^');
    let mut at = usize::from(negated);
    let mut found = false;
    let fold = |byte: u8| if any_case { byte.to_ascii_lowercase() } else { byte };
    let byte = fold(byte);
    loop {
        match &class[at..] {
            // A class that does not end is one to the end of the pattern.
            [] => break,
            [b']', ..] => {
                at += 1;
                break;
            }
            [b'\\', literal, ..] => {
                found |= fold(*literal) == byte;
                at += 2;
            }
            [low, b'-', high, ..] => {
                let (low, high) = (fold(*low).min(fold(*high)), fold(*low).max(fold(*high)));
                found |= (low..=high).contains(&byte);
                at += 3;
            }
            [literal, ..] => {
                found |= fold(*literal) == byte;
                at += 1;
            }
        }
    }
    (found != negated, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let check = |pattern: &str, text: &str, want: bool| {
            assert_eq!(matches(pattern.as_bytes(), text.as_bytes()), want, "{pattern} {text}");
        };
        check("", "", true);
        check("", "a", false);
        check("*", "", true);
        check("*", "anything", true);
        check("a*c", "abbbc", true);
        check("a*c", "abbbd", false);
        check("*a*b*c*", "xxaxxbxxcxx", true);
        check("h?llo", "hello", true);
        check("h?llo", "hllo", false);
        check("h[ae]llo", "hallo", true);
        check("h[ae]llo", "hillo", false);
        check("h[^e]llo", "hallo", true);
        check("h[^e]llo", "hello", false);
        check("h[a-c]llo", "hbllo", true);
        check("h[c-a]llo", "hbllo", true);
        check("h[a-c]llo", "hdllo", false);
        check("h\\[llo", "h[llo", true);
        check("h\\*llo", "hello", false);
        check("h[\\]]llo", "h]llo", true);
        check("[abc", "b", true);
        check("a\\", "a\\", true);
        check("s:*", "s:1", true);
        check("a*a*a*a*a*a*a*a*b", &"a".repeat(2000), false);
        assert!(matches_any_case(b"MaxMem*", b"maxmemory"));
        assert!(matches_any_case(b"[A-C]x", b"bX"));
    }
}
