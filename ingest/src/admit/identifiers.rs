//! Names and identifiers: strings of bounded length.

use std::borrow::Cow;

use crate::model::limits::SERVICE_USER_ID_CHARS;

use super::element::{Alias, Field};

/// What is wrong with a string that holds U+0000, which PostgreSQL cannot store.
pub(super) const HAS_NUL: &str = "must not contain NUL characters";
/// What is wrong with a string that holds half of a surrogate pair, which is no character.
pub(super) const HAS_UNPAIRED_SURROGATES: &str = "must not contain unpaired surrogates";

/// The characters of a string field of at most `chars_max`; empty when it is absent or at fault.
#[inline]
pub(super) fn text<'a>(
    name: &str,
    field: &Field<'a>,
    chars_max: usize,
    errors: &mut Vec<String>,
) -> &'a str {
    match field {
        Field::Absent => "",
        // Never more characters than bytes, so that counting is seldom needed.
        Field::Text(text) if text.len() <= chars_max && !text.as_bytes().contains(&0) => text,
        _ => unusual_text(name, field, chars_max, errors),
    }
}

#[cold]
fn unusual_text<'a>(
    name: &str,
    field: &Field<'a>,
    chars_max: usize,
    errors: &mut Vec<String>,
) -> &'a str {
    let message = match field {
        Field::Absent => return "",
        Field::Text(text) if text.contains('\0') => HAS_NUL.to_owned(),
        Field::Text(text) => match text.chars().count() {
            count if count <= chars_max => return text,
            count => format!("must be at most {chars_max} characters, received {count}"),
        },
        Field::Number(_) | Field::Other => "must be a string".to_owned(),
        Field::Unpaired => HAS_UNPAIRED_SURROGATES.to_owned(),
    };
    errors.push(format!("{name} {message}"));
    ""
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
    Cow::Borrowed(id)
}

/// `aliasLabel` and `aliasName`: both or neither.
pub(super) fn alias<'a>(
    alias: &Alias<'a>,
    chars_max: usize,
    errors: &mut Vec<String>,
) -> (&'a str, &'a str) {
    let none = ("", "");
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
