//! A request to a server of the workspace.

use std::{collections::BTreeMap, fmt};

use content::template;
use kernel::fields::Fields;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;
use utoipa::ToSchema;

use super::{super::words, auth::Auth, header};

const URL_CHARS_MAX: usize = 2_048;
/// Bytes of `body` in compact form.
const BODY_BYTES_MAX: usize = 64 << 10;

/// Method of a webhook's request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    Get,
    #[default]
    Post,
    Put,
    Patch,
    Delete,
}

const METHODS: &[(&str, Method)] = &[
    ("GET", Method::Get),
    ("POST", Method::Post),
    ("PUT", Method::Put),
    ("PATCH", Method::Patch),
    ("DELETE", Method::Delete),
];

/// The type of the body, which decides its `Content-Type` and how values are escaped in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum BodyType {
    #[default]
    Json,
    Form,
    Text,
}

const BODY_TYPES: &[(&str, BodyType)] =
    &[("json", BodyType::Json), ("form", BodyType::Form), ("text", BodyType::Text)];

/// A request to a server of the workspace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebhookMessage {
    /// The http or https address; Liquid after its scheme. Credentials belong into `auth`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2048, pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*$")]
    pub url: Option<String>,
    /// Method of the request, `POST` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<Method>,
    /// Headers by name; every value is Liquid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers: Option<BTreeMap<String, String>>,
    /// The body: a text, or JSON whose strings are Liquid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth: Option<Auth>,
    /// The type of the body; JSON by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_type: Option<BodyType>,
}

/// The server of a webhook's URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// There is no URL yet.
    Missing,
    /// Scheme, host and port, as in an origin.
    Fixed(String),
    /// Liquid decides it for each recipient.
    Templated,
}

/// The position of a secret in a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretPlace {
    /// In this field of `auth`.
    Auth(&'static str),
    /// The value of the header with this name.
    Header(String),
}

impl fmt::Display for SecretPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auth(field) => write!(f, "auth.{field}"),
            Self::Header(name) => write!(f, "headers.{name}"),
        }
    }
}

impl Origin {
    /// The origin of a URL that may contain Liquid. Only the text before its path can contain the server.
    fn of(url: &str) -> Self {
        let url = url.trim();
        if url.is_empty() {
            return Self::Missing;
        }
        let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
        // URL parsers of browsers accept a backslash as a slash, too.
        let host = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
        let server = format!("{scheme}://{host}");
        match Url::parse(&server) {
            Ok(parsed) if !template::has_markup(&server) => {
                Self::Fixed(parsed.origin().ascii_serialization())
            }
            _ => Self::Templated,
        }
    }

    /// Whether a URL without Liquid has this origin.
    pub fn is_of(&self, url: &Url) -> bool {
        matches!(self, Self::Fixed(origin) if *origin == url.origin().ascii_serialization())
    }
}

impl WebhookMessage {
    pub(super) const FIELDS: &'static [&'static str] =
        &["url", "method", "headers", "body", "auth", "bodyType"];

    pub fn origin(&self) -> Origin {
        Origin::of(self.url.as_deref().unwrap_or_default())
    }

    pub fn carries_secrets(&self) -> bool {
        self.auth.as_ref().and_then(Auth::secret).is_some()
            || self.headers.iter().flatten().any(|(name, _)| header::carries_credentials(name))
    }

    /// Its secrets, in plain text or sealed.
    pub fn secrets_mut(&mut self) -> Vec<(SecretPlace, &mut String)> {
        let auth = self.auth.as_mut().and_then(Auth::secret_mut);
        let auth = auth.map(|(field, secret)| (SecretPlace::Auth(field), secret.text_mut()));
        let headers = self.headers.iter_mut().flatten();
        let headers = headers
            .filter(|(name, _)| header::carries_credentials(name))
            .map(|(name, value)| (SecretPlace::Header(name.clone()), value));
        auth.into_iter().chain(headers).collect()
    }

    /// The secret in one position; header names are case-insensitive.
    pub fn secret(&self, place: &SecretPlace) -> Option<&str> {
        match place {
            SecretPlace::Auth(field) => {
                let (found, secret) = self.auth.as_ref()?.secret()?;
                (found == *field).then(|| secret.as_str())
            }
            SecretPlace::Header(name) => {
                let mut headers = self.headers.iter().flatten();
                let found = headers.find(|(found, _)| found.eq_ignore_ascii_case(name))?;
                Some(found.1)
            }
        }
    }

    pub(super) fn read(body: &mut Fields<'_>) -> Self {
        let read = Self {
            url: words::web_address(body.optional("url"), URL_CHARS_MAX),
            method: body.optional("method").one_of(METHODS),
            headers: header::read(body),
            body: content(body),
            auth: body.optional("auth").object(),
            body_type: body.optional("bodyType").one_of(BODY_TYPES),
        };
        let named = |name: &String| name.eq_ignore_ascii_case("authorization");
        let credentials = read.auth.as_ref().is_some_and(|auth| *auth != Auth::None);
        if credentials && read.headers.iter().flat_map(BTreeMap::keys).any(named) {
            body.refuse("auth", "must not be given beside the header Authorization");
        }
        read
    }
}

fn content(body: &mut Fields<'_>) -> Option<Value> {
    let sent = body.optional("body").json()?;
    let checked = match &sent {
        Value::String(_) | Value::Object(_) | Value::Array(_) => {
            words::is_templated_json(&sent, BODY_BYTES_MAX)
        }
        _ => Err("must be a string, an object or an array".to_owned()),
    };
    match checked {
        Ok(()) => Some(sent),
        Err(problem) => {
            body.refuse("body", problem);
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_origin_is_what_stands_before_the_path() {
        for (url, origin) in [
            ("https://a.test", "https://a.test"),
            ("https://A.test:443/x/{{ user.id }}?q={{ q }}", "https://a.test"),
            ("http://a.test:8080?{{ q }}", "http://a.test:8080"),
            ("https://user:pw@a.test#{{ f }}", "https://a.test"),
            ("https://a.test\\{{ x }}", "https://a.test"),
            ("https://a.test\\@b.test/", "https://a.test"),
            ("https://a.test@b.test/", "https://b.test"),
            ("https://bücher.test/", "https://xn--bcher-kva.test"),
        ] {
            assert_eq!(Origin::of(url), Origin::Fixed(origin.to_owned()), "{url}");
        }
        for url in [
            "https://{{ host }}/",
            "https://a.test{{ x }}",
            "https://a.test{{ x }}/y",
            "https://a.test:{{ port }}/",
            "https://{{ user }}@a.test/",
            "https://{% if x %}a.test/{% endif %}",
            "https://{{ \"a.test/\" }}",
        ] {
            assert_eq!(Origin::of(url), Origin::Templated, "{url}");
        }
        assert_eq!(Origin::of(" "), Origin::Missing);
    }
}
