//! `/callbacks/email/*`: what mail providers and mail servers say.

use axum::{extract::State, http::HeaderMap};

use super::{CALL_BYTES_MAX, MAIL_BYTES_MAX, header, json};
use crate::{
    app::App,
    callbacks::{
        model::{Dialect, Kind, Unproven, Unsigned, returned, standard},
        ops,
    },
    http::RawBytes,
    kernel::{Error, Result},
};

/// The channel all of this is about.
const EMAIL: &str = "email";

/// What SES says by SNS. Amazon posts its JSON as plain text.
pub(super) async fn ses(
    State(app): State<App>,
    RawBytes { bytes, held: _held }: RawBytes<CALL_BYTES_MAX>,
) -> Result<()> {
    let ses = app.tellers().ses.as_ref().ok_or(Unproven::Missing)?;
    let envelope = Unsigned::read(&bytes)
        .map_err(|error| Error::bad_request(format!("body is no SNS message: {error}")))?;
    let envelope = ops::ses::prove(ses, envelope, app.clock().now()).await?;
    match envelope.kind() {
        Kind::SubscriptionConfirmation(url) => ops::ses::confirm(ses, &url).await,
        Kind::Notification => {
            // What else a topic may carry is nothing to us.
            let body = serde_json::from_str(envelope.message()).unwrap_or_default();
            let reports = Dialect::Ses.reports(&body, "");
            ops::take(&app, "ses", EMAIL, reports).await.map(drop)
        }
        Kind::Other => Ok(()),
    }
}

pub(super) async fn sendgrid(
    State(app): State<App>,
    headers: HeaderMap,
    RawBytes { bytes, held: _held }: RawBytes<CALL_BYTES_MAX>,
) -> Result<()> {
    let key = app.tellers().sendgrid.as_ref().ok_or(Unproven::Missing)?;
    let proof = (
        header(&headers, "x-twilio-email-event-webhook-timestamp"),
        header(&headers, "x-twilio-email-event-webhook-signature"),
    );
    key.proves(app.clock().now(), proof, &bytes)?;
    let reports = Dialect::Sendgrid.reports(&json(&bytes)?, "");
    ops::take(&app, "sendgrid", EMAIL, reports).await.map(drop)
}

pub(super) async fn postmark(
    State(app): State<App>,
    headers: HeaderMap,
    RawBytes { bytes, held: _held }: RawBytes<CALL_BYTES_MAX>,
) -> Result<()> {
    let credentials = app.tellers().postmark.as_ref().ok_or(Unproven::Missing)?;
    credentials.proves(header(&headers, "authorization"))?;
    let reports = Dialect::Postmark.reports(&json(&bytes)?, "");
    ops::take(&app, "postmark", EMAIL, reports).await.map(drop)
}

pub(super) async fn mailgun(
    State(app): State<App>,
    RawBytes { bytes, held: _held }: RawBytes<CALL_BYTES_MAX>,
) -> Result<()> {
    let key = app.tellers().mailgun.as_ref().ok_or(Unproven::Missing)?;
    let body = json(&bytes)?;
    key.proves(app.clock().now(), &body)?;
    ops::take(&app, "mailgun", EMAIL, Dialect::Mailgun.reports(&body, "")).await.map(drop)
}

pub(super) async fn resend(
    State(app): State<App>,
    headers: HeaderMap,
    RawBytes { bytes, held: _held }: RawBytes<CALL_BYTES_MAX>,
) -> Result<()> {
    let secret = app.tellers().resend.as_ref().ok_or(Unproven::Missing)?;
    let id = header(&headers, "svix-id");
    let proof = (id, header(&headers, "svix-timestamp"), header(&headers, "svix-signature"));
    standard(secret, app.clock().now(), proof, &bytes)?;
    let reports = Dialect::Resend.reports(&json(&bytes)?, id);
    ops::take(&app, "resend", EMAIL, reports).await.map(drop)
}

/// Mail that came back, as a mail server hands it over.
pub(super) async fn raw(
    State(app): State<App>,
    headers: HeaderMap,
    RawBytes { bytes, held: _held }: RawBytes<MAIL_BYTES_MAX>,
) -> Result<()> {
    super::generic::proven(&app, &headers, &bytes)?;
    let mail = tokio::task::spawn_blocking(move || returned(&bytes, &[]));
    let mail = mail
        .await
        .map_err(Error::internal)?
        .map_err(|problem| Error::bad_request(format!("body is {problem}")))?;
    ops::take(&app, "mail", EMAIL, mail.reports).await.map(drop)
}
