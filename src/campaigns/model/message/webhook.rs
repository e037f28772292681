//! A request to somebody's server.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::{super::words, auth::Auth, header};
use crate::http::Fields;

/// Characters of `url`.
const URL_CHARS_MAX: usize = 2_048;
/// Bytes of `body`, written compactly.
const BODY_BYTES_MAX: usize = 64 << 10;

/// What to do with the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
#[expect(missing_docs, reason = "the methods of HTTP")]
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

/// What the body is, which decides its `Content-Type` and how values are escaped in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum BodyType {
    /// `application/json`
    #[default]
    Json,
    /// `application/x-www-form-urlencoded`
    Form,
    /// `text/plain`
    Text,
}

const BODY_TYPES: &[(&str, BodyType)] =
    &[("json", BodyType::Json), ("form", BodyType::Form), ("text", BodyType::Text)];

/// A request to somebody's server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebhookMessage {
    /// Where it goes: an http or https address; Liquid after its scheme.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2048, pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*$")]
    pub url: Option<String>,
    /// POST unless said otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<Method>,
    /// Headers by name; every value is Liquid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers: Option<BTreeMap<String, String>>,
    /// The body: a text, or JSON whose strings are Liquid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    /// The credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth: Option<Auth>,
    /// What the body is; JSON unless said otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_type: Option<BodyType>,
}

impl WebhookMessage {
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
    let judged = match &sent {
        Value::String(_) | Value::Object(_) | Value::Array(_) => {
            words::is_templated_json(&sent, BODY_BYTES_MAX)
        }
        _ => Err("must be a string, an object or an array".to_owned()),
    };
    match judged {
        Ok(()) => Some(sent),
        Err(problem) => {
            body.refuse("body", problem);
            None
        }
    }
}
