//! Decides which addresses may be connected to: public ones, and those allowed by the operator.
//!
//! Checks the addresses that a name resolves to, never the name, and the connection goes to these addresses, so
//! it does not matter if the name resolves to another one a moment later. An IPv4 address inside an IPv6 one
//! (mapped, NAT64, 6to4, Teredo) counts as that IPv4 address.
//!
//! Source: the IANA special-purpose address registries, as of RFC 6890 and its updates.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A block of addresses, such as `10.0.0.0/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    first: IpAddr,
    bits: u8,
}

/// A malformed range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("fetch.allow: `{0}` is not a range of addresses, such as 10.0.0.0/8 or fd00::/8")]
pub struct RangeError(pub String);

impl FromStr for Range {
    type Err = RangeError;

    fn from_str(text: &str) -> Result<Self, RangeError> {
        let wrong = || RangeError(text.to_owned());
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let first: IpAddr = address.trim().parse().map_err(|_| wrong())?;
        let most = if first.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(most), |bits| bits.trim().parse().map_err(|_| wrong()))?;
        if bits > most { Err(wrong()) } else { Ok(Self { first, bits }) }
    }
}

impl Range {
    const fn v4(a: u8, b: u8, c: u8, d: u8, bits: u8) -> Self {
        Self { first: IpAddr::V4(Ipv4Addr::new(a, b, c, d)), bits }
    }

    const fn v6(a: u16, b: u16, c: u16, d: u16, bits: u8) -> Self {
        Self { first: IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0)), bits }
    }

    /// Whether the range contains this address.
    pub fn contains(&self, address: IpAddr) -> bool {
        let leading = |a: u128, b: u128, width: u32| {
            let rest = width - u32::from(self.bits);
            rest >= 128 || (a ^ b) >> rest == 0
        };
        match (self.first, address) {
            (IpAddr::V4(a), IpAddr::V4(b)) => {
                leading(u128::from(a.to_bits()), u128::from(b.to_bits()), 32)
            }
            (IpAddr::V6(a), IpAddr::V6(b)) => leading(a.to_bits(), b.to_bits(), 128),
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

/// Ranges that are not public. Metadata services are in 169.254.0.0/16, fd00::/8 and 100.64.0.0/10.
const NOT_PUBLIC: [Range; 27] = [
    Range::v4(0, 0, 0, 0, 8),           // this network
    Range::v4(10, 0, 0, 0, 8),          // private
    Range::v4(100, 64, 0, 0, 10),       // carrier-grade NAT
    Range::v4(127, 0, 0, 0, 8),         // loopback
    Range::v4(169, 254, 0, 0, 16),      // link-local
    Range::v4(172, 16, 0, 0, 12),       // private
    Range::v4(192, 0, 0, 0, 24),        // protocol assignments
    Range::v4(192, 0, 2, 0, 24),        // documentation
    Range::v4(192, 88, 99, 0, 24),      // former 6to4 relays
    Range::v4(192, 168, 0, 0, 16),      // private
    Range::v4(198, 18, 0, 0, 15),       // benchmarks
    Range::v4(198, 51, 100, 0, 24),     // documentation
    Range::v4(203, 0, 113, 0, 24),      // documentation
    Range::v4(168, 63, 129, 16, 32),    // a cloud's metadata
    Range::v4(224, 0, 0, 0, 4),         // multicast
    Range::v4(240, 0, 0, 0, 4),         // reserved, broadcast
    Range::v6(0, 0, 0, 0, 8),           // unspecified, loopback, IPv4-compatible
    Range::v6(0x100, 0, 0, 0, 64),      // discard
    Range::v6(0x2001, 0, 0, 0, 23),     // protocol assignments
    Range::v6(0x2001, 0xdb8, 0, 0, 32), // documentation
    Range::v6(0x3fff, 0, 0, 0, 20),     // documentation
    Range::v6(0x5f00, 0, 0, 0, 16),     // segment routing
    Range::v6(0xfc00, 0, 0, 0, 7),      // unique local
    Range::v6(0xfe80, 0, 0, 0, 10),     // link-local
    Range::v6(0xfec0, 0, 0, 0, 10),     // former site-local
    Range::v6(0xff00, 0, 0, 0, 8),      // multicast
    Range::v6(0x64, 0xff9b, 1, 0, 48),  // local NAT64
];

/// Ranges allowed by the operator, besides public addresses.
#[derive(Clone, Debug, Default)]
pub struct Allowed(Vec<Range>);

impl Allowed {
    pub fn new(ranges: &[String]) -> Result<Self, RangeError> {
        ranges.iter().map(|range| range.parse()).collect::<Result<_, _>>().map(Self)
    }

    /// Whether this address may be connected to.
    pub fn admits(&self, address: IpAddr) -> bool {
        self.names(address) || !is_special(address, leads_to(address))
    }

    /// Whether the operator allows it by a range.
    pub fn names(&self, address: IpAddr) -> bool {
        let allowed = |address| self.0.iter().any(|range| range.contains(address));
        allowed(leads_to(address)) || allowed(address)
    }
}

fn is_special(address: IpAddr, meant: IpAddr) -> bool {
    // A wrapping prefix is special itself; the address inside decides.
    NOT_PUBLIC.iter().any(|range| range.contains(meant))
        || (address == meant && NOT_PUBLIC.iter().any(|range| range.contains(address)))
}

/// The IPv4 address inside an IPv6 address, or the address itself.
fn leads_to(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    let bits = v6.to_bits();
    let low = Ipv4Addr::from_bits(bits as u32);
    let s = v6.segments();
    let v4 = match s {
        // ::ffff:a.b.c.d
        [0, 0, 0, 0, 0, 0xffff, _, _] => low,
        // 64:ff9b::a.b.c.d
        [0x64, 0xff9b, 0, 0, 0, 0, _, _] => low,
        // 2002:aabb:ccdd::
        [0x2002, ..] => Ipv4Addr::from_bits((bits >> 80) as u32),
        // 2001:0:…, the inverted address of the client
        [0x2001, 0, ..] => Ipv4Addr::from_bits(!(bits as u32)),
        _ => return address,
    };
    IpAddr::V4(v4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are_admitted() {
        let none = Allowed::default();
        for refused in [
            "127.0.0.1",
            "127.255.255.254",
            "0.0.0.0",
            "10.1.2.3",
            "172.31.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.100.100.200",
            "224.0.0.1",
            "255.255.255.255",
            "198.18.0.1",
            "168.63.129.16",
            "192.0.0.192",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2002:c0a8:101::1",
            "2001:0:0:0:0:0:80ff:fffe",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "fec0::1",
            "ff02::1",
            "2001:db8::1",
        ] {
            assert!(!none.admits(refused.parse().unwrap()), "{refused}");
        }
        for admitted in [
            "93.184.216.34",
            "1.1.1.1",
            "172.32.0.1",
            "100.128.0.1",
            "2606:4700::1111",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::1",
        ] {
            assert!(none.admits(admitted.parse().unwrap()), "{admitted}");
        }
    }

    #[test]
    fn the_operator_may_allow_ranges() {
        let some =
            Allowed::new(&["10.0.0.0/8".into(), "fd00::/8".into(), "127.0.0.1".into()]).unwrap();
        for admitted in ["10.200.0.1", "::ffff:10.0.0.1", "fd12::1", "127.0.0.1"] {
            assert!(some.admits(admitted.parse().unwrap()), "{admitted}");
        }
        for refused in ["11.0.0.1", "127.0.0.2", "fc00::1", "169.254.169.254"] {
            let address: IpAddr = refused.parse().unwrap();
            assert_eq!(some.admits(address), refused == "11.0.0.1", "{refused}");
        }
        assert!(Allowed::new(&["0.0.0.0/0".into()]).unwrap().admits("10.0.0.1".parse().unwrap()));
        for wrong in ["10.0.0.0/33", "ten", "10.0.0.0/", "::/129"] {
            assert!(Allowed::new(&[wrong.into()]).is_err(), "{wrong}");
        }
    }
}
