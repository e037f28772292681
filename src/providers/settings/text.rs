//! Deserializers of settings without a default: without one the type of a variable's text is unknown, so the
//! text is parsed here.

use serde::{Deserialize, Deserializer, de::Error as _};

#[derive(Deserialize)]
#[serde(untagged)]
enum Given<T> {
    Value(T),
    Text(String),
}

/// A positive whole number, or its text.
pub(crate) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    let given = Given::<usize>::deserialize(deserializer).map_err(|_| not_a_count())?;
    let count = match given {
        Given::Value(count) => Some(count),
        Given::Text(text) => text.trim().replace('_', "").parse().ok(),
    };
    count.filter(|count| *count > 0).ok_or_else(not_a_count)
}

fn not_a_count<E: serde::de::Error>() -> E {
    E::custom("must be a whole number of at least 1")
}

/// An http or https URL. It may hold credentials, so errors do not show it.
pub(crate) fn web_address<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<secrecy::SecretString, D::Error> {
    let text = String::deserialize(deserializer)?;
    let is_web = url::Url::parse(&text)
        .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    if is_web {
        Ok(text.into())
    } else {
        Err(D::Error::custom("`url` must be an http or https URL"))
    }
}

pub(crate) fn optional_url<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<url::Url>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let url = url::Url::parse(&text)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    url.map(Some).ok_or_else(|| D::Error::custom("must be an http or https URL"))
}
