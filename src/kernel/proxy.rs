//! Proxies whose `X-Forwarded-For` is believed.

use std::{net::IpAddr, str::FromStr};

use ipnet::IpNet;
use serde::{Deserialize, de::Error as _};

/// A proxy, or a network of them, whose `X-Forwarded-For` is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrustedProxy(IpNet);

/// The text is neither an address nor a network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is neither an address nor a network such as 10.0.0.0/8")]
pub struct NotANetwork(String);

impl FromStr for TrustedProxy {
    type Err = NotANetwork;

    fn from_str(text: &str) -> Result<Self, NotANetwork> {
        let network = text.parse::<IpNet>().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
        network.map(Self).map_err(|_| NotANetwork(text.to_owned()))
    }
}

impl<'de> Deserialize<'de> for TrustedProxy {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl TrustedProxy {
    /// Whether this address is the proxy's, or within its network.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address)
    }
}
