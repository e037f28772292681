//! Callbacks of Amazon SES by SNS: checks the envelope, fetching Amazon's certificate where it is not known.

use std::{collections::HashMap, path::PathBuf, sync::Arc, time::Duration};

use anyhow::Context as _;
use bytes::Bytes;
use config::Settings;
use http::Request;
use kernel::{Error, Result, Timestamp};
use parking_lot::Mutex;
use serde::Deserialize;
use url::Url;

use super::{
    callback::reports,
    sns::{Certificate, Envelope, Kind, Unsigned},
};
use crate::{
    callback::{Call, CallbackSource, FromSettings, Head, Received, Receiving, Unproven},
    client::{Client, ClientOptions, roots},
};

/// Amazon's certificates that are kept; they change about once a year.
const CERTIFICATES_MAX: usize = 16;
/// Time for an answer of Amazon's.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Amazon did not answer us, so it has to come back.
const NO_AMAZON: Error = Error::Unavailable {
    what: "Amazon SNS could not be reached",
    retry_after: Some(Duration::from_secs(30)),
};

/// Amazon SES, by SNS.
#[derive(Debug)]
pub(super) struct Ses {
    /// The topics of this deployment.
    topics: Vec<String>,
    /// Fetches certificates, and confirms subscriptions.
    client: Client,
    given: Option<Certificate>,
    fetched: Mutex<HashMap<String, Certificate>>,
}

/// The table `[callbacks.ses]` of the settings; Amazon posts by SNS.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Credentials {
    /// The topics of this deployment: Amazon signs those of all its customers.
    topic_arns: Vec<String>,
    /// Amazon's signing certificate as PEM, if it cannot be downloaded.
    certificate: Option<PathBuf>,
}

impl FromSettings for Ses {
    type Credentials = Credentials;

    const KEY: &'static str = "ses";

    fn from_settings(credentials: Credentials, settings: &Settings) -> anyhow::Result<Self> {
        let given = credentials.certificate.as_ref().map(|path| {
            let shown = path.display();
            let pem = std::fs::read(path)
                .with_context(|| format!("callbacks.ses.certificate: cannot read {shown}"))?;
            Certificate::read(&pem)
                .map_err(|why| anyhow::anyhow!("callbacks.ses.certificate: {shown} {why}"))
        });
        let extra = settings.security.ca_file.as_ref().map(std::fs::read).transpose();
        let extra = extra.context("security.ca_file cannot be read")?;
        let roots = Arc::new(roots(extra.as_deref())?);
        Ok(Self {
            topics: credentials.topic_arns,
            client: Client::new(&ClientOptions { roots, http2_only: false }),
            given: given.transpose()?,
            fetched: Mutex::default(),
        })
    }
}

impl CallbackSource for Ses {
    /// The signature is in the body; of the head only the topic can be checked, where Amazon names it.
    fn check_head(&self, head: &Head<'_>) -> Result<(), Unproven> {
        let topic = head.header("x-amz-sns-topic-arn");
        let is_foreign = !topic.is_empty() && !self.topics.iter().any(|own| own == topic);
        if is_foreign { Err(Unproven::Wrong) } else { Ok(()) }
    }

    fn receive<'a>(&'a self, call: Call<'a>) -> Receiving<'a> {
        Box::pin(async move {
            let envelope = Unsigned::read(call.bytes)
                .map_err(|error| Error::bad_request(format!("body is no SNS message: {error}")))?;
            let envelope = prove(self, envelope, call.head.now).await?;
            match envelope.kind() {
                Kind::SubscriptionConfirmation(url) => confirm(self, &url).await?,
                Kind::Notification => {
                    // A topic may carry other messages, which hold no reports.
                    let body = serde_json::from_str(envelope.message()).unwrap_or_default();
                    return Ok(reports(&body).into());
                }
                Kind::Other => {}
            }
            Ok(Received::default())
        })
    }
}

impl Ses {
    /// The certificate at an address, where it is known.
    fn certificate(&self, url: &str) -> Option<Certificate> {
        self.given.clone().or_else(|| self.fetched.lock().get(url).cloned())
    }

    fn keep(&self, url: &str, certificate: &Certificate) {
        let mut fetched = self.fetched.lock();
        if fetched.len() >= CERTIFICATES_MAX {
            fetched.clear();
        }
        fetched.insert(url.to_owned(), certificate.clone());
    }
}

/// Checks an envelope.
///
/// # Errors
/// Unauthenticated where it is not signed, not by Amazon, not of a topic of ours, or long ago; unavailable
/// where Amazon's certificate cannot be fetched.
async fn prove(ses: &Ses, envelope: Unsigned, now: Timestamp) -> Result<Envelope> {
    let url = envelope.certificate_url().ok_or(Unproven::Wrong)?;
    let certificate = match ses.certificate(url.as_str()) {
        Some(known) => known,
        None => fetch(ses, &url).await?,
    };
    Ok(envelope.proven(&certificate, &ses.topics, now)?)
}

async fn fetch(ses: &Ses, url: &Url) -> Result<Certificate> {
    let body = get(ses, url).await?;
    let certificate = Certificate::read(&body).map_err(|_| Unproven::Wrong)?;
    ses.keep(url.as_str(), &certificate);
    Ok(certificate)
}

/// Confirms a subscription.
///
/// # Errors
/// Unavailable when it cannot be reached: it asks again.
async fn confirm(ses: &Ses, url: &Url) -> Result<()> {
    get(ses, url).await?;
    tracing::info!("confirmed a subscription of an SNS topic");
    Ok(())
}

async fn get(ses: &Ses, url: &Url) -> Result<Bytes> {
    let request = Request::get(url.as_str()).body(Bytes::new()).map_err(Error::internal)?;
    match ses.client.call(request, TIMEOUT).await {
        Ok(answer) if answer.status.is_success() => Ok(answer.body),
        Ok(answer) => {
            tracing::warn!(status = answer.status.as_u16(), "amazon sns refused a call");
            Err(NO_AMAZON)
        }
        Err(fault) => {
            tracing::warn!(code = fault.code, "amazon sns cannot be reached");
            Err(NO_AMAZON)
        }
    }
}
