//! Names and identifiers: strings of bounded length.

use std::borrow::Cow;

use crate::model::limits::SERVICE_USER_ID_CHARS;

use super::element::{Alias, Field};

/// The characters of a string field of at most `chars_max`; empty when it is absent or at fault.
pub(super) fn text<'a>(
    name: &str,
    field: &Field<'a>,
    chars_max: usize,
    errors: &mut Vec<String>,
) -> Cow<'a, str> {
    let message = match field {
        Field::Absent => return Cow::Borrowed(""),
        Field::Text(text) => match text.decode() {
            // Never more characters than bytes, so that counting is seldom needed.
            Ok(decoded) if decoded.len() <= chars_max => return decoded,
            Ok(decoded) => match decoded.chars().count() {
                count if count <= chars_max => return decoded,
                count => format!("must be at most {chars_max} characters, received {count}"),
            },
            Err(fault) => fault.message().to_owned(),
        },
        Field::Number(_) | Field::Other => "must be a string".to_owned(),
    };
    errors.push(format!("{name} {message}"));
    Cow::Borrowed("")
}

/// A `serviceUserId` in lower case; empty when it is absent or at fault.
pub(super) fn service_user_id<'a>(field: &Field<'a>, errors: &mut Vec<String>) -> Cow<'a, str> {
    let failed_before = errors.len();
    let id = text("serviceUserId", field, usize::MAX, errors);
    let is_hex =
        id.len() == SERVICE_USER_ID_CHARS && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if id.is_empty() || errors.len() != failed_before {
        return Cow::Borrowed("");
    }
    if !is_hex {
        errors
            .push(format!("serviceUserId must be {SERVICE_USER_ID_CHARS} hexadecimal characters"));
        return Cow::Borrowed("");
    }
    if id.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Cow::Owned(id.to_ascii_lowercase());
    }
    id
}

/// `aliasLabel` and `aliasName`: both or neither.
pub(super) fn alias<'a>(
    alias: &Alias<'a>,
    chars_max: usize,
    errors: &mut Vec<String>,
) -> (Cow<'a, str>, Cow<'a, str>) {
    let none = (Cow::Borrowed(""), Cow::Borrowed(""));
    match alias {
        Alias::Absent => none,
        Alias::Other => {
            errors.push("userAlias must be an object".to_owned());
            none
        }
        Alias::Parts { label, name } => {
            let failed_before = errors.len();
            let label = text("userAlias.aliasLabel", label, chars_max, errors);
            let name = text("userAlias.aliasName", name, chars_max, errors);
            if errors.len() == failed_before && label.is_empty() != name.is_empty() {
                let missing = if label.is_empty() { "aliasLabel" } else { "aliasName" };
                errors.push(format!("userAlias.{missing} is required"));
            }
            (label, name)
        }
    }
}
