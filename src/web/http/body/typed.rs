//! Control-plane bodies: JSON read by the accumulating reader.

use axum::extract::{FromRef, FromRequest, Request};
use kernel::{
    Error, FieldError,
    fields::{self, FromFields},
};
use serde_json::Value;

use super::{CONTROL_BODY_BYTES_MAX, budget::BodyBudget, collect, hold};
use crate::http::{ApiError, ApiResult, requester::TrustedProxies};

/// A tree of small JSON values takes about this many times the memory of its text. A body takes the memory of
/// its tree before it is parsed.
const TREE_FACTOR: usize = 4;

/// The value of a JSON body, or 400 with every error.
#[derive(Debug)]
pub struct Body<T, const MAX_BYTES: usize = CONTROL_BODY_BYTES_MAX>(pub T);

/// A value that is read from a whole body.
pub trait FromBody: Sized {
    /// Reads the body; `None` without one.
    fn from_body(body: Option<&Value>) -> Result<Self, Error>;
}

impl<T, S, const MAX_BYTES: usize> FromRequest<S> for Body<T, MAX_BYTES>
where
    T: FromBody,
    BodyBudget: FromRef<S>,
    TrustedProxies: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> ApiResult<Self> {
        let held = hold(&request, state);
        let (bytes, mut held) = collect::json(request, MAX_BYTES, held).await?;
        held.grow(bytes.len().saturating_mul(TREE_FACTOR))?;
        parse(&bytes).map(Self).map_err(ApiError)
    }
}

fn parse<T: FromBody>(bytes: &[u8]) -> Result<T, Error> {
    if bytes.trim_ascii().is_empty() {
        return T::from_body(None);
    }
    // serde_json refuses more than 128 levels, so nesting cannot exhaust the stack. The last value of a repeated
    // key counts.
    let value: Value = serde_json::from_slice(bytes)
        .map_err(|wrong| Error::bad_request(format!("body is not valid JSON: {wrong}")))?;
    T::from_body(Some(&value))
}

fn missing() -> Error {
    Error::bad_request("body is not valid JSON: it is empty")
}

impl<T: FromFields> FromBody for T {
    fn from_body(body: Option<&Value>) -> Result<Self, Error> {
        let body = body.ok_or_else(missing)?;
        if !body.is_object() {
            return Err(Error::bad_request("body must be an object"));
        }
        fields::read(body).map_err(Error::Invalid)
    }
}

/// A body that may be left out.
#[derive(Debug)]
pub struct OptionalBody<T>(pub Option<T>);

impl<T: FromFields> FromBody for OptionalBody<T> {
    fn from_body(body: Option<&Value>) -> Result<Self, Error> {
        match body {
            None => Ok(Self(None)),
            Some(_) => T::from_body(body).map(|body| Self(Some(body))),
        }
    }
}

/// One object, or an array of 1 to `ELEMENTS_MAX` whose elements are validated one by one.
#[derive(Debug)]
pub enum OneOrMany<T, const ELEMENTS_MAX: usize> {
    /// A single object; any error refuses the request.
    One(T),
    /// Every element, or its errors.
    Many(Vec<Result<T, Vec<FieldError>>>),
}

impl<T: FromFields, const ELEMENTS_MAX: usize> FromBody for OneOrMany<T, ELEMENTS_MAX> {
    fn from_body(body: Option<&Value>) -> Result<Self, Error> {
        match body.ok_or_else(missing)? {
            Value::Array(values) if values.is_empty() => {
                Err(Error::bad_request("body must not be an empty array"))
            }
            Value::Array(values) if values.len() > ELEMENTS_MAX => {
                Err(Error::bad_request(format!(
                    "body must have at most {ELEMENTS_MAX} elements, received {}",
                    values.len()
                )))
            }
            Value::Array(values) => Ok(Self::Many(values.iter().map(fields::read).collect())),
            value @ Value::Object(_) => T::from_body(Some(value)).map(Self::One),
            _ => Err(Error::bad_request("body must be an object or an array of objects")),
        }
    }
}

#[cfg(test)]
mod tests {
    use kernel::fields::Fields;

    use super::*;

    #[derive(Debug, PartialEq)]
    struct Named(String);

    impl FromFields for Named {
        fn from_fields(body: &mut Fields<'_>) -> Self {
            Self(body.required("name").text(1..=5))
        }
    }

    fn refusal<T: FromBody + std::fmt::Debug>(text: &str) -> String {
        parse::<T>(text.as_bytes()).expect_err("a refusal").to_string()
    }

    #[test]
    fn the_last_value_of_a_repeated_key_counts() {
        let named: Named = parse(br#"{"name":"a","name":"b"}"#).unwrap();
        assert_eq!(named.0, "b");
    }

    #[test]
    fn invalid_json_is_refused() {
        for text in [
            "{",
            "{]",
            "nul",
            "{\"name\":\"\u{1}\"}",
            r#"{"name":"\ud800"}"#,
            "{} x",
            "\u{0}",
            "NaN",
        ] {
            assert!(refusal::<Named>(text).starts_with("body is not valid JSON: "), "{text:?}");
        }
        assert_eq!(refusal::<Named>(" \n"), "body is not valid JSON: it is empty");
        let bytes = [b'{', 0xff, b'}'];
        assert!(parse::<Named>(&bytes).is_err());
    }

    #[test]
    fn nesting_ten_thousand_deep_is_refused_not_followed() {
        let deep = [r#"{"name":"#, &"[".repeat(10_000), &"]".repeat(10_000), "}"].concat();
        assert!(refusal::<Named>(&deep).contains("recursion limit exceeded"));
        assert!(refusal::<Named>(&"[".repeat(1_000_000)).contains("recursion limit exceeded"));
    }

    #[test]
    fn an_optional_body_may_be_left_out_but_not_be_wrong() {
        assert_eq!(parse::<OptionalBody<Named>>(b"").unwrap().0, None);
        let sent = parse::<OptionalBody<Named>>(br#"{"name":"a"}"#).unwrap();
        assert_eq!(sent.0, Some(Named("a".into())));
        assert_eq!(refusal::<OptionalBody<Named>>("{}"), "name is required");
    }

    #[test]
    fn elements_are_validated_one_by_one() {
        let Ok(OneOrMany::<Named, 3>::Many(elements)) = parse(br#"[{"name":"a"},{},7]"#) else {
            panic!("an array is many");
        };
        assert_eq!(elements[0], Ok(Named("a".into())));
        assert_eq!(elements[1].as_ref().unwrap_err()[0].to_string(), "name is required");
        assert_eq!(elements[2].as_ref().unwrap_err()[0].to_string(), "must be an object");
    }

    #[test]
    fn the_number_of_elements_is_bounded() {
        type Few = OneOrMany<Named, 2>;
        assert_eq!(refusal::<Few>("[]"), "body must not be an empty array");
        assert_eq!(refusal::<Few>("[1,2,3]"), "body must have at most 2 elements, received 3");
        assert_eq!(refusal::<Few>("7"), "body must be an object or an array of objects");
        assert_eq!(refusal::<Few>("{}"), "name is required");
        assert!(matches!(parse(br#"{"name":"a"}"#), Ok(Few::One(Named(_)))));
    }
}
