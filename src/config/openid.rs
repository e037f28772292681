//! `[openid]`: the provider whose accounts sign in at the console.

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::Url;

/// The OpenID provider. Set as a whole, or not at all.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenId {
    /// The provider, as its tokens name it; its discovery document is below it.
    #[serde(default)]
    pub issuer: Option<String>,
    /// The name of this server at the provider.
    #[serde(default)]
    pub client_id: Option<String>,
    /// The password of this server at the provider.
    #[serde(default)]
    pub client_secret: Option<SecretString>,
}

impl OpenId {
    /// The first invalid value: the key and the reason.
    pub(super) fn fault(&self) -> Option<(&'static str, String)> {
        let is_empty = |text: &str| text.trim().is_empty();
        let parts = [
            ("openid.issuer", self.issuer.as_deref()),
            ("openid.client_id", self.client_id.as_deref()),
            ("openid.client_secret", self.client_secret.as_ref().map(ExposeSecret::expose_secret)),
        ];
        if parts.iter().all(|(_, part)| part.is_none()) {
            return None;
        }
        if let Some((key, _)) = parts.iter().find(|(_, part)| part.is_none_or(is_empty)) {
            return Some((key, "must be set where there is an OpenID provider".to_owned()));
        }
        let issuer = self.issuer.as_deref().unwrap_or_default();
        let is_address = Url::parse(issuer).is_ok_and(|url| {
            let is_local = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
            url.has_host() && (url.scheme() == "https" || url.scheme() == "http" && is_local)
        });
        let reason = "must start with https://; http:// is for this machine alone";
        (!is_address).then(|| ("openid.issuer", reason.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_is_set_as_a_whole() {
        for (issuer, id, secret, fault) in [
            (None, None, None, None),
            (Some("https://id.example.test/realm"), Some("m"), Some("s"), None),
            (Some("http://127.0.0.1:8085"), Some("m"), Some("s"), None),
            (Some("http://id.example.test"), Some("m"), Some("s"), Some("openid.issuer")),
            (Some("id.example.test"), Some("m"), Some("s"), Some("openid.issuer")),
            (None, Some("m"), Some("s"), Some("openid.issuer")),
            (Some("https://id.example.test"), None, Some("s"), Some("openid.client_id")),
            (Some("https://id.example.test"), Some("m"), Some(" "), Some("openid.client_secret")),
        ] {
            let openid = OpenId {
                issuer: issuer.map(str::to_owned),
                client_id: id.map(str::to_owned),
                client_secret: secret.map(SecretString::from),
            };
            assert_eq!(openid.fault().map(|(key, _)| key), fault, "{openid:?}");
        }
    }
}
