//! `/callbacks/sms/twilio`, `/callbacks/whatsapp`, `/callbacks/viber/infobip`: what becomes of messages to
//! phones, and what people write back.

use axum::{
    extract::{FromRequest as _, OriginalUri, Request, State},
    http::{HeaderMap, Uri, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use delivery::{model::Keyword, ops::keywords};
use kernel::{Channel, Error};
use providers::{
    infobip,
    model::{Callback, Inbound},
    twilio, whatsapp,
};
use secrecy::ExposeSecret as _;
use url::form_urlencoded;
use web::http::{ApiError, ApiResult, FormBody, RawBytes};

use super::{CALL_BYTES_MAX, body, header, set_up};
use crate::{
    CallbackState,
    model::{Report, Unproven},
    ops,
};

/// Bytes of a form of Twilio's.
const FORM_BYTES_MAX: usize = 64 << 10;
/// An answer that says nothing to whoever wrote.
const NO_ANSWER: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><Response/>";

/// A status of a message, or a text that somebody wrote.
pub(super) async fn twilio(
    State(app): State<CallbackState>,
    OriginalUri(uri): OriginalUri,
    headers: HeaderMap,
    request: Request,
) -> ApiResult<Response> {
    let token = set_up(app.sources().twilio.as_ref())?;
    let signature = header(&headers, "x-twilio-signature");
    could_be(signature, twilio::is_signature)?;
    let FormBody(form) = FormBody::<FORM_BYTES_MAX>::from_request(request, &app).await?;
    if !twilio::is_signed(token.expose_secret(), &called(&app, &uri), &form, signature) {
        return Err(Unproven::Wrong.into());
    }
    if let Some(callback) = twilio::read_status(&form) {
        let named = query(&uri).into_iter().find(|(name, _)| name == "m");
        let reference = named.and_then(|(_, reference)| reference.parse().ok());
        let callback = Callback { reference: callback.reference.or(reference), ..callback };
        take(&app, ("twilio", Channel::Sms), vec![callback]).await?;
    } else if let Some(inbound) = twilio::read_inbound(&form) {
        // Twilio says itself what it understood, in every language it was told to.
        let understood = form.iter().find(|(name, _)| name == "OptOutType");
        let keyword = Keyword::read(understood.map_or(&inbound.text, |(_, word)| word));
        obey(&app, ("twilio", Channel::Sms), &inbound, keyword).await?;
    }
    Ok(([(CONTENT_TYPE, "text/xml")], NO_ANSWER).into_response())
}

/// Whether this is the place, asks Meta.
pub(super) async fn whatsapp_challenge(
    State(app): State<CallbackState>,
    OriginalUri(uri): OriginalUri,
) -> ApiResult<String> {
    let settings = set_up(app.sources().whatsapp.as_ref())?;
    let query = query(&uri);
    let challenge = whatsapp::challenge(&query, settings.verify_token.expose_secret());
    Ok(challenge.ok_or(Unproven::Wrong)?.to_owned())
}

pub(super) async fn whatsapp(
    State(app): State<CallbackState>,
    headers: HeaderMap,
    request: Request,
) -> ApiResult<()> {
    let settings = set_up(app.sources().whatsapp.as_ref())?;
    let signature = header(&headers, "x-hub-signature-256");
    could_be(signature, whatsapp::is_signature)?;
    let RawBytes { bytes, held: _held } = body::<CALL_BYTES_MAX>(&app, request).await?;
    if !whatsapp::is_signed(settings.app_secret.expose_secret(), &bytes, signature) {
        return Err(Unproven::Wrong.into());
    }
    let notice = whatsapp::read(&bytes).ok_or_else(|| Error::bad_request("body is no callback"))?;
    let source = ("whatsapp", Channel::Whatsapp);
    for inbound in &notice.inbound {
        obey(&app, source, inbound, Keyword::read(&inbound.text)).await?;
    }
    take(&app, source, notice.callbacks).await
}

pub(super) async fn infobip(
    State(app): State<CallbackState>,
    headers: HeaderMap,
    request: Request,
) -> ApiResult<()> {
    let credentials = set_up(app.sources().infobip.as_ref())?;
    credentials.proves(header(&headers, "authorization"))?;
    let RawBytes { bytes, held: _held } = body::<CALL_BYTES_MAX>(&app, request).await?;
    let notice = infobip::read(&bytes).ok_or_else(|| Error::bad_request("body is no callback"))?;
    let source = ("infobip", Channel::Viber);
    for inbound in &notice.inbound {
        obey(&app, source, inbound, Keyword::read(&inbound.text)).await?;
    }
    take(&app, source, notice.callbacks).await
}

/// Judges a signature before the body is read: whether it is there and has the shape of one.
fn could_be(signature: &str, has_shape: impl Fn(&str) -> bool) -> ApiResult<()> {
    if signature.is_empty() {
        return Err(Unproven::Missing.into());
    }
    if has_shape(signature) { Ok(()) } else { Err(Unproven::Wrong.into()) }
}

async fn take(
    app: &CallbackState,
    (source, channel): (&'static str, Channel),
    callbacks: Vec<Callback>,
) -> ApiResult<()> {
    let reports = callbacks.into_iter().flat_map(|callback| Report::of_callback(source, callback));
    ops::take(app, source, channel.as_str(), reports.collect()).await.map(drop).map_err(ApiError)
}

async fn obey(
    app: &CallbackState,
    (source, channel): (&'static str, Channel),
    inbound: &Inbound,
    keyword: Option<Keyword>,
) -> ApiResult<()> {
    if let Some(keyword) = keyword {
        keywords::obey(app, channel, source, inbound, keyword).await?;
        ops::count(source, "keyword", 1);
    }
    Ok(())
}

fn query(uri: &Uri) -> Vec<(String, String)> {
    form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()).into_owned().collect()
}

/// The address that was called, as the caller knows it.
fn called(app: &CallbackState, uri: &Uri) -> String {
    let base = app.links().public_url().as_str().trim_end_matches('/');
    let path = uri.path_and_query().map(http::uri::PathAndQuery::as_str).unwrap_or_default();
    format!("{base}{path}")
}
