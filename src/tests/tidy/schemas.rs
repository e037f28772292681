//! Types that appear in the description of the API: no two under one name.

use std::collections::BTreeMap;

use proc_macro2::TokenTree;
use syn::{Attribute, Ident, Meta};

use crate::{paths::identifiers, sources::Workspace};

/// The name a type is described under.
#[derive(Debug)]
pub(crate) struct Schema {
    pub(crate) name: String,
    pub(crate) line: usize,
}

/// The schema that these attributes of a type derive.
pub(crate) fn described(attributes: &[Attribute], ident: &Ident) -> Option<Schema> {
    let of = |name: &str| {
        let lists = attributes.iter().filter(|it| it.path().is_ident(name));
        lists
            .filter_map(|it| match &it.meta {
                Meta::List(list) => Some(list.tokens.clone()),
                _ => None,
            })
            .collect::<Vec<_>>()
    };
    let mut derived = Vec::new();
    for tokens in of("derive") {
        identifiers(tokens, &mut derived);
    }
    derived.iter().find(|it| it.text == "ToSchema")?;
    let renamed = of("schema").into_iter().find_map(|tokens| {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        tokens.windows(3).find_map(|three| match three {
            [TokenTree::Ident(it), TokenTree::Punct(_), TokenTree::Ident(name)] if it == "as" => {
                Some(name.to_string())
            }
            _ => None,
        })
    });
    let line = ident.span().start().line;
    Some(Schema { name: renamed.unwrap_or_else(|| ident.to_string()), line })
}

#[test]
fn a_schema_is_described_under_its_alias() {
    let text = "#[derive(A, ToSchema)] #[schema(as = B, x)] pub struct C {} #[derive(A)] enum D {}";
    let file = syn::parse_file(text).unwrap();
    let found = crate::paths::read(&file, &["c".to_owned()], false).schemas;
    assert_eq!(found.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["B"]);
}

#[test]
fn no_two_types_are_described_under_one_name() {
    let mut described: BTreeMap<&str, String> = BTreeMap::new();
    for source in Workspace::get().production() {
        for schema in &source.syntax.schemas {
            let at = format!("{}:{}", source.path.display(), schema.line);
            if let Some(other) = described.insert(&schema.name, at.clone()) {
                panic!("{} is described at {other} and at {at}", schema.name);
            }
        }
    }
    assert!(described.len() > 200, "{} types", described.len());
}
