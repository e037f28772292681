//! Write keys of event SDKs: an API key or an SDK key, sent where each protocol sends its key.

use std::sync::Arc;

use axum::extract::FromRef;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use http::{HeaderMap, header::AUTHORIZATION, request::Parts};
use kernel::{Error, KeyId, Result, Tenant, WorkspaceId};
use secrecy::{ExposeSecret as _, SecretString};

use super::{
    Auth, INVALID, KeyKind, Scope as _, ScopeName, Use, caller, credential::Credential, scope,
};
use crate::http::rate;

/// Bytes of the longest user name of `Authorization: Basic` that is looked at.
const USER_BYTES_MAX: usize = 1_000;

/// A caller with a write key: a program with an API key that has the scope `events:write`, or an app with an SDK
/// key, which is public.
#[derive(Debug)]
pub struct WriteKey {
    key: Arc<Credential>,
}

impl WriteKey {
    /// The key in the user name of `Authorization: Basic`; none without that header or without a user name.
    ///
    /// # Errors
    /// Unauthenticated for a header that cannot be read.
    pub fn of_basic(headers: &HeaderMap) -> Result<Option<SecretString>> {
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let Some(first) = values.next() else { return Ok(None) };
        let text = first.to_str().map_err(|_| INVALID)?;
        let Some((scheme, coded)) = text.split_once(' ') else { return Ok(None) };
        if !scheme.eq_ignore_ascii_case("basic") {
            return Ok(None);
        }
        if values.next().is_some() || coded.len() > USER_BYTES_MAX {
            return Err(INVALID);
        }
        let decoded = BASE64_STANDARD.decode(coded.trim()).map_err(|_| INVALID)?;
        let pair = String::from_utf8(decoded).map_err(|_| INVALID)?;
        let user = pair.split_once(':').map_or(pair.as_str(), |(user, _)| user);
        Ok((!user.is_empty()).then(|| SecretString::from(user)))
    }

    /// The caller with this key, in a request of this head. A server is not limited by its peer, since a key in a body is
    /// known only now.
    ///
    /// # Errors
    /// Unauthenticated for an unknown key, forbidden for one without the scope, throttled above its rate.
    pub async fn verify<T>(text: &SecretString, head: &mut Parts, state: &T) -> Result<Self>
    where
        Auth: FromRef<T>,
    {
        let kind = kind(text);
        if kind == KeyKind::Sdk {
            rate::admit_peer(&head.extensions)?;
        }
        let key = Auth::from_ref(state).key(text, kind, Use::Tracking, head).await?;
        if kind == KeyKind::Sdk {
            rate::admit_app(&head.extensions, key.id)?;
            return Ok(Self { key });
        }
        rate::exempt_peer(&head.extensions);
        rate::admit(&head.extensions, key.id)?;
        if !key.scopes.has(ScopeName::EventsWrite) {
            return Err(Error::Forbidden {
                scope: scope::EventsWrite::NAME.as_str(),
                channel: None,
            });
        }
        // The body of an app counts in the public pool, whatever its key.
        caller::verified(&mut head.extensions, key.workspace);
        Ok(Self { key })
    }

    pub fn workspace(&self) -> WorkspaceId {
        self.key.workspace
    }

    /// The workspace and its organization.
    pub fn tenant(&self) -> Tenant {
        Tenant { organization: self.key.organization, workspace: self.key.workspace }
    }

    /// The id of the key.
    pub fn id(&self) -> KeyId {
        self.key.id
    }

    /// Whether every copy of an app has it.
    pub fn is_public(&self) -> bool {
        self.key.kind == KeyKind::Sdk
    }

    /// Whether it may change profiles. A public key may, within what a public key may do.
    pub fn may_change_profiles(&self) -> bool {
        self.is_public() || self.key.scopes.has(ScopeName::UsersWrite)
    }
}

/// The kind of key that a text can be.
fn kind(text: &SecretString) -> KeyKind {
    let is_public = text.expose_secret().starts_with(KeyKind::Sdk.prefix());
    if is_public { KeyKind::Sdk } else { KeyKind::Api }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn user(header: &str) -> Result<Option<String>> {
        let headers =
            HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_str(header).unwrap())]);
        let key = WriteKey::of_basic(&headers)?;
        Ok(key.map(|key| key.expose_secret().to_owned()))
    }

    #[test]
    fn the_key_is_the_user_name_and_the_password_is_ignored() {
        let basic = |pair: &str| format!("Basic {}", BASE64_STANDARD.encode(pair));
        for (pair, expected) in [
            ("mr_x:", Some("mr_x")),
            ("mr_x", Some("mr_x")),
            ("mr_x:y:z", Some("mr_x")),
            (":", None),
            ("", None),
        ] {
            assert_eq!(user(&basic(pair)).unwrap().as_deref(), expected, "{pair}");
        }
        assert_eq!(user("BASIC bXJfeDo=").unwrap().as_deref(), Some("mr_x"));
        assert_eq!(user("Bearer mr_x").unwrap(), None);
        for unreadable in ["Basic *", "Basic /w==", &basic(&"x".repeat(1_000))] {
            assert_eq!(
                user(unreadable).unwrap_err().to_string(),
                "Invalid API key",
                "{unreadable}"
            );
        }
    }
}
