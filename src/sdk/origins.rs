//! Which pages may call from a browser: `[sdk] allowed_origins`.

use http::HeaderValue;
use serde::{Deserialize, Deserializer};
use url::Url;

/// Stands for every page.
const ANY: &str = "*";

/// The text is not the origin of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be * or an origin: https://shop.example")]
pub struct NotAnOrigin;

/// One entry: every page, or those of one origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Every page.
    Any,
    /// Scheme, host and port, as browsers write them.
    Of(String),
}

impl Origin {
    /// Reads `*`, or scheme, host and port without a path.
    ///
    /// # Errors
    /// When it is neither.
    pub fn parse(text: &str) -> Result<Self, NotAnOrigin> {
        if text == ANY {
            return Ok(Self::Any);
        }
        let url = Url::parse(text).map_err(|_| NotAnOrigin)?;
        let origin = url.origin();
        let written = origin.ascii_serialization();
        let is_bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
        let is_anonymous = url.username().is_empty() && url.password().is_none();
        if origin.is_tuple() && is_bare && is_anonymous {
            Ok(Self::Of(written))
        } else {
            Err(NotAnOrigin)
        }
    }
}

impl<'de> Deserialize<'de> for Origin {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// The pages that may call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origins {
    /// All there are.
    Any,
    /// Those of these origins.
    Only(Vec<String>),
}

impl Origins {
    /// Those of the settings.
    pub fn new(entries: &[Origin]) -> Self {
        let named = entries.iter().map(|entry| match entry {
            Origin::Any => None,
            Origin::Of(origin) => Some(origin.clone()),
        });
        named.collect::<Option<Vec<_>>>().map_or(Self::Any, Self::Only)
    }

    /// What a page is told about itself; nothing for one that may not call.
    pub(super) fn answer_to(&self, origin: &HeaderValue) -> Option<HeaderValue> {
        match self {
            Self::Any => Some(HeaderValue::from_static(ANY)),
            Self::Only(origins) => {
                origins.iter().any(|known| known.as_bytes() == origin).then(|| origin.clone())
            }
        }
    }

    /// Whether answers differ by who asks, which caches must know.
    pub(super) const fn differ(&self) -> bool {
        matches!(self, Self::Only(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_a_scheme_a_host_and_a_port() {
        for (text, written) in [
            ("https://shop.example", "https://shop.example"),
            ("https://SHOP.example:443/", "https://shop.example"),
            ("http://localhost:3000", "http://localhost:3000"),
        ] {
            assert_eq!(Origin::parse(text), Ok(Origin::Of(written.to_owned())), "{text}");
        }
        assert_eq!(Origin::parse("*"), Ok(Origin::Any));
        for text in [
            "",
            "shop.example",
            "https://shop.example/path",
            "https://shop.example?x",
            "https://ann@shop.example",
            "data:text/html,x",
            "null",
        ] {
            assert_eq!(Origin::parse(text), Err(NotAnOrigin), "{text}");
        }
    }

    #[test]
    fn only_the_pages_that_are_named_get_an_answer() {
        let page = HeaderValue::from_static("https://shop.example");
        let other = HeaderValue::from_static("https://shop.example.evil.test");
        let any = Origins::new(&[Origin::Any]);
        assert_eq!(any.answer_to(&other).unwrap(), "*");
        let only = Origins::new(&[Origin::parse("https://shop.example").unwrap()]);
        assert_eq!(only.answer_to(&page), Some(page));
        assert_eq!(only.answer_to(&other), None);
        assert_eq!(Origins::new(&[]).answer_to(&other), None);
    }
}
