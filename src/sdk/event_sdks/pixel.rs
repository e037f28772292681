//! RudderStack's pixel: a call whose fields are the parameters of an image's address. A dot in a name means a field of an
//! object: `properties.url`, `context.page.title`.

use axum::{
    Router,
    extract::{FromRequest as _, Request, State},
    response::{IntoResponse as _, Response},
    routing::get,
};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use ingest::admit::calls::{CallKind, Protocol};
use kernel::Error;
use serde_json::{Map, Value};
use url::form_urlencoded;
use web::http::{ApiResult, RawBytes};

use super::{
    body::CALLS_BODY_BYTES_MAX,
    receive::{CallRoute, MISSING, WRITE_KEY, caller_of_head, record},
};
use crate::SdkState;

/// Parameters of one address; more are refused.
const PARAMETERS_MAX: usize = 500;
/// Dots in a name that are followed.
const DOTS_MAX: usize = 5;
/// A transparent image (GIF89a).
const IMAGE: &[u8] =
    b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff!\xf9\x04\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\
    \0\x02\x01D\0;";

/// A path and the type of its calls.
pub(super) struct PixelPath {
    pub(super) path: &'static str,
    kind: CallKind,
}

/// The routes of the pixel.
pub(super) const PATHS: [PixelPath; 2] = [
    PixelPath { path: "/pixel/v1/track", kind: CallKind::Track },
    PixelPath { path: "/pixel/v1/page", kind: CallKind::Page },
];

pub(super) fn routes() -> Router<SdkState> {
    PATHS.iter().fold(Router::new(), |routes, route| {
        let kind = route.kind;
        routes.route(
            route.path,
            get(async move |State(app): State<SdkState>, request: Request| {
                call(&app, request, kind).await
            }),
        )
    })
}

async fn call(app: &SdkState, request: Request, kind: CallKind) -> ApiResult<Response> {
    let (mut head, body) = request.into_parts();
    let key = caller_of_head(app, &mut head).await?;
    let query = head.uri.query().unwrap_or_default().to_owned();
    let request = Request::from_parts(head, body);
    // An image has no body, but its share of memory is that of one.
    let RawBytes { held, .. } =
        RawBytes::<CALLS_BODY_BYTES_MAX>::from_request(request, app).await?;
    let bytes = serde_json::to_vec(&fields(&query)?).map_err(Error::internal)?;
    let route = CallRoute { protocol: Protocol::Segment, kind: Some(kind), missing: MISSING };
    record(app, &key, &route, RawBytes { bytes, held }).await?;
    Ok(([(CONTENT_TYPE, "image/gif"), (CACHE_CONTROL, "no-store")], IMAGE).into_response())
}

/// The fields in a query.
fn fields(query: &str) -> Result<Value, Error> {
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    let mut call = Map::new();
    for (name, value) in pairs.by_ref().take(PARAMETERS_MAX) {
        if name != WRITE_KEY {
            set(&mut call, &name, value.into_owned());
        }
    }
    if pairs.next().is_some() {
        let message = format!("the query has more than {PARAMETERS_MAX} parameters");
        return Err(Error::bad_request(message));
    }
    Ok(Value::Object(call))
}

/// Sets the field that a name with dots means. A field cannot be both a text and an object: the first stays.
fn set(call: &mut Map<String, Value>, name: &str, value: String) {
    let mut object = call;
    let mut names = name.splitn(DOTS_MAX + 1, '.').peekable();
    while let Some(name) = names.next() {
        if names.peek().is_none() {
            object.entry(name).or_insert(Value::String(value));
            return;
        }
        let inner = object.entry(name).or_insert_with(|| Value::Object(Map::new()));
        match inner {
            Value::Object(inner) => object = inner,
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_dot_means_a_field_of_an_object() {
        let query = "writeKey=K&anonymousId=x&event=E%20F&properties.url=u&properties.a.b=1&context.page.title=t\
            &anonymousId=y&event.a=1&a.b.c.d.e.f.g=1";
        let expected = json!({"anonymousId": "x", "event": "E F", "properties": {"url": "u", "a": {"b": "1"}},
            "context": {"page": {"title": "t"}}, "a": {"b": {"c": {"d": {"e": {"f.g": "1"}}}}}});
        assert_eq!(fields(query).unwrap(), expected);
        assert_eq!(fields("").unwrap(), json!({}));
        let many = |count: usize| {
            (0..count).map(|index| format!("p{index}=1")).collect::<Vec<_>>().join("&")
        };
        assert!(fields(&many(PARAMETERS_MAX)).is_ok());
        assert!(fields(&many(PARAMETERS_MAX + 1)).is_err());
    }
}
