//! Where load is sent: addresses and credentials, refused unless they are this machine's.

use std::{fmt, net::IpAddr, path::Path};

use anyhow::{Context, Result, bail, ensure};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use url::Url;

/// An `http://` address taken apart once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Host and port, as a socket address is looked up from and as the `Host` header says it.
    pub authority: String,
}

impl Endpoint {
    /// Reads an `http://host:port` address.
    ///
    /// # Errors
    /// Anything but plain `http`, and an address that is not this machine's unless `allow_remote`.
    pub fn parse(address: &str, allow_remote: bool) -> Result<Self> {
        let url = Url::parse(address).with_context(|| format!("{address} is not a URL"))?;
        Self::of(&url, allow_remote)
    }

    fn of(url: &Url, allow_remote: bool) -> Result<Self> {
        ensure!(
            url.scheme() == "http",
            "only http:// addresses are supported, not {}://",
            url.scheme()
        );
        let Some(host) = url.host_str() else { bail!("the address has no host") };
        ensure!(
            allow_remote || is_loopback(host),
            "{host} is not this machine: load is sent elsewhere only with --allow-remote"
        );
        let port = url.port_or_known_default().unwrap_or(80);
        Ok(Self { authority: format!("{host}:{port}") })
    }
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// An API key that does not show itself in `Debug`.
#[derive(Clone)]
pub struct ApiKey(String);

impl ApiKey {
    /// Wraps the key's text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The `Authorization` header's value.
    pub fn bearer(&self) -> String {
        format!("Bearer {}", self.0.trim())
    }

    /// The `Authorization` header's value of event SDKs: the key is the user name, without a password.
    pub fn basic(&self) -> String {
        format!("Basic {}", BASE64_STANDARD.encode(format!("{}:", self.0.trim())))
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

/// A ClickHouse HTTP interface, its user and its database.
#[derive(Clone)]
pub struct ClickHouseTarget {
    pub endpoint: Endpoint,
    /// The user; empty for the server's default.
    pub user: String,
    pub password: String,
    /// The database the tables are in.
    pub database: String,
}

impl fmt::Debug for ClickHouseTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClickHouseTarget")
            .field("endpoint", &self.endpoint)
            .field("user", &self.user)
            .field("database", &self.database)
            .finish_non_exhaustive()
    }
}

impl ClickHouseTarget {
    /// Reads `http://user:pass@host:port/db`.
    ///
    /// # Errors
    /// As [`Endpoint::parse`].
    pub fn parse(address: &str, allow_remote: bool) -> Result<Self> {
        // The address holds a password: it is never part of an error text.
        let url = Url::parse(address.trim()).context("the ClickHouse address is not a URL")?;
        let database = url.path().trim_matches('/');
        Ok(Self {
            endpoint: Endpoint::of(&url, allow_remote)?,
            user: decode(url.username()),
            password: decode(url.password().unwrap_or_default()),
            database: decode(if database.is_empty() { "default" } else { database }),
        })
    }

    /// Reads the address a server with an embedded ClickHouse leaves in its data directory.
    ///
    /// # Errors
    /// A missing or unreadable file.
    pub fn from_data_dir(data_dir: &Path, allow_remote: bool) -> Result<Self> {
        let path = data_dir.join("clickhouse.url");
        let text = std::fs::read_to_string(&path).with_context(|| {
            format!("cannot read {}: is the server running there?", path.display())
        })?;
        Self::parse(&text, allow_remote)
    }
}

/// Percent-decodes one part of a URL.
fn decode(part: &str) -> String {
    // A form-encoded pair is the decoder the `url` crate exposes; `+` is literal in user info and paths.
    let escaped = part.replace('+', "%2B");
    url::form_urlencoded::parse(escaped.as_bytes())
        .map(|(key, _)| key.into_owned())
        .next()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_a_target_unless_allowed() {
        for good in [
            "http://127.0.0.1:8080",
            "http://localhost:8080",
            "http://[::1]:8080",
            "http://127.9.9.9",
        ] {
            assert!(Endpoint::parse(good, false).is_ok(), "{good}");
        }
        for bad in ["http://10.0.0.1:8080", "http://example.test", "http://localhost.example.test"]
        {
            assert!(Endpoint::parse(bad, false).is_err(), "{bad}");
            assert!(Endpoint::parse(bad, true).is_ok(), "{bad}");
        }
        assert!(Endpoint::parse("https://127.0.0.1", true).is_err());
    }

    #[test]
    fn a_clickhouse_address_is_taken_apart_and_its_password_is_never_shown() {
        let target =
            ClickHouseTarget::parse("http://mill:s%40cr+t@127.0.0.1:8123/millrace\n", false)
                .unwrap();
        assert_eq!(target.endpoint.authority, "127.0.0.1:8123");
        assert_eq!(target.user, "mill");
        assert_eq!(target.password, "s@cr+t");
        assert_eq!(target.database, "millrace");
        assert!(!format!("{target:?}").contains("s@cr+t"));
        assert!(!format!("{:?}", ApiKey::new("mr_x_y")).contains("mr_x_y"));
    }
}
