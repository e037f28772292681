//! A call of a customer's endpoint.

use std::collections::BTreeMap;

use campaigns::model::{
    message::{Auth, BodyType, Method, Origin, WebhookMessage},
    settings::channel_config::ChannelConfig,
};
use content::template::{Form, Object};
use providers::model::WebhookContent;
use serde_json::Value;

use super::{
    RenderFault,
    text::{Tree, Words},
    utm::encoded,
};

/// Bytes of an address.
const URL_BYTES_MAX: usize = 8 << 10;
/// Bytes of a header's value.
const HEADER_BYTES_MAX: usize = 8 << 10;
/// Bytes of a body.
const BODY_BYTES_MAX: usize = 256 << 10;

/// A webhook, ready to be rendered.
#[derive(Debug)]
pub(super) struct Webhook {
    url: Words,
    method: Method,
    headers: Vec<(String, Words)>,
    body: Option<Body>,
    body_type: BodyType,
    auth: Auth,
    /// The only origin its credentials may be sent to.
    bound_to: Option<Origin>,
    timeout_ms: u32,
}

#[derive(Debug)]
enum Body {
    /// A text whose outputs are escaped by what it is.
    Text(Words),
    /// A value whose strings are texts.
    Json(Tree),
}

impl Webhook {
    pub(super) fn read(
        webhook: &WebhookMessage,
        config: &ChannelConfig,
    ) -> Result<Self, RenderFault> {
        let url = webhook.url.as_deref().unwrap_or_default();
        let bound_to = webhook.carries_secrets().then(|| webhook.origin());
        if bound_to == Some(Origin::Templated) {
            let problem = "has Liquid before its path, and the message carries credentials";
            return Err(RenderFault::of("url", problem));
        }
        let body_type = webhook.body_type.unwrap_or_default();
        let headers = webhook.headers.iter().flatten().map(|(name, text)| {
            let words = Words::read("headers", text, Form::Header, HEADER_BYTES_MAX)?;
            Ok((name.clone(), words))
        });
        let body = match &webhook.body {
            None => None,
            Some(Value::String(text)) => {
                let form = match body_type {
                    BodyType::Json => Form::Json,
                    BodyType::Form => Form::Query,
                    BodyType::Text => Form::Text,
                };
                Some(Body::Text(Words::read("body", text, form, BODY_BYTES_MAX)?))
            }
            Some(value) => Some(Body::Json(Tree::read("body", value, BODY_BYTES_MAX)?)),
        };
        Ok(Self {
            url: Words::read("url", url, Form::Url, URL_BYTES_MAX)?,
            method: webhook.method.unwrap_or_default(),
            headers: headers.collect::<Result<_, RenderFault>>()?,
            body,
            body_type,
            auth: webhook.auth.clone().unwrap_or_default(),
            bound_to,
            timeout_ms: config.timeout_ms(),
        })
    }

    pub(super) fn render(&self, globals: &Object) -> Result<WebhookContent, RenderFault> {
        let url = self.url.render(globals)?.trim().to_owned();
        let parsed = url::Url::parse(&url).ok();
        let sound = parsed.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        let Some(parsed) = sound else {
            return Err(RenderFault::of("url", "is no http:// or https:// URL"));
        };
        if self.bound_to.as_ref().is_some_and(|origin| !origin.is_of(&parsed)) {
            return Err(RenderFault::of(
                "url",
                "leads to another server than its credentials are for",
            ));
        }
        let mut headers = BTreeMap::new();
        for (name, words) in &self.headers {
            headers.insert(name.clone(), words.render(globals)?.into_owned());
        }
        let body = match (&self.body, self.method) {
            (None, _) | (_, Method::Get) => None,
            (Some(body), _) => Some(self.body(body, globals)?),
        };
        Ok(WebhookContent {
            url,
            method: self.method,
            headers,
            body,
            body_type: self.body_type,
            auth: self.auth.clone(),
            timeout_ms: self.timeout_ms,
        })
    }

    fn body(&self, body: &Body, globals: &Object) -> Result<String, RenderFault> {
        let text = match body {
            Body::Text(words) => {
                let text = words.render(globals)?.into_owned();
                let is_json = || serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
                if self.body_type == BodyType::Json && !is_json() {
                    return Err(RenderFault::of("body", "is no JSON once it is rendered"));
                }
                text
            }
            Body::Json(tree) => {
                let value = tree.render(globals)?;
                if self.body_type == BodyType::Form { form(&value) } else { value.to_string() }
            }
        };
        if text.len() > BODY_BYTES_MAX {
            let problem = format!("is larger than {BODY_BYTES_MAX} bytes");
            return Err(RenderFault::of("body", problem));
        }
        Ok(text)
    }
}

/// An object as a form: a pair a field, one for each item of a list, deeper values as JSON.
fn form(value: &Value) -> String {
    let mut pairs: Vec<String> = Vec::new();
    let mut pair = |key: &str, value: &Value| {
        let text = match value {
            Value::Null => return,
            Value::String(text) => encoded(text),
            other => encoded(&other.to_string()),
        };
        pairs.push(format!("{}={text}", encoded(key)));
    };
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                match value {
                    Value::Array(items) => items.iter().for_each(|item| pair(key, item)),
                    other => pair(key, other),
                }
            }
        }
        other => return encoded(&other.to_string()),
    }
    pairs.join("&")
}
