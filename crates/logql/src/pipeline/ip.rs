//! `ip("...")`: sets of addresses and the search for one in text (logql.md 5.3).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Addresses of one family, both ends included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct IpSet {
    first: IpAddr,
    last: IpAddr,
}

impl IpSet {
    /// A single address, a CIDR block or a range.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        parse_set(text).ok_or_else(|| format!("ip: invalid pattern: \"{text}\""))
    }

    /// True if some address in `text` belongs to the set.
    pub(super) fn is_found_in(&self, text: &[u8]) -> bool {
        let mut rest = text;
        while let Some(start) = rest.iter().position(|b| is_address_byte(*b)) {
            rest = &rest[start..];
            let token = &rest[..run_length(rest, is_address_byte)];
            // `10.1.2.3:443` is an address and a port, so the IPv4 reading ends at the colon.
            let digits = &token[..run_length(token, |b| b.is_ascii_digit() || b == b'.')];
            let length = match (parse_address(digits), parse_address(token)) {
                (Some(address), _) if self.contains(address) => return true,
                (Some(_), _) => digits.len(),
                (None, Some(address)) if self.contains(address) => return true,
                (None, _) => token.len(),
            };
            rest = &rest[length..];
        }
        false
    }

    fn contains(&self, address: IpAddr) -> bool {
        // Addresses of another family lie outside: all IPv4 addresses order before all IPv6 addresses.
        self.first <= address && address <= self.last
    }
}

fn parse_set(text: &str) -> Option<IpSet> {
    if let Some((first, last)) = text.split_once('-') {
        let (first, last): (IpAddr, IpAddr) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        return (first.is_ipv4() == last.is_ipv4() && first <= last).then_some(IpSet { first, last });
    }
    let Some((address, prefix)) = text.split_once('/') else {
        let address = text.parse().ok()?;
        return Some(IpSet {
            first: address,
            last: address,
        });
    };
    let prefix: u32 = prefix.parse().ok()?;
    match address.parse().ok()? {
        IpAddr::V4(address) if prefix <= 32 => {
            let host_bits = u32::MAX.checked_shr(prefix).unwrap_or(0);
            let first = u32::from(address) & !host_bits;
            Some(IpSet {
                first: Ipv4Addr::from(first).into(),
                last: Ipv4Addr::from(first | host_bits).into(),
            })
        }
        IpAddr::V6(address) if prefix <= 128 => {
            let host_bits = u128::MAX.checked_shr(prefix).unwrap_or(0);
            let first = u128::from(address) & !host_bits;
            Some(IpSet {
                first: Ipv6Addr::from(first).into(),
                last: Ipv6Addr::from(first | host_bits).into(),
            })
        }
        _ => None,
    }
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
                IpSet::parse(set).unwrap().is_found_in(text.as_bytes()),
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

    #[test]
    fn refuses_what_is_no_set() {
        for text in ["", "x", "10.0.0.0/33", "10.0.0.9-10.0.0.1", "10.0.0.1-::1", "::/129"] {
            assert_eq!(IpSet::parse(text), Err(format!("ip: invalid pattern: \"{text}\"")));
        }
    }
}
