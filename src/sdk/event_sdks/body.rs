//! The body of a request of an event SDK: JSON, whatever its `Content-Type` says, plain or packed.
//!
//! Segment's and RudderStack's SDKs send JSON as `application/json`, `text/plain` or
//! `application/x-www-form-urlencoded`. PostHog's browser SDK sends gzip without a header, or a form with the
//! field `data`, which holds JSON or base64 of it.

use std::borrow::Cow;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use kernel::Error;
use url::form_urlencoded;
use web::http::{ApiResult, RawBytes};

/// Largest body, decompressed, in bytes.
pub(super) const CALLS_BODY_BYTES_MAX: usize = 4 << 20;
/// How a form begins.
const FORM: &[u8] = b"data=";

/// The JSON in a body.
pub(super) async fn json(
    body: RawBytes<CALLS_BODY_BYTES_MAX>,
) -> ApiResult<RawBytes<CALLS_BODY_BYTES_MAX>> {
    let RawBytes { bytes, held } = body.unpacked().await?;
    if !bytes.trim_ascii_start().starts_with(FORM) {
        return Ok(RawBytes { bytes, held });
    }
    // It is shorter than the form, so that the memory held suffices.
    let bytes = of_form(&bytes)?;
    RawBytes { bytes, held }.unpacked().await
}

/// The bytes in the field `data` of a form.
fn of_form(form: &[u8]) -> Result<Vec<u8>, Error> {
    let fields = form_urlencoded::parse(form.trim_ascii());
    let data = fields.into_iter().find_map(|(name, value)| (name == "data").then_some(value));
    let data = data.unwrap_or_default();
    if data.trim_start().starts_with(['{', '[']) {
        return Ok(data.into_owned().into_bytes());
    }
    // A form means a space by the `+` of base64.
    let coded: Cow<'_, str> = if data.contains(' ') { data.replace(' ', "+").into() } else { data };
    let wrong = |_| Error::bad_request("body must be JSON, or a form with JSON or base64 in data");
    BASE64_STANDARD.decode(coded.as_bytes()).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_holds_json_or_base64() {
        let read =
            |form: &str| of_form(form.as_bytes()).ok().map(|it| String::from_utf8(it).unwrap());
        let json = r#"{"a":"b c>?"}"#;
        let coded =
            form_urlencoded::Serializer::new(String::new()).append_pair("data", json).finish();
        assert_eq!(read(&coded).unwrap(), json);
        let base64 = BASE64_STANDARD.encode(json);
        assert_eq!(read(&format!("data={base64}")).unwrap(), json, "{base64}");
        assert_eq!(read(&format!("data={}&ver=1", base64.replace('+', "%2B"))).unwrap(), json);
        assert_eq!(read("data=***"), None);
        assert_eq!(read("data=").unwrap(), "");
    }
}
