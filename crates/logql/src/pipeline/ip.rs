// hot path: no locks, no logging, nothing allocated per line.

//! The search for an address in text, of `ip("...")` (logql.md 5.3).

use std::net::IpAddr;

use crate::ip::IpRange;

/// True if some address in `text` belongs to the range.
pub(super) fn is_found_in(range: &IpRange, text: &[u8]) -> bool {
    let mut rest = text;
    while let Some(start) = rest.iter().position(|b| is_address_byte(*b)) {
        rest = &rest[start..];
        let token = &rest[..run_length(rest, is_address_byte)];
        // `10.1.2.3:443` is an address and a port, so the IPv4 reading ends at the colon.
        let digits = &token[..run_length(token, |b| b.is_ascii_digit() || b == b'.')];
        let (address, length) = match parse_address(digits) {
            Some(address) => (Some(address), digits.len()),
            None => (parse_address(token), token.len()),
        };
        if address.is_some_and(|address| range.contains(address)) {
            return true;
        }
        rest = &rest[length..];
    }
    false
}

fn is_address_byte(byte: u8) -> bool {
    byte.is_ascii_hexdigit() || byte == b'.' || byte == b':'
}

fn run_length(text: &[u8], belongs: impl Fn(u8) -> bool) -> usize {
    text.iter().position(|b| !belongs(*b)).unwrap_or(text.len())
}

fn parse_address(token: &[u8]) -> Option<IpAddr> {
    // The shortest address is `::`, the longest an IPv6 address with an IPv4 tail.
    if !(2..=45).contains(&token.len()) {
        return None;
    }
    std::str::from_utf8(token).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_addresses_of_the_set() {
        let f = |set: &str, text: &str, want: bool| {
            assert_eq!(
                is_found_in(&IpRange::parse(set).unwrap(), text.as_bytes()),
                want,
                "{set} in {text}"
            );
        };
        f("10.0.0.0/8", "from 10.95.5.224 port 1", true);
        f("10.0.0.0/8", "from 11.95.5.224 port 1", false);
        f("10.1.2.3", "dial tcp 10.1.2.3:443", true);
        f("10.1.2.3", "at 10.1.2.3.", false);
        f("10.0.0.5-10.0.0.9", "10.0.0.9", true);
        f("10.0.0.5-10.0.0.9", "10.0.0.10", false);
        f("2001:db8::/32", "src=2001:db8:0:1::62 dst=8.8.8.8", true);
        f("2001:db8::/32", "src=fe80::1 dst=8.8.8.8", false);
        f("::1", "[::1]:80", true);
        f("0.0.0.0/0", "::1", false);
        f("0.0.0.0/0", "face 12 1.2.3", false);
        f("10.0.0.1", "1.1.1.1:10 10.0.0.1", true);
        f("::/0", "a ::2", true);
    }
}
