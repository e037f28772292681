//! Sizes of files and crates, and calls that belong to one place.

use std::collections::BTreeMap;

use crate::{
    at_most, imports,
    sources::{Finding, Source, Workspace, files, root},
};

const FILE_LINES_MAX: usize = 600;
/// Above this a crate is compiled slowly and is hard to know.
const CRATE_LINES_MAX: usize = 16_000;

fn rust() -> impl Iterator<Item = &'static Source> {
    Workspace::get().sources.iter()
}

#[test]
fn files_can_be_read_in_a_sitting() {
    for source in rust() {
        let lines = source.text.lines().count();
        assert!(lines <= FILE_LINES_MAX, "{} has {lines} lines", source.path.display());
    }
}

#[test]
fn crates_are_small() {
    let mut lines: BTreeMap<&str, usize> = BTreeMap::new();
    for source in Workspace::get().production() {
        let own = source.text.lines().count() - source.syntax.test_lines;
        *lines.entry(source.krate()).or_default() += own;
    }
    println!("lines of crates: {lines:?}");
    for (krate, lines) in lines {
        assert!(lines <= CRATE_LINES_MAX, "{krate} has {lines} lines");
    }
}

#[test]
fn every_module_says_its_purpose_in_its_first_line() {
    for source in rust() {
        let path = source.path.display();
        assert!(source.text.starts_with("//!"), "{path} does not start with `//!`");
    }
}

#[test]
fn modules_have_names_of_their_subjects() {
    for source in rust() {
        let stem = source.path.file_stem().unwrap().to_str().unwrap();
        for vague in ["utils", "util", "helpers", "common", "misc", "manager"] {
            assert_ne!(stem, vague, "{}", source.path.display());
        }
    }
}

#[test]
fn the_clock_is_read_in_one_place() {
    let reads = |it: &&imports::Import<'_>| {
        let ends_with = |end: [&str; 2]| it.to.len() > 1 && it.to[it.to.len() - 2..] == end;
        let is_read = [["SystemTime", "now"], ["Utc", "now"], ["Local", "now"]].map(ends_with);
        is_read.contains(&true)
    };
    let elsewhere = imports::all().iter().filter(reads).filter(|it| {
        let is_kernel = it.source.path.ends_with("kernel/clock.rs");
        !is_kernel && it.source.krate() != "loadtest" && it.source.krate() != "integration"
    });
    let found = elsewhere.map(|it| it.source.finding(it.line, it.goes_to())).collect();
    at_most(0, "reads of the clock", found);
}

#[test]
fn unsafe_code_stays_where_the_foreign_library_is_loaded() {
    let mut found: Vec<Finding> = Vec::new();
    for source in rust().filter(|it| !it.path.starts_with("analytics/embedded/src/ffi")) {
        if source.path.ends_with("analytics/embedded/src/ffi.rs") {
            continue;
        }
        let words = source.syntax.identifiers.iter().filter(|it| it.text == "unsafe");
        found.extend(words.map(|it| source.finding(it.line, "unsafe code")));
    }
    at_most(0, "unsafe code", found);
}

#[test]
fn metrics_are_recorded_by_the_catalogue_only() {
    let mut found = Vec::new();
    for source in Workspace::get().production() {
        if source.krate() == "metrics_catalogue" {
            continue;
        }
        let macros = source
            .syntax
            .macros
            .iter()
            .filter(|it| ["counter", "gauge", "histogram"].contains(&it.text.as_str()));
        found.extend(macros.map(|it| source.finding(it.line, format!("{}!", it.text))));
    }
    at_most(0, "metrics recorded by their bare name", found);
}

#[test]
fn every_sql_file_is_included_exactly_once() {
    let code: String =
        rust().filter(|it| it.krate() == "analytics").map(|it| it.text.as_str()).collect();
    let own = files("sql").into_iter().filter(|(path, _)| path.starts_with("analytics/src/sql"));
    let mut count = 0;
    for (path, text) in own.filter(|(path, _)| path.components().count() == 4) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let uses = code.matches(&format!("/{name}\"")).count()
            + code.matches(&format!("\"{name}\"")).count();
        assert_eq!(uses, 1, "{name} is included {uses} times");
        assert!(text.starts_with("--"), "{name} does not say the question it answers");
        count += 1;
    }
    assert!(count > 50 && root().is_dir(), "{count} files");
}
