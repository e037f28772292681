//! Callbacks: how each provider authenticates its calls, and what it reports.
//!
//! The routes, limits of bodies and storage are the `callbacks` crate's; a provider's folder holds the rest.

pub mod json;
mod signature;
mod status;
#[cfg(test)]
pub(crate) mod test_kit;

use std::{fmt::Debug, future::Future, pin::Pin};

use config::{Callbacks, Settings};
use http::HeaderMap;
use kernel::{Channel, Error, Result, Timestamp};
use serde::de::DeserializeOwned;

use crate::model::{Callback, Inbound, Report};

pub(crate) use self::signature::{AGE_MAX, fresh, near};
pub use self::{
    signature::{Basic, BasicCredentials, Secret, StandardHead, Unproven},
    status::Status,
};

/// The callbacks of a provider, as the registry lists them.
#[derive(Debug)]
pub struct CallbackEntry {
    /// The path they are posted to.
    pub path: &'static str,
    /// The channel of the messages they are about.
    pub channel: Channel,
    pub body: BodyKind,
    /// Whether the provider verifies the URL by a GET.
    pub is_verified_by_get: bool,
    /// The body of the answer, where the provider needs one.
    pub answer: Option<FixedAnswer>,
    /// The key of the credentials in `[callbacks]`.
    pub key: &'static str,
    /// Checks the shape of the credentials.
    pub check: fn(&Callbacks) -> Result<(), config::Error>,
    /// The source that the settings describe; none if they have no credentials for it.
    pub from_settings: fn(&Settings) -> SourceResult,
}

/// The source of callbacks that the settings describe; none if they have no credentials for it.
pub type SourceResult = anyhow::Result<Option<Box<dyn CallbackSource>>>;

impl CallbackEntry {
    /// Callbacks that are posted to a path, as JSON or any bytes.
    pub(crate) const fn post<S: FromSettings>(path: &'static str, channel: Channel) -> Self {
        Self {
            path,
            channel,
            body: BodyKind::Bytes,
            is_verified_by_get: false,
            answer: None,
            key: S::KEY,
            check: |callbacks| callbacks.credentials::<S::Credentials>(S::KEY).map(drop),
            from_settings: |settings| {
                let credentials = settings.callbacks.credentials::<S::Credentials>(S::KEY)?;
                let source = credentials.map(|it| S::from_settings(it, settings)).transpose()?;
                Ok(source.map(|it| Box::new(it) as _))
            },
        }
    }
}

/// A source of callbacks that is made from its credentials.
pub(crate) trait FromSettings: CallbackSource + Sized + 'static {
    /// The credentials in the settings.
    type Credentials: DeserializeOwned;

    /// The key of the credentials in `[callbacks]`.
    const KEY: &'static str;

    /// The source.
    ///
    /// # Errors
    /// When a setting cannot be used, with its key and the reason in one line.
    fn from_settings(credentials: Self::Credentials, settings: &Settings) -> anyhow::Result<Self>;
}

/// How a callback's body is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyKind {
    /// Its content type is not checked.
    Bytes,
    /// Its content type must be JSON.
    Json,
    /// Its content type must be that of a form.
    Form,
}

/// An answer that is always the same.
#[derive(Debug, Clone, Copy)]
pub struct FixedAnswer {
    pub content_type: &'static str,
    pub body: &'static str,
}

/// A provider that reports by callbacks, with its credentials.
pub trait CallbackSource: Debug + Send + Sync {
    /// Checks what can be checked before the body is read: that the credentials or the signature are there and have
    /// the right shape.
    ///
    /// # Errors
    /// Why the call cannot be authentic.
    fn check_head(&self, head: &Head<'_>) -> Result<(), Unproven>;

    /// Checks the signature, and reads the reports.
    ///
    /// # Errors
    /// If the call is not authentic, has not the provider's form, or needs an answer of the provider that does not
    /// come.
    fn receive<'a>(&'a self, call: Call<'a>) -> Receiving<'a>;

    /// The answer to the GET by which the provider verifies the URL.
    ///
    /// # Errors
    /// When the request is not authentic.
    fn challenge(&self, query: &Parameters) -> Result<String, Unproven> {
        let _ = query;
        Err(Unproven::Missing)
    }
}

/// The decoded parameters of a query string or a form, in their order.
pub type Parameters = [(String, String)];

/// The value of a parameter.
pub(crate) fn parameter<'p>(parameters: &'p Parameters, name: &str) -> Option<&'p str> {
    parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

pub type Receiving<'a> = Pin<Box<dyn Future<Output = Result<Received>> + Send + 'a>>;

/// A callback before its body is read.
#[derive(Debug, Clone, Copy)]
pub struct Head<'c> {
    pub headers: &'c HeaderMap,
    pub now: Timestamp,
}

impl<'c> Head<'c> {
    /// A header as text; empty if it is absent.
    pub fn header(&self, name: &str) -> &'c str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

/// A callback with its body.
#[derive(Debug, Clone, Copy)]
pub struct Call<'c> {
    pub head: Head<'c>,
    /// The URL that was called, as the provider knows it.
    pub url: &'c str,
    pub query: &'c Parameters,
    /// The body; empty if it is a form.
    pub bytes: &'c [u8],
    /// The fields of a form, in their order.
    pub form: &'c Parameters,
}

impl Call<'_> {
    /// The body as JSON.
    ///
    /// # Errors
    /// When it is not JSON.
    pub fn json(&self) -> Result<serde_json::Value> {
        json::read(self.bytes)
    }
}

/// The contents of a callback.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Received {
    pub reports: Vec<Report>,
    /// Messages that recipients wrote.
    pub texts: Vec<ReceivedText>,
}

impl Received {
    /// The reports in callbacks, and messages that recipients wrote.
    pub fn new(source: &'static str, callbacks: Vec<Callback>, inbound: Vec<Inbound>) -> Self {
        let report = |callback| Report::of_callback(source, callback);
        Self {
            reports: callbacks.into_iter().flat_map(report).collect(),
            texts: inbound.into_iter().map(ReceivedText::from).collect(),
        }
    }
}

impl From<Vec<Report>> for Received {
    fn from(reports: Vec<Report>) -> Self {
        Self { reports, texts: Vec::new() }
    }
}

/// A message that a recipient wrote.
#[derive(Debug, PartialEq, Eq)]
pub struct ReceivedText {
    pub inbound: Inbound,
    /// The keyword that the provider found in it, in any language.
    pub keyword: Option<String>,
}

impl ReceivedText {
    /// The text that may be a keyword.
    pub fn keyword_text(&self) -> &str {
        self.keyword.as_deref().unwrap_or(&self.inbound.text)
    }
}

impl From<Inbound> for ReceivedText {
    fn from(inbound: Inbound) -> Self {
        Self { inbound, keyword: None }
    }
}

/// The error of a body that is not of the provider's form.
pub(crate) fn not_a_callback() -> Error {
    Error::bad_request("body is no callback")
}

/// Checks before the body is read that a signature is present and has the right shape.
pub(crate) fn check_shape(
    signature: &str,
    has_shape: impl Fn(&str) -> bool,
) -> Result<(), Unproven> {
    if signature.is_empty() {
        return Err(Unproven::Missing);
    }
    if has_shape(signature) { Ok(()) } else { Err(Unproven::Wrong) }
}

/// A source's setting that is checked when it is read; an error names its key.
pub(crate) fn setting<T>(
    key: &str,
    read: std::result::Result<T, &'static str>,
) -> anyhow::Result<T> {
    read.map_err(|problem| anyhow::anyhow!("callbacks.{key} {problem}"))
}
