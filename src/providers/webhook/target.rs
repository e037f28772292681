//! The targets that a webhook may have: not this machine, its network, or the metadata services of clouds.
//!
//! A host that is an IP address is checked as it is. A name is checked by the addresses that it resolves to when
//! the connection is made, so that a name whose addresses change between two look-ups (DNS rebinding) is refused.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::LazyLock,
};

use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use tower::{Service, ServiceExt as _, util::BoxCloneSyncService};
use url::{Host, Url};

use crate::client::{Refused, Resolver};

/// Ports below this are services' of the system; of these only HTTP's own are called.
const PORT_MIN: u16 = 1024;
/// The ports of HTTP.
const PORTS: [u16; 2] = [80, 443];

/// Which addresses may be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Those of the public internet.
    Public,
    /// Those of this machine and of private networks as well.
    Private,
}

/// Networks of IPv4 that are not on the public internet: IANA's registry of special-purpose addresses, multicast,
/// and the relays of 6to4.
static RESERVED: LazyLock<Vec<Ipv4Net>> = LazyLock::new(|| {
    [
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    ]
    .map(net)
    .into()
});

/// The global unicast part of IPv6 (RFC 4291 2.4), and the networks in it that are not public: special purposes,
/// Teredo, documentation, 6to4.
static GLOBAL: LazyLock<Ipv6Net> = LazyLock::new(|| net("2000::/3"));
static RESERVED_IN_GLOBAL: LazyLock<Vec<Ipv6Net>> = LazyLock::new(|| {
    ["2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"].map(net).into()
});

/// What people run for themselves: this machine, private networks (RFC 1918, RFC 4193), and those behind a
/// carrier's translation (RFC 6598). Link-local addresses are not among them: clouds answer there with
/// their machines' credentials.
static PRIVATE: LazyLock<Vec<IpNet>> = LazyLock::new(|| {
    [
        "127.0.0.0/8",
        "10.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "100.64.0.0/10",
        "::1/128",
        "fc00::/7",
    ]
    .map(net)
    .into()
});

fn net<T: std::str::FromStr>(text: &str) -> T {
    text.parse().ok().expect("a network is written right above")
}

impl Reach {
    /// Whether an address may be called.
    pub(super) fn covers(self, address: IpAddr) -> bool {
        let address = plain(address);
        let is_public = match address {
            IpAddr::V4(address) => is_public_v4(address),
            IpAddr::V6(address) => is_public_v6(address),
        };
        is_public || self == Self::Private && PRIVATE.iter().any(|net| net.contains(&address))
    }

    /// Checks a URL; the addresses of a name are checked by [`Reach::resolver`].
    ///
    /// # Errors
    /// The reason why it is not called.
    pub(crate) fn check(self, url: &Url) -> Result<(), String> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err("the address is not an http or https address".to_owned());
        }
        let port = url.port_or_known_default().unwrap_or_default();
        if port < PORT_MIN && !PORTS.contains(&port) {
            return Err(format!("port {port} is not called: it must be 80, 443, or 1024 or more"));
        }
        let literal = match url.host() {
            Some(Host::Domain(name)) if !name.is_empty() => return Ok(()),
            Some(Host::Ipv4(address)) => IpAddr::V4(address),
            Some(Host::Ipv6(address)) => IpAddr::V6(address),
            _ => return Err("the address has no host".to_owned()),
        };
        if self.covers(literal) { Ok(()) } else { Err(refusal()) }
    }

    /// Asks the system for addresses, and passes those on that may be called.
    pub(crate) fn resolver(self) -> Resolver {
        let system = GaiResolver::new()
            .map_response(|addresses| addresses.collect::<Vec<_>>().into_iter())
            .map_err(Into::into);
        self.over(system)
    }

    /// The same over another source of addresses.
    pub(super) fn over<S>(self, source: S) -> Resolver
    where
        S: Service<
                Name,
                Response = std::vec::IntoIter<SocketAddr>,
                Error = Box<dyn std::error::Error + Send + Sync>,
            > + Clone
            + Send
            + Sync
            + 'static,
        S::Future: Send,
    {
        let guarded = source.map_result(move |found: Result<std::vec::IntoIter<SocketAddr>, _>| {
            let found: Vec<_> = found?.collect();
            let had_some = !found.is_empty();
            let covered: Vec<_> =
                found.into_iter().filter(|address| self.covers(address.ip())).collect();
            if covered.is_empty() && had_some {
                return Err(Refused(refusal()).into());
            }
            Ok(covered.into_iter())
        });
        BoxCloneSyncService::new(guarded)
    }
}

fn refusal() -> String {
    "the address is not on the public internet (security.allow_private_webhook_targets)".to_owned()
}

/// An IPv4 address that is written as an IPv6 one (RFC 4291 2.5.5.2) as what it is.
fn plain(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    !RESERVED.iter().any(|net| net.contains(&address))
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    GLOBAL.contains(&address) && !RESERVED_IN_GLOBAL.iter().any(|net| net.contains(&address))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn addresses_are_checked_by_their_network() {
        let table = [
            ("93.184.216.34", true, true),
            ("2606:2800:220:1:248:1893:25c8:1946", true, true),
            ("8.8.8.8", true, true),
            ("127.0.0.1", false, true),
            ("127.255.255.254", false, true),
            ("10.0.0.1", false, true),
            ("172.16.0.1", false, true),
            ("172.31.255.255", false, true),
            ("172.32.0.1", true, true),
            ("192.168.1.1", false, true),
            ("100.64.0.1", false, true),
            ("100.128.0.1", true, true),
            ("169.254.169.254", false, false),
            ("0.0.0.0", false, false),
            ("192.0.0.8", false, false),
            ("192.0.2.1", false, false),
            ("192.88.99.1", false, false),
            ("198.19.255.255", false, false),
            ("203.0.113.9", false, false),
            ("224.0.0.1", false, false),
            ("255.255.255.255", false, false),
            ("::1", false, true),
            ("::", false, false),
            ("fd00::1", false, true),
            ("fe80::1", false, false),
            ("fec0::1", false, false),
            ("ff02::1", false, false),
            ("::ffff:127.0.0.1", false, true),
            ("::ffff:169.254.169.254", false, false),
            ("::ffff:8.8.8.8", true, true),
            ("::7f00:1", false, false),
            ("64:ff9b::7f00:1", false, false),
            ("64:ff9b:1::1", false, false),
            ("2002:7f00:1::", false, false),
            ("2001:0:1::1", false, false),
            ("2001:db8::1", false, false),
            ("3fff::1", false, false),
            ("100::1", false, false),
        ];
        for (text, public, private) in table {
            let address = text.parse().unwrap();
            assert_eq!(Reach::Public.covers(address), public, "{text}");
            assert_eq!(Reach::Private.covers(address), private, "{text}, private targets allowed");
        }
    }

    #[test]
    fn an_address_is_checked_in_every_spelling() {
        let check = |text: &str| Reach::Public.check(&Url::parse(text).unwrap());
        for good in ["https://example.test/x", "http://example.test:8080", "https://8.8.8.8/"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in [
            "http://127.0.0.1/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://0177.0.0.1/",
            "http://127.1/",
            "http://[::1]/",
            "http://[::ffff:7f00:1]/",
            "http://[::ffff:169.254.169.254]/latest/meta-data",
            "http://169.254.169.254/",
            "http://user@127.0.0.1/",
            "http://１２７.0.0.1/",
            "ftp://example.test/",
            "file:///etc/passwd",
            "http://example.test:22/",
            "http://example.test:25/",
            "https://example.test:1023/",
        ] {
            assert!(check(bad).is_err(), "{bad}");
        }
    }

    #[tokio::test]
    async fn a_name_is_only_passed_on_with_addresses_that_may_be_called() {
        let resolve = |addresses: &'static [&'static str], reach: Reach| async move {
            let source = tower::service_fn(move |_: Name| async move {
                let found: Vec<SocketAddr> = addresses.iter().map(|a| a.parse().unwrap()).collect();
                Ok::<_, Box<dyn std::error::Error + Send + Sync>>(found.into_iter())
            });
            let found = reach.over(source).oneshot("example.test".parse().unwrap()).await;
            found.map(Iterator::count).map_err(|fault| fault.is::<Refused>())
        };
        assert_eq!(resolve(&["8.8.8.8:0", "127.0.0.1:0"], Reach::Public).await, Ok(1));
        assert_eq!(resolve(&["127.0.0.1:0", "[::1]:0"], Reach::Public).await, Err(true));
        assert_eq!(resolve(&["127.0.0.1:0", "169.254.169.254:0"], Reach::Private).await, Ok(1));
        assert_eq!(resolve(&[], Reach::Public).await, Ok(0), "nothing is found, nothing refused");
    }

    proptest! {
        #[test]
        fn an_ipv4_address_mapped_to_ipv6_is_checked_as_itself(bits: u32) {
            let v4 = Ipv4Addr::from(bits);
            for reach in [Reach::Public, Reach::Private] {
                prop_assert_eq!(reach.covers(v4.into()), reach.covers(v4.to_ipv6_mapped().into()));
            }
        }
    }
}
