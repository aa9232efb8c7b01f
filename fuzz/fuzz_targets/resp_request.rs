//! Bytes of a client: the same commands and the same error however they are cut, in memory that grows with them.
//! The first byte says how they are cut, and whether the client has told who it is.
#![no_main]

use libfuzzer_sys::fuzz_target;
use timberline_fuzz::memory;
use timberline_resp::protocol::{Limits, ProtocolError, RequestParser};

/// The words of all commands, and the error behind them.
type Outcome = (Vec<Vec<Vec<u8>>>, Option<ProtocolError>);

fn commands(bytes: &[u8], piece: usize, limits: &Limits) -> Outcome {
    let mut parser = RequestParser::default();
    let (mut found, mut taken, mut here) = (Vec::new(), 0, 0);
    while here < bytes.len() {
        here = (here + piece).min(bytes.len());
        loop {
            match parser.next(&bytes[taken..here], limits) {
                Ok(None) => break,
                Ok(Some(len)) => {
                    assert!(len > 0, "a command takes bytes");
                    let words = parser.arguments(&bytes[taken..here]);
                    found.push(words.iter().map(<[u8]>::to_vec).collect());
                    taken += len;
                }
                Err(error) => return (found, Some(error)),
            }
        }
    }
    (found, None)
}

fuzz_target!(|input: &[u8]| {
    let Some((first, bytes)) = input.split_first() else {
        return;
    };
    let limits = Limits {
        authenticated: first & 1 == 0,
        ..Limits::default()
    };
    let piece = 1 + usize::from(first >> 1) % 32;
    memory::bounded(memory::of_request(bytes.len()), || {
        assert_eq!(
            commands(bytes, bytes.len().max(1), &limits),
            commands(bytes, piece, &limits)
        );
    });
});
