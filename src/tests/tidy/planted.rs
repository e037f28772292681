//! The rules about imports, tried on forbidden ones in every form in which Rust can write an import.

use std::{collections::BTreeSet, path::Path};

use crate::{
    boundaries,
    cycles::{files_in_cycles, modules_in_cycles},
    imports::{Import, resolve},
    sources::{Finding, Source},
};

/// Sources of an invented server, by the modules of each file.
fn parsed(files: &[(&str, &str)]) -> Vec<Source> {
    let parse = |(module, text): &(&str, &str)| {
        let module: Vec<String> = module.split("::").map(str::to_owned).collect();
        let path = Path::new("src").join(module[1..].join("/"));
        Source::parse(&path, &module, (*text).to_owned(), false)
    };
    files.iter().map(parse).collect()
}

fn found_by(rule: impl Fn(&[Import<'_>]) -> Vec<Finding>, files: &[(&str, &str)]) -> Vec<Finding> {
    let sources = parsed(files);
    let externs: BTreeSet<String> =
        ["axum", "sqlx", "contacts", "web"].map(str::to_owned).into_iter().collect();
    rule(&resolve(&sources, |_| Some(externs.clone())))
}

/// Forms of an import of the store of `lists` into `campaigns::ops::send`.
const FORMS: &[(&str, &str)] = &[
    ("plain", "use crate::lists::store::find;"),
    ("group over several lines", "use crate::{\n    kernel::Id,\n    lists::store,\n};"),
    ("nested group", "use crate::{kernel::{Id, Time}, lists::{model::List, store::{find, Row}}};"),
    ("renamed", "use crate::lists::store as rows;"),
    ("renamed module before it", "use crate::lists as other; fn f() { other::store::find() }"),
    ("imported module before it", "use crate::{lists}; fn f() { lists::store::find() }"),
    ("glob", "use crate::lists::store::*;"),
    ("super", "use super::super::super::lists::store::find;"),
    ("self", "use self::super::super::super::lists::store;"),
    ("path in an expression", "fn f() { let it = crate::lists::store::find(1); }"),
    ("path in a type", "fn f(a: Option<&crate::lists::store::Row>) {}"),
    ("path in a pattern", "fn f() { if let crate::lists::store::Row { .. } = it {} }"),
    ("path of a trait", "impl crate::lists::store::Find for A {}"),
    ("tokens of a macro", "fn f() { join!(a, crate::lists::store::find(1)) }"),
    ("group in the tokens of a macro", "m! { use crate::{kernel::Id, lists::{store::find}}; }"),
    ("definition of a macro", "macro_rules! m { () => { $crate::lists::store::find() } }"),
    ("macro", "fn f() { crate::lists::store::query!(1) }"),
    ("attribute", "#[crate::lists::store::checked] fn f() {}"),
    ("derive", "#[derive(Debug, crate::lists::store::Row)] struct A;"),
    ("text in an attribute", "#[serde(with = \"crate::lists::store\")] struct A;"),
    ("public import", "pub use crate::lists::store::find;"),
    ("import in a function", "fn f() { use crate::lists::store::find; find() }"),
    ("inline module", "mod inner { use super::super::super::super::lists::store::find; }"),
    ("name from a glob", "use super::*; fn f() { lists::store::find() }"),
    ("raw identifier", "fn f() { crate::r#lists::store::find() }"),
];

#[test]
fn a_forbidden_import_is_found_in_every_form() {
    for (form, text) in FORMS {
        let files = [
            ("millrace", "mod kernel; mod lists; mod campaigns;"),
            ("millrace::lists", "mod model; mod store;"),
            ("millrace::campaigns::ops", "use crate::lists; mod send;"),
            ("millrace::campaigns::ops::send", *text),
        ];
        let found = found_by(boundaries::foreign_stores, &files);
        assert!(!found.is_empty(), "{form}: {text}");
    }
}

#[test]
fn what_only_looks_like_an_import_is_none() {
    for text in [
        "// use crate::lists::store::find;\nfn f() {}",
        "/// [`crate::lists::store::find`]\nfn f() {}",
        "pub(in crate::lists::store) fn f() {}",
        "fn f() { log(\"crate::lists::store is a text of words\") }",
        "use super::store::find;",
        "mod lists { pub mod store {} } fn f() { lists::store::find() }",
        "use crate::lists::ops::find;",
    ] {
        let files = [("millrace::campaigns::ops::send", text)];
        let found = found_by(boundaries::foreign_stores, &files);
        assert!(found.is_empty(), "{text}: {found:?}");
    }
}

#[test]
fn each_rule_finds_what_it_forbids() {
    let up = [("millrace::lists::store", "use super::{model::List, ops::find};")];
    assert_eq!(found_by(boundaries::layers_up, &up).len(), 1);
    let nested = [("contacts::lists::model::parts", "use super::super::api::Body;")];
    assert_eq!(found_by(boundaries::layers_up, &nested).len(), 1);
    let own = [("campaigns::model", "use crate::{ops::find, model::Campaign};")];
    assert_eq!(found_by(boundaries::layers_up, &own).len(), 1);
    let sideways = [("millrace::lists::ops", "use crate::{consent, delivery::ops::send};")];
    assert_eq!(found_by(boundaries::sideways, &sideways).len(), 1);
    let store = [("delivery::ops", "use contacts::{consent::store::find, lists::ops::all};")];
    assert_eq!(found_by(boundaries::foreign_stores, &store).len(), 1);
    let exported = [
        ("millrace", "pub use contacts::lists;"),
        ("contacts", "pub mod lists;"),
        ("contacts::lists", "mod store;"),
        ("millrace::sdk::ops", "fn f() { crate::lists::store::find() }"),
    ];
    assert_eq!(found_by(boundaries::foreign_stores, &exported).len(), 1);
    let http = [("millrace::lists::model", "use crate::http::Path; fn f(a: axum::Json<u8>) {}")];
    assert_eq!(found_by(boundaries::http_in_models, &http).len(), 2);
    let sql = [("millrace::lists::ops", "use sqlx::query_as; fn f() { sqlx::query!(\"\") }")];
    assert_eq!(found_by(boundaries::sql_outside_stores, &sql).len(), 2);
    let in_store = [("millrace::lists::store::rows", "use sqlx::query_as;")];
    assert!(found_by(boundaries::sql_outside_stores, &in_store).is_empty());
}

#[test]
fn a_cycle_of_modules_is_found() {
    let cycle = |it: &[Import<'_>]| modules_in_cycles("web", it);
    let files = [
        ("web::http::body", "use crate::auth::Caller;"),
        ("web::auth", "fn f() { crate::db::find() }"),
        ("web::db", "use super::http::Error;"),
        ("web::links", "use crate::db;"),
    ];
    assert_eq!(found_by(cycle, &files).len(), 3);
    let tests = [
        ("web::http", "#[cfg(test)] mod tests { use crate::auth::Caller; }"),
        ("web::auth", "use crate::http::Error;"),
    ];
    assert!(found_by(cycle, &tests).is_empty());
}

#[test]
fn a_cycle_of_files_is_found() {
    let files = [
        ("web", "pub mod http;"),
        ("web::http", "mod rate; mod quota; pub use self::rate::Rate; fn f() { quota::check() }"),
        ("web::http::rate", "use super::quota::Quota;"),
        ("web::http::quota", "fn f() { let it = crate::http::rate::Rate::NONE; }"),
        ("web::http::page", "use super::{helper, rate::Rate};"),
    ];
    let modules = files.map(|(module, _)| module.split("::").map(str::to_owned).collect());
    let modules: Vec<Vec<String>> = modules.into();
    let known = modules.iter().map(Vec::as_slice).collect();
    let found = found_by(|it| files_in_cycles(&known, it), &files);
    assert_eq!(found.len(), 2, "{found:?}");
}
