//! JSON as far as it can be read: what stands before the first mistake counts (logql.md 7.1).

/// A value; of numbers and the like the text as written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Text(String),
    /// Number, `true` or `false`.
    Bare(String),
    Null,
    /// Something that does not end or is no value.
    Damaged,
    /// Items, and the text as written if it is intact.
    Array(Vec<Value>, Option<String>),
    /// Members in order, and the text as written if it is intact.
    Object(Vec<(String, Value)>, Option<String>),
}

/// Reads one value; `false` if it is damaged, with what was read before. What follows the value is not looked at.
pub(crate) fn read(text: &str) -> (Option<Value>, bool) {
    let mut reader = Reader {
        text,
        at: 0,
        intact: true,
    };
    let value = reader.value();
    let intact = reader.intact && value.is_some();
    (value, intact)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    intact: bool,
}

impl Reader<'_> {
    fn peek(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.text.as_bytes().get(self.at) {
            self.at += 1;
        }
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn damaged<T>(&mut self) -> Option<T> {
        self.intact = false;
        None
    }

    fn written(&self, start: usize) -> Option<String> {
        self.intact.then(|| self.text[start..self.at].to_owned())
    }

    fn value(&mut self) -> Option<Value> {
        let start = match self.peek() {
            Some(_) => self.at,
            None => return self.damaged(),
        };
        match self.text.as_bytes()[start] {
            b'"' => self.string().map(Value::Text),
            b'{' => Some(self.object(start)),
            b'[' => Some(self.array(start)),
            _ => self.bare(),
        }
    }

    fn bare(&mut self) -> Option<Value> {
        let rest = &self.text[self.at..];
        let end = rest.find([',', '}', ']', ' ', '\t', '\n', '\r']).unwrap_or(rest.len());
        let word = &rest[..end];
        self.at += end;
        match word {
            "null" => Some(Value::Null),
            "true" | "false" => Some(Value::Bare(word.into())),
            _ if is_number(word) => Some(Value::Bare(word.into())),
            _ => self.damaged(),
        }
    }

    /// The text of a string; one with an escape that can't be decoded is empty.
    fn string(&mut self) -> Option<String> {
        let inner = self.at + 1;
        let mut escaped = false;
        for (offset, c) in self.text[inner..].char_indices() {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => {
                    self.at = inner + offset + 1;
                    return Some(unescape(&self.text[inner..inner + offset]).unwrap_or_default());
                }
                _ => {}
            }
        }
        self.damaged()
    }

    fn object(&mut self, start: usize) -> Value {
        self.at += 1;
        let mut members = Vec::new();
        if self.take(b'}') {
            return Value::Object(members, self.written(start));
        }
        loop {
            let name = if self.peek() == Some(b'"') { self.string() } else { None };
            let Some(name) = name.filter(|_| self.take(b':')) else {
                self.intact = false;
                break;
            };
            members.push((name, self.value().unwrap_or(Value::Damaged)));
            if !self.intact {
                break;
            }
            if self.take(b',') {
                continue;
            }
            self.intact = self.take(b'}');
            break;
        }
        Value::Object(members, self.written(start))
    }

    fn array(&mut self, start: usize) -> Value {
        self.at += 1;
        let mut items = Vec::new();
        if self.take(b']') {
            return Value::Array(items, self.written(start));
        }
        loop {
            items.push(self.value().unwrap_or(Value::Damaged));
            if !self.intact {
                break;
            }
            if self.take(b',') {
                continue;
            }
            self.intact = self.take(b']');
            break;
        }
        Value::Array(items, self.written(start))
    }
}

fn is_number(word: &str) -> bool {
    let digits = word.strip_prefix('-').unwrap_or(word);
    digits.starts_with(|c: char| c.is_ascii_digit()) && word.parse::<f64>().is_ok()
}

/// The text between quotes; none if an escape means nothing.
pub(crate) fn unescape(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next()? {
            c @ ('"' | '\\' | '/') => out.push(c),
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            'n' => out.push('\n'),
            'r' => out.push('\r'),
            't' => out.push('\t'),
            'u' => {
                let mut unit = four_digits(&mut chars)?;
                if (0xd800..0xdc00).contains(&unit) {
                    let low = match (chars.next()?, chars.next()?) {
                        ('\\', 'u') => four_digits(&mut chars)?,
                        _ => return None,
                    };
                    unit = 0x10000 + ((unit - 0xd800) << 10) + low.checked_sub(0xdc00)?;
                }
                out.push(char::from_u32(unit)?);
            }
            _ => return None,
        }
    }
    Some(out.replace('\u{fffd}', " "))
}

fn four_digits(chars: &mut std::str::Chars<'_>) -> Option<u32> {
    let mut unit = 0;
    for _ in 0..4 {
        unit = unit * 16 + chars.next()?.to_digit(16)?;
    }
    Some(unit)
}
