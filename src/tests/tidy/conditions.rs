//! Items that are compiled for tests only.

use syn::{Attribute, Item, Meta};

use crate::paths::identifiers;

/// Whether a condition on compilation asks for tests.
pub(crate) fn is_of_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().filter(|it| it.path().is_ident("cfg")).any(|attribute| {
        let mut found = Vec::new();
        if let Meta::List(list) = &attribute.meta {
            identifiers(list.tokens.clone(), &mut found);
        }
        let has = |word: &str| found.iter().any(|it| it.text == word);
        has("test") && !has("not")
    })
}

/// The attributes of an item.
pub(crate) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(it) => &it.attrs,
        Item::Enum(it) => &it.attrs,
        Item::Fn(it) => &it.attrs,
        Item::Impl(it) => &it.attrs,
        Item::Macro(it) => &it.attrs,
        Item::Mod(it) => &it.attrs,
        Item::Static(it) => &it.attrs,
        Item::Struct(it) => &it.attrs,
        Item::Trait(it) => &it.attrs,
        Item::Type(it) => &it.attrs,
        Item::Use(it) => &it.attrs,
        _ => &[],
    }
}
