//! Bodies of HTML forms: urlencoded, or multipart as mail programs send them (RFC 8058 3.1).

use axum::extract::{FromRef, FromRequest, Request};
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, header::CONTENT_TYPE};
use kernel::Error;
use multer::{Constraints, Multipart, SizeLimit};
use url::form_urlencoded;

use super::{budget::BodyBudget, collect, hold};
use crate::http::{ApiError, ApiResult, requester::TrustedProxies};

/// Fields of one form; more are refused.
const FIELDS_MAX: usize = 10_000;

/// The fields of a form in their order, of at most `MAX_BYTES` bytes. A form without a body has none.
#[derive(Debug)]
pub struct FormBody<const MAX_BYTES: usize>(pub Vec<(String, String)>);

impl<S, const MAX_BYTES: usize> FromRequest<S> for FormBody<MAX_BYTES>
where
    BodyBudget: FromRef<S>,
    TrustedProxies: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> ApiResult<Self> {
        let kind = FormEncoding::of(request.headers())?;
        let held = hold(&request, state);
        let (bytes, _held) = collect::whole(request, MAX_BYTES, held).await?;
        let fields = match kind {
            FormEncoding::Urlencoded => urlencoded(&bytes)?,
            FormEncoding::Multipart { boundary } => multipart(bytes, boundary, MAX_BYTES).await?,
        };
        Ok(Self(fields))
    }
}

#[derive(Debug, PartialEq, Eq)]
enum FormEncoding {
    Urlencoded,
    Multipart { boundary: String },
}

impl FormEncoding {
    fn of(headers: &HeaderMap) -> Result<Self, Error> {
        let Some(value) = headers.get(CONTENT_TYPE) else { return Ok(Self::Urlencoded) };
        let text = value.to_str().unwrap_or("?");
        let essence = text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match essence.as_str() {
            "" | "application/x-www-form-urlencoded" => Ok(Self::Urlencoded),
            "multipart/form-data" => multer::parse_boundary(text)
                .map(|boundary| Self::Multipart { boundary })
                .map_err(|_| Error::bad_request("multipart body names no boundary")),
            _ => Err(Error::UnsupportedMediaType("Content-Type must be that of a form".to_owned())),
        }
    }
}

fn too_many() -> Error {
    Error::bad_request(format!("the form has more than {FIELDS_MAX} fields"))
}

fn urlencoded(bytes: &[u8]) -> Result<Vec<(String, String)>, Error> {
    let mut pairs = form_urlencoded::parse(bytes);
    let fields = pairs.by_ref().take(FIELDS_MAX).map(|(k, v)| (k.into_owned(), v.into_owned()));
    let fields = fields.collect();
    if pairs.next().is_some() { Err(too_many()) } else { Ok(fields) }
}

async fn multipart(
    bytes: Vec<u8>,
    boundary: String,
    limit: usize,
) -> Result<Vec<(String, String)>, Error> {
    let malformed = |_| Error::bad_request("body is not valid multipart/form-data");
    let limit = SizeLimit::new().whole_stream(limit as u64);
    let constraints = Constraints::new().size_limit(limit);
    let body = stream::iter([Ok::<_, std::io::Error>(Bytes::from(bytes))]);
    let mut parts = Multipart::with_constraints(body, boundary, constraints);
    let mut fields = Vec::new();
    while let Some(part) = parts.next_field().await.map_err(malformed)? {
        if fields.len() == FIELDS_MAX {
            return Err(too_many());
        }
        let name = part.name().unwrap_or_default().to_owned();
        fields.push((name, part.text().await.map_err(malformed)?));
    }
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_distinguished_by_content_type() {
        let of = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, http::HeaderValue::from_static(text));
            FormEncoding::of(&headers).ok()
        };
        assert_eq!(
            of("application/x-www-form-urlencoded; charset=utf-8"),
            Some(FormEncoding::Urlencoded)
        );
        let boundary = "b".to_owned();
        assert_eq!(
            of("Multipart/Form-Data; boundary=b"),
            Some(FormEncoding::Multipart { boundary })
        );
        for refused in ["application/json", "text/plain", "multipart/form-data"] {
            assert_eq!(of(refused), None, "{refused}");
        }
        assert_eq!(FormEncoding::of(&HeaderMap::new()).unwrap(), FormEncoding::Urlencoded);
    }

    #[tokio::test]
    async fn both_encodings_give_the_same_fields() {
        let expected = vec![("List-Unsubscribe".to_owned(), "One-Click".to_owned())];
        assert_eq!(urlencoded(b"List-Unsubscribe=One-Click").unwrap(), expected);
        let body = b"--b\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\r\nOne-Click\r\n--b--\r\n";
        assert_eq!(multipart(body.to_vec(), "b".to_owned(), 1000).await.unwrap(), expected);
        for broken in [&b"--b\r\n"[..], b"nonsense"] {
            assert!(multipart(broken.to_vec(), "b".to_owned(), 1000).await.is_err());
        }
    }

    #[test]
    fn the_number_of_fields_is_bounded() {
        assert_eq!(urlencoded("a&".repeat(FIELDS_MAX).as_bytes()).unwrap().len(), FIELDS_MAX);
        assert!(urlencoded("a&".repeat(FIELDS_MAX + 1).as_bytes()).is_err());
    }
}
