//! The origins that may call from a browser: `[sdk] allowed_origins`.

use http::HeaderValue;
use kernel::Origin;

/// The wildcard of `Access-Control-Allow-Origin`.
const ANY: &str = "*";

/// Origins that CORS answers allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origins {
    Any,
    Only(Vec<String>),
}

impl Origins {
    pub fn new(entries: &[Origin]) -> Self {
        let named = entries.iter().map(|entry| match entry {
            Origin::Any => None,
            Origin::Of(origin) => Some(origin.clone()),
        });
        named.collect::<Option<Vec<_>>>().map_or(Self::Any, Self::Only)
    }

    /// The value of `Access-Control-Allow-Origin` for an origin; none if it is not allowed.
    pub(super) fn allowed(&self, origin: &HeaderValue) -> Option<HeaderValue> {
        match self {
            Self::Any => Some(HeaderValue::from_static(ANY)),
            Self::Only(origins) => {
                origins.iter().any(|known| known.as_bytes() == origin).then(|| origin.clone())
            }
        }
    }

    /// Whether answers depend on the origin, which caches must know (`Vary`).
    pub(super) const fn depend_on_origin(&self) -> bool {
        matches!(self, Self::Only(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_origins_are_allowed() {
        let page = HeaderValue::from_static("https://shop.example");
        let other = HeaderValue::from_static("https://shop.example.evil.test");
        let any = Origins::new(&[Origin::Any]);
        assert_eq!(any.allowed(&other).unwrap(), "*");
        let only = Origins::new(&[Origin::parse("https://shop.example").unwrap()]);
        assert_eq!(only.allowed(&page), Some(page));
        assert_eq!(only.allowed(&other), None);
        assert_eq!(Origins::new(&[]).allowed(&other), None);
    }
}
