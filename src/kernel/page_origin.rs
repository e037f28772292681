//! Origins of pages, and how apps prove their users: values of `[sdk]`.

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
    /// Pages of every origin.
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

/// Whether calls about a person need a user token: `[sdk] identity`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Identity {
    /// Calls about a person need that person's user token.
    #[default]
    Required,
    /// Calls without a token are taken, and may do less.
    Optional,
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
}
