//! Sets of IP addresses, the argument of `ip("..")` (logql.md 5.3).

use std::net::IpAddr;

/// Addresses from a first to a last one, of one family. A single address and a CIDR block are such ranges too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpRange {
    first: IpAddr,
    last: IpAddr,
}

impl IpRange {
    /// Reads an address, a CIDR block (`10.0.0.0/8`) or an inclusive range (`10.0.0.5-10.0.0.9`).
    pub fn parse(text: &str) -> Result<Self, String> {
        Self::try_parse(text).ok_or_else(|| format!("ip: invalid pattern: {text:?}"))
    }

    fn try_parse(text: &str) -> Option<Self> {
        if let Some((first, last)) = text.split_once('-') {
            let (first, last): (IpAddr, IpAddr) = (first.parse().ok()?, last.parse().ok()?);
            let fits = first.is_ipv4() == last.is_ipv4() && first <= last;
            return fits.then_some(Self { first, last });
        }
        if let Some((address, bits)) = text.split_once('/') {
            let is_number = !bits.is_empty() && bits.bytes().all(|b| b.is_ascii_digit());
            return Self::block(address.parse().ok()?, is_number.then_some(bits)?.parse().ok()?);
        }
        let address = text.parse().ok()?;
        Some(Self {
            first: address,
            last: address,
        })
    }

    /// The addresses that share the first `bits` bits with `address`.
    fn block(address: IpAddr, bits: u32) -> Option<Self> {
        Some(match address {
            IpAddr::V4(address) => {
                let host = u32::MAX.checked_shr(bits).unwrap_or(0);
                let first = u32::from(address) & !host;
                (bits <= 32).then_some(Self {
                    first: IpAddr::V4(first.into()),
                    last: IpAddr::V4((first | host).into()),
                })?
            }
            IpAddr::V6(address) => {
                let host = u128::MAX.checked_shr(bits).unwrap_or(0);
                let first = u128::from(address) & !host;
                (bits <= 128).then_some(Self {
                    first: IpAddr::V6(first.into()),
                    last: IpAddr::V6((first | host).into()),
                })?
            }
        })
    }

    /// Is the address in the set? An address of the other family never is.
    pub fn contains(&self, address: IpAddr) -> bool {
        address.is_ipv4() == self.first.is_ipv4() && self.first <= address && address <= self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets() {
        let case = |set: &str, address: &str, want| {
            assert_eq!(
                IpRange::parse(set).unwrap().contains(address.parse().unwrap()),
                want,
                "{set} {address}"
            );
        };
        case("10.0.0.1", "10.0.0.1", true);
        case("10.0.0.1", "10.0.0.2", false);
        case("10.0.0.0/8", "10.255.255.255", true);
        case("10.1.2.3/8", "10.0.0.0", true);
        case("10.0.0.0/8", "11.0.0.0", false);
        case("0.0.0.0/0", "255.255.255.255", true);
        case("0.0.0.0/0", "::1", false);
        case("10.0.0.1/32", "10.0.0.1", true);
        case("10.0.0.5-10.0.0.9", "10.0.0.9", true);
        case("10.0.0.5-10.0.0.9", "10.0.0.10", false);
        case("2001:db8::/32", "2001:db8:ffff::1", true);
        case("::/0", "ffff::", true);
        case("::1", "::1", true);
        for text in [
            "",
            "x",
            "10.0.0",
            "10.0.0.0/33",
            "10.0.0.0/+8",
            "10.0.0.0/",
            "::/129",
            "10.0.0.9-10.0.0.5",
            "1.1.1.1-::1",
        ] {
            assert_eq!(
                IpRange::parse(text).unwrap_err(),
                format!("ip: invalid pattern: {text:?}")
            );
        }
    }
}
