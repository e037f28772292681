//! The sender of a request, for audit entries: an address and a user agent.
//!
//! The address is the connection's, unless the connection comes from a trusted proxy: then it is the last
//! address in `X-Forwarded-For` that is not a trusted proxy. The addresses to the left of it were written by
//! the caller and prove nothing.

use std::{
    convert::Infallible,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use axum::extract::{FromRef, FromRequestParts};
use http::{Extensions, HeaderMap, header::USER_AGENT, request::Parts};
use kernel::TrustedProxy;

/// Most characters of a `User-Agent` that are stored.
const USER_AGENT_CHARS_MAX: usize = 512;
/// The header in which proxies name their clients.
const X_FORWARDED_FOR: &str = "x-forwarded-for";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Requester {
    /// Absent without a connection (an internal job, a test of the router).
    pub ip: Option<IpAddr>,
    /// The `User-Agent`, cut at 512 characters.
    pub user_agent: Option<String>,
}

/// The other end of the connection; the accept loop puts it into every request's extensions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer(pub(super) IpAddr);

/// The key of limits by peer: an IPv4 address, or the /64 network of an IPv6 address, since one subscriber
/// usually has all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PeerKey(IpAddr);

/// Bits of an IPv6 address that are the host's within its network.
const IPV6_HOST_BITS: u32 = 64;

impl PeerKey {
    /// The key of an address; an IPv4 address written as IPv6 has the key of the IPv4 address.
    pub fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(v6) => {
                let network = u128::from(v6) >> IPV6_HOST_BITS << IPV6_HOST_BITS;
                IpAddr::V6(network.into())
            }
            v4 @ IpAddr::V4(_) => v4,
        })
    }
}

/// The client of a request for limits by peer. Empty for a request from a trusted proxy that names no client,
/// and without a connection (a test of the router).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Client(pub Option<PeerKey>);

impl Client {
    /// The client of a request with these extensions and headers.
    pub fn of(extensions: &Extensions, headers: &HeaderMap, proxies: &TrustedProxies) -> Self {
        let peer = extensions.get::<Peer>();
        Self(peer.and_then(|Peer(address)| proxies.client(*address, headers)))
    }
}

impl<S> FromRequestParts<S> for Client
where
    S: Send + Sync,
    TrustedProxies: FromRef<S>,
{
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        let proxies = TrustedProxies::from_ref(state);
        Ok(Self::of(&parts.extensions, &parts.headers, &proxies))
    }
}

/// The trusted proxies. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct TrustedProxies(Arc<[TrustedProxy]>);

impl TrustedProxies {
    pub fn new(proxies: &[TrustedProxy]) -> Self {
        Self(Arc::from(proxies))
    }

    /// Whether this is the address of a trusted proxy.
    pub(super) fn include(&self, address: IpAddr) -> bool {
        self.0.iter().any(|proxy| proxy.contains(address))
    }

    /// The client of a connection from `peer` with these headers; `None` for a trusted proxy that names no client.
    pub(super) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> Option<PeerKey> {
        let origin = self.origin(peer, headers);
        (!self.include(origin)).then(|| PeerKey::of(origin))
    }

    /// The nearest address to `peer` that is not one of these proxies.
    fn origin(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut origin = peer.to_canonical();
        let lines = headers.get_all(X_FORWARDED_FOR).iter().rev();
        let hops = lines
            .filter_map(|line| line.to_str().ok())
            .flat_map(|line| line.rsplit(','))
            .map(address_of);
        for hop in hops {
            // An invalid address ends the chain: the origin of the addresses to the left of it is unknown.
            let (true, Some(hop)) = (self.include(origin), hop) else { break };
            origin = hop.to_canonical();
        }
        origin
    }
}

/// One entry of the header: an address, with a port from some proxies.
fn address_of(hop: &str) -> Option<IpAddr> {
    let hop = hop.trim();
    let bare = hop.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(hop);
    bare.parse().ok().or_else(|| hop.parse::<SocketAddr>().ok().map(|address| address.ip()))
}

impl<S> FromRequestParts<S> for Requester
where
    S: Send + Sync,
    TrustedProxies: FromRef<S>,
{
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        let proxies = TrustedProxies::from_ref(state);
        let peer = parts.extensions.get::<Peer>();
        let ip = peer.map(|Peer(ip)| proxies.origin(*ip, &parts.headers));
        let user_agent = parts.headers.get(USER_AGENT).map(|value| {
            let text = String::from_utf8_lossy(value.as_bytes());
            text.chars().take(USER_AGENT_CHARS_MAX).collect()
        });
        Ok(Self { ip, user_agent })
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderValue, Request};

    use super::*;

    fn origin(trusted: &[&str], peer: &str, forwarded: &[&str]) -> String {
        let proxies: Vec<TrustedProxy> = trusted.iter().map(|text| text.parse().unwrap()).collect();
        let mut headers = HeaderMap::new();
        for line in forwarded {
            headers.append(X_FORWARDED_FOR, HeaderValue::from_str(line).unwrap());
        }
        TrustedProxies::new(&proxies).origin(peer.parse().unwrap(), &headers).to_string()
    }

    #[test]
    fn a_header_counts_only_from_a_trusted_proxy_and_only_as_far_as_the_chain_is_trusted() {
        let inside = ["10.0.0.0/8", "::1"];
        let table: [(&[&str], &str, &[&str], &str); 12] = [
            (&[], "10.0.0.1", &["1.2.3.4"], "10.0.0.1"),
            (&inside, "192.0.2.7", &["1.2.3.4"], "192.0.2.7"),
            (&inside, "10.0.0.1", &[], "10.0.0.1"),
            (&inside, "10.0.0.1", &["1.2.3.4"], "1.2.3.4"),
            (&inside, "10.0.0.1", &["6.6.6.6, 1.2.3.4, 10.9.9.9"], "1.2.3.4"),
            (&inside, "10.0.0.1", &["6.6.6.6", "1.2.3.4", "10.9.9.9"], "1.2.3.4"),
            (&inside, "10.0.0.1", &["10.1.1.1, 10.2.2.2"], "10.1.1.1"),
            (&inside, "10.0.0.1", &["1.2.3.4, unknown, 10.9.9.9"], "10.9.9.9"),
            (&inside, "10.0.0.1", &["1.2.3.4:5678"], "1.2.3.4"),
            (&inside, "10.0.0.1", &["[2001:db8::1]:443"], "2001:db8::1"),
            (&inside, "::1", &["[2001:db8::1]"], "2001:db8::1"),
            (&inside, "::ffff:10.0.0.1", &["::ffff:1.2.3.4"], "1.2.3.4"),
        ];
        for (trusted, peer, forwarded, expected) in table {
            assert_eq!(origin(trusted, peer, forwarded), expected, "{peer} {forwarded:?}");
        }
    }

    #[test]
    fn limits_by_peer_count_ipv6_by_network_and_ignore_proxies_without_client() {
        let key = |text: &str| PeerKey::of(text.parse().unwrap());
        assert_eq!(key("2001:db8:1:2::1"), key("2001:db8:1:2:ffff::9"));
        assert_ne!(key("2001:db8:1:2::1"), key("2001:db8:1:3::1"));
        assert_eq!(key("::ffff:192.0.2.1"), key("192.0.2.1"));
        assert_ne!(key("192.0.2.1"), key("192.0.2.2"));
        let proxies = TrustedProxies::new(&["10.0.0.0/8".parse().unwrap()]);
        let client = |peer: &str, forwarded: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            if let Some(line) = forwarded {
                headers.append(X_FORWARDED_FOR, HeaderValue::from_static(line));
            }
            proxies.client(peer.parse().unwrap(), &headers)
        };
        assert_eq!(client("10.0.0.1", None), None);
        assert_eq!(client("10.0.0.1", Some("192.0.2.1")), Some(key("192.0.2.1")));
        assert_eq!(client("192.0.2.7", Some("192.0.2.1")), Some(key("192.0.2.7")));
    }

    #[test]
    fn invalid_networks_are_refused_by_name() {
        for text in ["", "10.0.0.0/33", "proxy.internal", "10.0.0"] {
            let refused = text.parse::<TrustedProxy>().unwrap_err();
            assert!(refused.to_string().contains(&format!("\"{text}\"")), "{refused}");
        }
    }

    #[derive(Debug, Clone)]
    struct State;

    impl FromRef<State> for TrustedProxies {
        fn from_ref(_: &State) -> Self {
            Self::default()
        }
    }

    #[tokio::test]
    async fn a_requester_is_always_found_and_its_agent_is_cut() {
        let agent = "ä".repeat(600);
        let request = Request::builder().header(USER_AGENT, agent.as_bytes()).body(()).unwrap();
        let (mut parts, ()) = request.into_parts();
        parts.extensions.insert(Peer("127.0.0.1".parse().unwrap()));
        let Ok(requester) = Requester::from_request_parts(&mut parts, &State).await;
        assert_eq!(requester.ip, Some("127.0.0.1".parse().unwrap()));
        assert_eq!(requester.user_agent, Some("ä".repeat(512)));
        let (mut parts, ()) = Request::new(()).into_parts();
        let Ok(requester) = Requester::from_request_parts(&mut parts, &State).await;
        assert_eq!(requester, Requester::default());
    }
}
