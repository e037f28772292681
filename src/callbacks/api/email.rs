//! `/callbacks/email/*`: what mail providers and mail servers say.

use axum::{
    extract::{FromRequest as _, Request, State},
    http::HeaderMap,
};
use kernel::Error;
use web::http::{ApiError, ApiResult, JsonBytes, RawBytes};

use super::{CALL_BYTES_MAX, MAIL_BYTES_MAX, body, generic::Proof, header, json, set_up};
use crate::{
    CallbackState,
    model::{Dialect, Kind, SigningKey, Unproven, Unsigned, returned, standard, standard_head},
    ops,
};

/// The channel all of this is about.
const EMAIL: &str = "email";

/// What SES says by SNS. Amazon posts its JSON as plain text.
pub(super) async fn ses(
    State(app): State<CallbackState>,
    headers: HeaderMap,
    request: Request,
) -> ApiResult<()> {
    let ses = set_up(app.sources().ses.as_ref())?;
    // The proof is in the body; of the head only the topic can be judged, where Amazon names it.
    let topic = header(&headers, "x-amz-sns-topic-arn");
    if !topic.is_empty() && !ses.topics.iter().any(|ours| ours == topic) {
        return Err(Unproven::Wrong.into());
    }
    let RawBytes { bytes, held: _held } = body::<CALL_BYTES_MAX>(&app, request).await?;
    let envelope = Unsigned::read(&bytes)
        .map_err(|error| Error::bad_request(format!("body is no SNS message: {error}")))?;
    let envelope = ops::ses::prove(ses, envelope, app.clock().now()).await?;
    match envelope.kind() {
        Kind::SubscriptionConfirmation(url) => ops::ses::confirm(ses, &url).await.map_err(ApiError),
        Kind::Notification => {
            // What else a topic may carry is nothing to us.
            let body = serde_json::from_str(envelope.message()).unwrap_or_default();
            let reports = Dialect::Ses.reports(&body, "");
            ops::take(&app, "ses", EMAIL, reports).await.map(drop).map_err(ApiError)
        }
        Kind::Other => Ok(()),
    }
}

pub(super) async fn sendgrid(
    State(app): State<CallbackState>,
    headers: HeaderMap,
    request: Request,
) -> ApiResult<()> {
    let key = set_up(app.sources().sendgrid.as_ref())?;
    let proof = (
        header(&headers, "x-twilio-email-event-webhook-timestamp"),
        header(&headers, "x-twilio-email-event-webhook-signature"),
    );
    SigningKey::head(app.clock().now(), proof)?;
    let RawBytes { bytes, held: _held } = body::<CALL_BYTES_MAX>(&app, request).await?;
    key.proves(app.clock().now(), proof, &bytes)?;
    let reports = Dialect::Sendgrid.reports(&json(&bytes)?, "");
    ops::take(&app, "sendgrid", EMAIL, reports).await.map(drop).map_err(ApiError)
}

pub(super) async fn postmark(
    State(app): State<CallbackState>,
    headers: HeaderMap,
    request: Request,
) -> ApiResult<()> {
    let credentials = set_up(app.sources().postmark.as_ref())?;
    credentials.proves(header(&headers, "authorization"))?;
    let RawBytes { bytes, held: _held } = body::<CALL_BYTES_MAX>(&app, request).await?;
    let reports = Dialect::Postmark.reports(&json(&bytes)?, "");
    ops::take(&app, "postmark", EMAIL, reports).await.map(drop).map_err(ApiError)
}

pub(super) async fn mailgun(State(app): State<CallbackState>, request: Request) -> ApiResult<()> {
    let key = set_up(app.sources().mailgun.as_ref())?;
    // The proof is in the body, which is JSON.
    let JsonBytes { bytes, held: _held } =
        JsonBytes::<CALL_BYTES_MAX>::from_request(request, &app).await?;
    let said = json(&bytes)?;
    key.proves(app.clock().now(), &said)?;
    ops::take(&app, "mailgun", EMAIL, Dialect::Mailgun.reports(&said, ""))
        .await
        .map(drop)
        .map_err(ApiError)
}

pub(super) async fn resend(
    State(app): State<CallbackState>,
    headers: HeaderMap,
    request: Request,
) -> ApiResult<()> {
    let secret = set_up(app.sources().resend.as_ref())?;
    let id = header(&headers, "svix-id");
    let proof = (id, header(&headers, "svix-timestamp"), header(&headers, "svix-signature"));
    standard_head(app.clock().now(), proof)?;
    let RawBytes { bytes, held: _held } = body::<CALL_BYTES_MAX>(&app, request).await?;
    standard(secret, app.clock().now(), proof, &bytes)?;
    let reports = Dialect::Resend.reports(&json(&bytes)?, id);
    ops::take(&app, "resend", EMAIL, reports).await.map(drop).map_err(ApiError)
}

/// Mail that came back, as a mail server hands it over.
pub(super) async fn raw(
    State(app): State<CallbackState>,
    headers: HeaderMap,
    request: Request,
) -> ApiResult<()> {
    let proof = Proof::of_head(&app, &headers)?;
    let RawBytes { bytes, held: _held } = body::<MAIL_BYTES_MAX>(&app, request).await?;
    proof.proves(&bytes)?;
    let mail = tokio::task::spawn_blocking(move || returned(&bytes, &[]));
    let mail = mail
        .await
        .map_err(Error::internal)?
        .map_err(|problem| Error::bad_request(format!("body is {problem}")))?;
    ops::take(&app, "mail", EMAIL, mail.reports).await.map(drop).map_err(ApiError)
}
