//! Which pages may call from a browser: `[sdk] allowed_origins`.

use http::HeaderValue;
use kernel::Origin;

/// Stands for every page.
const ANY: &str = "*";

/// The pages that may call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origins {
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
