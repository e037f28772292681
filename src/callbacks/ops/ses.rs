//! Amazon SNS: who signed, and that we want to be told.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use kernel::{Error, Result, Timestamp};
use url::Url;

use crate::{
    model::{Certificate, Envelope, Unproven, Unsigned},
    sources::Ses,
};

/// Time for an answer of Amazon's.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Amazon did not answer us, so it has to come back.
const NO_AMAZON: Error = Error::Unavailable {
    what: "Amazon SNS could not be reached",
    retry_after: Some(Duration::from_secs(30)),
};

/// Judges an envelope.
///
/// # Errors
/// Unauthenticated where it is not signed, not by Amazon, not of a topic of ours, or long ago; unavailable
/// where Amazon's certificate cannot be fetched.
pub async fn prove(ses: &Ses, envelope: Unsigned, now: Timestamp) -> Result<Envelope> {
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

/// Tells Amazon that we want to be told.
///
/// # Errors
/// Unavailable when it cannot be reached: it asks again.
pub async fn confirm(ses: &Ses, url: &Url) -> Result<()> {
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
