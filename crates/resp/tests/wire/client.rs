//! A client for the tests: sends commands, reads replies in the tagged form of the recorded ones.

use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, Error, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A server that does not answer for so long is broken.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Connection {
    reader: BufReader<TcpStream>,
}

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> io::Result<Connection> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Connection {
            reader: BufReader::new(stream),
        })
    }

    pub(crate) fn send(&mut self, words: &[Vec<u8>]) -> io::Result<()> {
        let mut request = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            request.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
            request.extend_from_slice(word);
            request.extend_from_slice(b"\r\n");
        }
        self.reader.get_mut().write_all(&request)
    }

    pub(crate) fn call(&mut self, words: &[&str]) -> io::Result<Value> {
        let words: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        self.send(&words)?;
        self.read()
    }

    /// Everything that arrives within a time.
    pub(crate) fn drain(&mut self, time: Duration) -> io::Result<Value> {
        let end = std::time::Instant::now() + time;
        let mut messages = Vec::new();
        loop {
            let left = end.saturating_duration_since(std::time::Instant::now());
            if left.is_zero() {
                break;
            }
            self.reader.get_ref().set_read_timeout(Some(left))?;
            // Only waiting may time out, not reading: a message is read whole.
            match self.reader.fill_buf() {
                Ok([]) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(_) => {
                    self.reader.get_ref().set_read_timeout(Some(PATIENCE))?;
                    messages.push(self.read()?);
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => break,
                Err(error) => return Err(error),
            }
        }
        self.reader.get_ref().set_read_timeout(Some(PATIENCE))?;
        Ok(json!({ "array": messages }))
    }

    pub(crate) fn read(&mut self) -> io::Result<Value> {
        let mut line = Vec::new();
        self.reader.read_until(b'\n', &mut line)?;
        let Some((tag, rest)) = line.strip_suffix(b"\r\n").and_then(<[u8]>::split_first) else {
            return Err(Error::new(
                ErrorKind::InvalidData,
                format!("a broken line: {:?}", String::from_utf8_lossy(&line)),
            ));
        };
        let number = || {
            let text = String::from_utf8_lossy(rest);
            text.parse::<i64>()
                .map_err(|_| Error::new(ErrorKind::InvalidData, format!("not a number: {text:?}")))
        };
        let reply = match tag {
            b'+' => json!({ "simple": text(rest) }),
            b'-' => json!({ "error": text(rest) }),
            b':' => json!({ "int": number()? }),
            b',' => json!({ "double": text(rest) }),
            b'#' => json!({ "bool": rest == b"t" }),
            b'_' => json!({ "null": true }),
            b'(' => json!({ "bignum": text(rest) }),
            b'$' | b'=' | b'!' => {
                let Ok(length) = usize::try_from(number()?) else {
                    return Ok(json!({ "nil": "bulk" }));
                };
                let mut bytes = vec![0; length + 2];
                self.reader.read_exact(&mut bytes)?;
                bytes.truncate(length);
                match tag {
                    b'$' => json!({ "bulk": text(&bytes) }),
                    b'=' => json!({ "verbatim": text(&bytes) }),
                    _ => json!({ "error": text(&bytes) }),
                }
            }
            b'*' | b'~' | b'>' => {
                let Ok(length) = usize::try_from(number()?) else {
                    return Ok(json!({ "nil": "array" }));
                };
                let items = (0..length).map(|_| self.read()).collect::<io::Result<Vec<_>>>()?;
                match tag {
                    b'*' => json!({ "array": items }),
                    b'~' => json!({ "set": items }),
                    _ => json!({ "push": items }),
                }
            }
            b'%' => {
                let pairs = (0..number()?).map(|_| Ok(json!([self.read()?, self.read()?])));
                json!({ "map": pairs.collect::<io::Result<Vec<_>>>()? })
            }
            _ => return Err(Error::new(ErrorKind::InvalidData, format!("an unknown tag: {line:?}"))),
        };
        Ok(reply)
    }
}

/// A string, or its bytes in base 64 if it is not UTF-8.
fn text(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => json!({ "b64": base64(bytes) }),
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            if place > chunk.len() {
                out.push('=');
            } else {
                out.push(char::from(DIGITS[(word >> (18 - 6 * place)) as usize & 63]));
            }
        }
    }
    out
}

/// The bytes of a bulk reply.
pub(crate) fn bulk_bytes(reply: &Value) -> Option<Vec<u8>> {
    match &reply["bulk"] {
        Value::String(text) => Some(text.as_bytes().to_vec()),
        Value::Object(object) => unbase64(object.get("b64")?.as_str()?),
        _ => None,
    }
}

fn unbase64(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let (mut word, mut bits) = (0u32, 0);
    for digit in text.trim_end_matches('=').bytes() {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        word = word << 6 | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((word >> bits) as u8);
        }
    }
    Some(out)
}
