//! The callbacks of every provider of the registry.

use axum::{
    extract::{FromRequest as _, OriginalUri, Request, State},
    http::{HeaderMap, Uri, header::CONTENT_TYPE, uri::PathAndQuery},
    response::{IntoResponse as _, Response},
    routing::{MethodRouter, post},
};
use delivery::{model::Keyword, ops::keywords};
use providers::callback::{BodyKind, Call, CallbackEntry, Head, ReceivedText};
use url::form_urlencoded;
use web::http::{ApiResult, FormBody, Held, JsonBytes, RawBytes};

use super::{CALL_BYTES_MAX, body, set_up};
use crate::{CallbackState, ops};

/// Bytes of a form.
const FORM_BYTES_MAX: usize = 64 << 10;

/// A provider's callbacks, and its name.
#[derive(Debug, Clone, Copy)]
struct Source {
    name: &'static str,
    entry: &'static CallbackEntry,
}

/// The route of a provider's callbacks.
pub(super) fn route(
    name: &'static str,
    entry: &'static CallbackEntry,
) -> MethodRouter<CallbackState> {
    let source = Source { name, entry };
    let receive = move |State(app): State<CallbackState>,
                        OriginalUri(uri): OriginalUri,
                        headers: HeaderMap,
                        request: Request| async move {
        let arrived = Arrived { uri, headers, request };
        receive(&app, source, arrived).await
    };
    let route = post(receive);
    if entry.is_verified_by_get {
        let verify = move |State(app): State<CallbackState>, OriginalUri(uri): OriginalUri| async move {
            verify(&app, source, &uri)
        };
        return route.get(verify);
    }
    route
}

/// A request whose body is not read yet.
struct Arrived {
    uri: Uri,
    headers: HeaderMap,
    request: Request,
}

async fn receive(app: &CallbackState, source: Source, arrived: Arrived) -> ApiResult<Response> {
    let Arrived { uri, headers, request } = arrived;
    let Source { name, entry } = source;
    let provider = set_up(app.sources().of(name))?;
    provider.check_head(&Head { headers: &headers, now: app.clock().now() })?;
    let body = CallBody::read(app, entry.body, request).await?;
    let received = provider
        .receive(Call {
            head: Head { headers: &headers, now: app.clock().now() },
            url: &called(app, &uri),
            query: &query(&uri),
            bytes: &body.bytes,
            form: &body.form,
        })
        .await?;
    for text in &received.texts {
        apply_keyword(app, source, text).await?;
    }
    ops::apply(app, name, entry.channel.as_str(), received.reports).await?;
    Ok(match entry.answer {
        Some(answer) => ([(CONTENT_TYPE, answer.content_type)], answer.body).into_response(),
        None => ().into_response(),
    })
}

/// Answers a provider that verifies the URL.
fn verify(app: &CallbackState, source: Source, uri: &Uri) -> ApiResult<String> {
    let provider = set_up(app.sources().of(source.name))?;
    Ok(provider.challenge(&query(uri))?)
}

/// The body of a callback.
#[derive(Default)]
struct CallBody {
    bytes: Vec<u8>,
    form: Vec<(String, String)>,
    /// The share of memory of the bytes.
    _held: Option<Held>,
}

impl CallBody {
    async fn read(app: &CallbackState, kind: BodyKind, request: Request) -> ApiResult<Self> {
        Ok(match kind {
            BodyKind::Bytes => {
                let RawBytes { bytes, held } = body::<CALL_BYTES_MAX>(app, request).await?;
                Self { bytes, _held: Some(held), ..Self::default() }
            }
            BodyKind::Json => {
                let JsonBytes { bytes, held } =
                    JsonBytes::<CALL_BYTES_MAX>::from_request(request, app).await?;
                Self { bytes, _held: Some(held), ..Self::default() }
            }
            BodyKind::Form => {
                let FormBody(form) = FormBody::<FORM_BYTES_MAX>::from_request(request, app).await?;
                Self { form, ..Self::default() }
            }
        })
    }
}

/// Acts on a keyword in a text from a recipient.
async fn apply_keyword(app: &CallbackState, source: Source, text: &ReceivedText) -> ApiResult<()> {
    let Some(keyword) = Keyword::read(text.keyword_text()) else { return Ok(()) };
    keywords::apply_keyword(app, source.entry.channel, source.name, &text.inbound, keyword).await?;
    ops::count(source.name, "keyword", 1);
    Ok(())
}

fn query(uri: &Uri) -> Vec<(String, String)> {
    form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()).into_owned().collect()
}

/// The URL that was called, as the caller knows it.
fn called(app: &CallbackState, uri: &Uri) -> String {
    let base = app.links().public_url().as_str().trim_end_matches('/');
    let path = uri.path_and_query().map(PathAndQuery::as_str).unwrap_or_default();
    format!("{base}{path}")
}
