//! `ip(..)`: addresses in texts (logql.md 5.3).

use crate::Error;
use std::net::IpAddr;

/// First and last address of what the argument names.
pub(crate) fn bounds(text: &str) -> Result<(IpAddr, IpAddr), Error> {
    let address = |text: &str| text.trim().parse::<IpAddr>().map_err(|_| Error::Parse);
    if let Some((network, length)) = text.split_once('/') {
        let length: u32 = length.parse().map_err(|_| Error::Parse)?;
        return match address(network)? {
            IpAddr::V4(v4) if length <= 32 => {
                let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
                let first = v4.to_bits() & mask;
                Ok((IpAddr::V4(first.into()), IpAddr::V4((first | !mask).into())))
            }
            IpAddr::V6(v6) if length <= 128 => {
                let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
                let first = v6.to_bits() & mask;
                Ok((IpAddr::V6(first.into()), IpAddr::V6((first | !mask).into())))
            }
            _ => Err(Error::Parse),
        };
    }
    if let Some((first, last)) = text.split_once('-') {
        return Ok((address(first)?, address(last)?));
    }
    Ok((address(text)?, address(text)?))
}

/// Whether the text holds an address between the bounds: a stretch of digits and dots, or of hexadecimal digits, dots and colons, that is one.
pub(crate) fn found_in(text: &str, (first, last): (IpAddr, IpAddr)) -> bool {
    let v4 = |c: char| c.is_ascii_digit() || c == '.';
    let v6 = |c: char| c.is_ascii_hexdigit() || c == '.' || c == ':';
    let tokens = text.split(|c| !v4(c)).chain(text.split(|c| !v6(c)));
    tokens
        .filter_map(|token| token.parse::<IpAddr>().ok())
        .any(|a| a.is_ipv4() == first.is_ipv4() && first <= a && a <= last)
}
