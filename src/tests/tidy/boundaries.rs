//! Which area may use which, and which layer of it.

use std::collections::BTreeSet;

use crate::{
    at_most,
    imports::{self, Import},
    sources::{Finding, Source, Workspace},
};

/// From the lowest: each may use itself and those before it.
const LAYERS: [&str; 4] = ["model", "store", "ops", "api"];

/// Areas each area may use, besides itself. What is no area (`kernel`, `http`, `auth`, …) is free.
const SIDEWAYS: &[(&str, &[&str])] = &[
    ("audience", &["people_mirror"]),
    ("callbacks", &["delivery"]),
    ("campaigns", &["audience", "lists", "sender_domains"]),
    ("consent", &["suppressions"]),
    // Messages are made of campaigns: campaigns know nothing of delivery.
    (
        "delivery",
        &[
            "audience",
            "campaigns",
            "consent",
            "events",
            "lists",
            "sender_domains",
            "stats",
            "suppressions",
            "users",
        ],
    ),
    ("events", &["audience"]),
    // Profiles are read as users are.
    ("exports", &["users"]),
    ("hosted_page", &["consent", "delivery"]),
    ("identity", &["consent", "users"]),
    ("insights", &["audience"]),
    ("lists", &["consent"]),
    // Reads the tables of others by statements of its own, each of which sees one state of all of them.
    ("people_mirror", &[]),
    // Deletes rows of every area by statements of its own.
    ("privacy", &["events", "people_mirror"]),
    // Calls of event SDKs become changes of profiles and links; what is refused late is listed with refused events.
    ("profile_calls", &["events", "identity", "users"]),
    // Apps may do what callers of the API may do, by the same functions.
    (
        "sdk",
        &[
            "audience",
            "campaigns",
            "consent",
            "delivery",
            "events",
            "lists",
            "profile_calls",
            "users",
        ],
    ),
    // Members of a segment are answered as all profiles are.
    ("segments", &["audience", "users"]),
    ("sender_domains", &[]),
    ("stats", &["campaigns", "events", "people_mirror", "users"]),
    ("suppressions", &[]),
    // A link that leads nowhere answers with the page of other links.
    ("tracking", &["delivery", "hosted_page"]),
    // An event becomes a message of a campaign.
    ("triggers", &["audience", "campaigns", "delivery", "events"]),
    // A profile is answered with its segments.
    ("users", &["audience", "consent", "events", "suppressions"]),
];

/// Crates that areas are in. A crate may be one itself.
const WITH_AREAS: [&str; 17] = [
    "audience",
    "callbacks",
    "campaigns",
    "contacts",
    "delivery",
    "exports",
    "identity",
    "insights",
    "millrace",
    "people_mirror",
    "privacy",
    "recipient_pages",
    "sdk",
    "segments",
    "sender_domains",
    "stats",
    "suppressions",
];

/// Crates that a model layer may not use: it has neither a caller nor a store.
const NOT_IN_MODELS: [&str; 5] = ["axum", "http", "hyper", "sqlx", "tower"];

const LAYERS_UP_REMAINING: usize = 0;
const FOREIGN_STORES_REMAINING: usize = 0;
const SIDEWAYS_REMAINING: usize = 0;
const HTTP_IN_MODELS_REMAINING: usize = 0;
const SQL_OUTSIDE_STORES_REMAINING: usize = 0;

/// An area of the product, and what of it a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part<'a> {
    area: &'a str,
    layer: Option<usize>,
    store: bool,
}

/// The modules of areas: those named in the table at the root of a crate, or a crate of that name itself.
fn part(path: &[String]) -> Option<Part<'_>> {
    let is_area = |name: &str| SIDEWAYS.iter().any(|(area, _)| *area == name);
    let at = match path {
        [krate, module, ..] if WITH_AREAS.contains(&krate.as_str()) && is_area(module) => 1,
        [krate, ..] if WITH_AREAS.contains(&krate.as_str()) && is_area(krate) => 0,
        _ => return None,
    };
    let layer = path.get(at + 1).and_then(|name| LAYERS.iter().position(|it| it == name));
    let store = path.get(at + 1).is_some_and(|name| name == "store");
    Some(Part { area: &path[at], layer, store })
}

fn finding(import: &Import<'_>, what: &str) -> Finding {
    import.source.finding(import.line, format!("{what} {}", import.goes_to()))
}

pub(crate) fn layers_up(imports: &[Import<'_>]) -> Vec<Finding> {
    let upwards = |it: &&Import<'_>| {
        let (Some(from), Some(to)) = (part(&it.from), part(&it.to)) else { return false };
        from.area == to.area
            && matches!((from.layer, to.layer), (Some(from), Some(to)) if to > from)
    };
    imports.iter().filter(upwards).map(|it| finding(it, "a lower layer uses")).collect()
}

pub(crate) fn foreign_stores(imports: &[Import<'_>]) -> Vec<Finding> {
    let foreign = |it: &&Import<'_>| {
        let to = part(&it.to).filter(|to| to.store);
        to.is_some_and(|to| part(&it.from).is_none_or(|from| from.area != to.area))
    };
    imports.iter().filter(foreign).map(|it| finding(it, "uses the store")).collect()
}

pub(crate) fn sideways(imports: &[Import<'_>]) -> Vec<Finding> {
    let forbidden = |it: &&Import<'_>| {
        let (Some(from), Some(to)) = (part(&it.from), part(&it.to)) else { return false };
        let allowed = SIDEWAYS.iter().find(|(area, _)| *area == from.area);
        from.area != to.area && !allowed.is_some_and(|(_, allowed)| allowed.contains(&to.area))
    };
    imports.iter().filter(forbidden).map(|it| finding(it, "an area may not use")).collect()
}

pub(crate) fn http_in_models(imports: &[Import<'_>]) -> Vec<Finding> {
    let forbidden = |it: &&Import<'_>| {
        let is_http = match it.to.as_slice() {
            [krate, module, ..] if krate == "millrace" || krate == "web" => module == "http",
            [krate, ..] => NOT_IN_MODELS.contains(&krate.as_str()),
            [] => false,
        };
        is_http && part(&it.from).is_some_and(|from| from.layer == Some(0))
    };
    imports.iter().filter(forbidden).map(|it| finding(it, "a model uses")).collect()
}

pub(crate) fn sql_outside_stores(imports: &[Import<'_>]) -> Vec<Finding> {
    let is_sql = |it: &&Import<'_>| {
        let to = it.to.iter().map(String::as_str).collect::<Vec<_>>();
        let asks = matches!(to.as_slice(), ["sqlx", it, ..] if it.starts_with("query") || *it == "raw_sql");
        let is_store = it.from.iter().any(|module| module == "store" || module == "db");
        asks && !is_store
    };
    imports.iter().filter(is_sql).map(|it| finding(it, "SQL outside a store:")).collect()
}

fn is_server(source: &Source) -> bool {
    source.path.starts_with("src") && !source.path.starts_with("src/tests")
}

fn production() -> Vec<Import<'static>> {
    let of_program = |it: &&Import<'static>| is_server(it.source) && !it.is_test;
    imports::all().iter().filter(of_program).cloned().collect()
}

#[test]
fn layers_of_an_area_only_use_lower_ones() {
    at_most(LAYERS_UP_REMAINING, "imports of a higher layer", layers_up(&production()));
}

#[test]
fn no_area_uses_the_store_of_another() {
    at_most(FOREIGN_STORES_REMAINING, "imports of a foreign store", foreign_stores(&production()));
}

#[test]
fn areas_use_only_the_areas_listed_for_them() {
    at_most(SIDEWAYS_REMAINING, "imports of an area not listed", sideways(&production()));
}

#[test]
fn models_use_neither_http_nor_sql() {
    at_most(HTTP_IN_MODELS_REMAINING, "imports of HTTP in models", http_in_models(&production()));
}

#[test]
fn sql_is_in_stores_only() {
    at_most(SQL_OUTSIDE_STORES_REMAINING, "SQL outside stores", sql_outside_stores(&production()));
}

#[test]
fn every_area_is_listed() {
    let listed: BTreeSet<&str> = SIDEWAYS.iter().map(|(area, _)| *area).collect();
    let mut found = BTreeSet::new();
    for source in Workspace::get().production().filter(|it| is_server(it)) {
        // What has a store alone, or an endpoint alone, is a part of the kit.
        let layered = source.module.iter().position(|name| name == "ops" || name == "model");
        if let Some(at) = layered.filter(|at| *at > 0 && WITH_AREAS.contains(&source.krate())) {
            found.insert(source.module[at - 1].as_str());
        }
        found.extend(part(&source.module).map(|it| it.area));
    }
    assert_eq!(found, listed, "modules with layers, and the areas of the table");
}

#[test]
fn the_kernel_knows_nothing_above_it_and_does_no_io() {
    let is_kernel = |it: &&Import<'_>| it.from.iter().take(2).any(|name| name == "kernel");
    let forbidden = |it: &&Import<'_>| {
        let to: Vec<&str> = it.to.iter().map(String::as_str).collect();
        match to.as_slice() {
            // The conversion of this error into the kernel's can be written in no other crate.
            ["sqlx", "Error", ..] => false,
            ["std", "net", kind, ..] => kind.starts_with("Tcp") || kind.starts_with("Udp"),
            ["axum" | "sqlx" | "tokio", ..] | ["std", "fs", ..] => true,
            ["millrace", module, ..] => *module != "kernel",
            _ => false,
        }
    };
    let production = production();
    let found = production.iter().filter(is_kernel).filter(forbidden);
    at_most(0, "imports of the kernel", found.map(|it| finding(it, "the kernel uses")).collect());
}

#[test]
fn analytics_uses_only_the_model_of_ingest() {
    let forbidden = |it: &&Import<'_>| {
        it.from[0] == "analytics"
            && it.to[0] == "ingest"
            && it.to.get(1).is_none_or(|m| m != "model")
    };
    let found = imports::all().iter().filter(forbidden).map(|it| finding(it, "analytics uses"));
    at_most(0, "imports of ingest", found.collect());
}
