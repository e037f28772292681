//! What a linter cannot hold: the dependency rules of the rooms, and the habits of the house.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Source files of a crate or room, relative to the project's root.
fn sources(room: &str) -> Vec<(PathBuf, String)> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        let mut entries: Vec<_> =
            fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
        entries.sort();
        for path in entries {
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    walk(&root.join(room), &mut found);
    found
        .into_iter()
        .map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            (path.strip_prefix(root).unwrap().to_owned(), text)
        })
        .collect()
}

fn server_sources() -> Vec<(PathBuf, String)> {
    sources("src").into_iter().filter(|(path, _)| !path.starts_with("src/tests")).collect()
}

/// Every `first::` segment that the code of `text` names after one of `roots`, comments left out.
fn named_after(text: &str, root: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for line in text.lines().map(str::trim_start).filter(|line| !line.starts_with("//")) {
        for (at, _) in line.match_indices(root) {
            let before = line[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            let rest = &line[at + root.len()..];
            let listed = rest.strip_prefix('{').map_or(rest, |list| list);
            let group = rest.starts_with('{');
            let words: Vec<&str> = if group { listed.split(',').collect() } else { vec![listed] };
            for word in words {
                let name: String =
                    word.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                if !name.is_empty() {
                    names.insert(name);
                }
            }
        }
    }
    names
}

#[test]
fn crates_only_know_the_crates_below_them() {
    let forbidden: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("ingest/src", &["axum", "sqlx", "analytics", "millrace", "clickhouse_embedded"][..]),
        ("analytics/src", &["axum", "sqlx", "millrace", "clickhouse_embedded"][..]),
        ("analytics/embedded/src", &["axum", "sqlx", "millrace", "ingest", "analytics"][..]),
        ("loadtest/src", &["axum", "sqlx", "millrace", "ingest", "analytics"][..]),
    ]);
    for (room, crates) in forbidden {
        for (path, text) in sources(room) {
            for name in crates {
                let used = text.lines().map(str::trim_start).any(|line| {
                    !line.starts_with("//")
                        && (line.starts_with(&format!("use {name}::"))
                            || line.contains(&format!(" {name}::"))
                            || line.contains(&format!("({name}::")))
                });
                assert!(!used, "{} may not use the crate {name}", path.display());
            }
        }
    }
    for (path, text) in sources("analytics/src") {
        for used in named_after(&text, "ingest::") {
            assert_eq!(
                used,
                "model",
                "{}: analytics knows of ingest only its model",
                path.display()
            );
        }
    }
}

/// Areas each area may reach sideways, besides itself. The kit (`kernel`, `http`, `auth`, `app`) is free.
const SIDEWAYS: &[(&str, &[&str])] = &[
    ("audience", &["consent"]),
    ("callbacks", &["delivery"]),
    ("campaigns", &["audience", "lists", "audit", "sender_domains"]),
    ("consent", &["suppressions"]),
    // What leaves is made of what a campaign is: campaigns know nothing of delivery.
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
    ("events", &[]),
    ("hosted_page", &["consent", "delivery"]),
    ("lists", &["consent"]),
    // What apps may do is done by those who do it for the API.
    ("sdk", &["audience", "campaigns", "consent", "delivery", "events", "lists", "users"]),
    ("sender_domains", &[]),
    ("stats", &["campaigns"]),
    ("suppressions", &[]),
    // Who follows a link that leads nowhere sees the page other links show.
    ("tracking", &["delivery", "hosted_page"]),
    // What came in makes messages of what campaigns say.
    ("triggers", &["audience", "campaigns", "delivery"]),
    ("users", &["consent", "events"]),
];

#[test]
fn areas_reach_sideways_only_where_the_design_allows() {
    let areas: BTreeSet<&str> = SIDEWAYS.iter().map(|(area, _)| *area).collect();
    for (area, allowed) in SIDEWAYS {
        for (path, text) in sources(&format!("src/{area}")) {
            for used in named_after(&text, "crate::") {
                let foreign_area = areas.contains(used.as_str()) && used != *area;
                assert!(
                    !foreign_area || allowed.contains(&used.as_str()),
                    "{}: {area} may not use {used}",
                    path.display()
                );
            }
        }
    }
}

#[test]
fn the_kernel_knows_nothing_above_it_and_does_no_io() {
    for (path, text) in sources("src/kernel") {
        let used = named_after(&text, "crate::");
        assert!(used.iter().all(|name| name == "kernel"), "{}: uses {used:?}", path.display());
        for outside in ["axum::", "sqlx::", "tokio::", "std::fs", "std::net"] {
            assert!(!text.contains(outside), "{}: mentions {outside}", path.display());
        }
    }
}

#[test]
fn inside_an_area_the_rungs_only_go_down() {
    let rungs = ["model", "store", "ops", "api"];
    for (area, _) in SIDEWAYS {
        for (path, text) in sources(&format!("src/{area}")) {
            let rung_of = |name: &str| rungs.iter().position(|rung| *rung == name);
            let inside = path.strip_prefix(format!("src/{area}")).unwrap();
            let first = inside.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs");
            let Some(own) = rung_of(first) else { continue };
            for used in named_after(&text, &format!("crate::{area}::")) {
                if let Some(other) = rung_of(&used) {
                    assert!(other <= own, "{}: {first} reaches up to {used}", path.display());
                }
            }
        }
    }
}

#[test]
fn sql_lives_in_stores_and_sql_files_only() {
    for (path, text) in server_sources() {
        let in_store = path.iter().any(|part| part == "store" || part == "store.rs");
        let in_kit = path.starts_with("src/db");
        if in_store || in_kit {
            continue;
        }
        for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
            assert!(
                !line.contains("sqlx::query") && !line.contains("query!("),
                "{}: SQL outside a store: {line}",
                path.display()
            );
        }
    }
}

#[test]
fn every_module_says_its_idea_in_its_first_line() {
    for room in ["src", "ingest/src", "analytics/src", "analytics/embedded/src", "loadtest/src"] {
        for (path, text) in sources(room) {
            assert!(text.starts_with("//!"), "{} does not start with `//!`", path.display());
        }
    }
}

#[test]
fn no_drawer_modules() {
    for room in ["src", "ingest/src", "analytics/src", "analytics/embedded/src", "loadtest/src"] {
        for (path, _) in sources(room) {
            let stem = path.file_stem().unwrap().to_str().unwrap();
            for drawer in ["utils", "util", "helpers", "common", "misc", "manager"] {
                assert_ne!(stem, drawer, "{}", path.display());
            }
        }
    }
}

#[test]
fn files_can_be_read_in_a_sitting() {
    for room in ["src", "ingest/src", "analytics/src", "analytics/embedded/src", "loadtest/src"] {
        for (path, text) in sources(room) {
            let lines = text.lines().count();
            assert!(lines <= 600, "{} has {lines} lines", path.display());
        }
    }
}

#[test]
fn the_clock_is_read_in_one_place() {
    for room in ["src", "ingest/src", "analytics/src"] {
        for (path, text) in sources(room) {
            if path.ends_with("kernel/clock.rs") || path.starts_with("src/tests") {
                continue;
            }
            for call in ["SystemTime::now", "Utc::now", "Local::now"] {
                assert!(!text.contains(call), "{}: {call}", path.display());
            }
        }
    }
}

#[test]
fn unsafe_code_stays_where_the_foreign_library_is_loaded() {
    for room in ["src", "ingest/src", "analytics/src", "analytics/embedded/src", "loadtest/src"] {
        for (path, text) in sources(room) {
            let ffi = path.to_str().unwrap().starts_with("analytics/embedded/src/ffi");
            let uses = text.lines().any(|line| {
                let code = line.trim_start();
                !code.starts_with("//")
                    && !path.ends_with("tidy.rs")
                    && (code.contains("unsafe {")
                        || code.contains("unsafe fn")
                        || code.contains("unsafe impl"))
            });
            assert!(ffi || !uses, "{} has unsafe code", path.display());
        }
    }
}

#[test]
fn every_sql_file_is_included_exactly_once() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let code: String = sources("analytics/src").into_iter().map(|(_, text)| text).collect();
    for entry in fs::read_dir(root.join("analytics/src/sql")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let uses = code.matches(&format!("/{name}\"")).count()
            + code.matches(&format!("\"{name}\"")).count();
        assert_eq!(uses, 1, "{name} is included {uses} times");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("--"), "{name} does not say the question it answers");
    }
}

/// The names under which types with a schema are described.
fn described_types(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let (mut in_derive, mut derives, mut alias) = (false, false, None);
    for line in text.lines().map(str::trim_start) {
        if let Some(rest) = line.strip_prefix("#[schema(").filter(|_| derives) {
            let named = rest.split("as = ").nth(1);
            alias = named.map(|it| it.split([',', ')']).next().unwrap().to_owned()).or(alias);
        }
        in_derive |= line.starts_with("#[derive(");
        derives |= in_derive && line.contains("ToSchema");
        in_derive &= !line.contains(")]");
        let declared = line.split("struct ").nth(1).or_else(|| line.split("enum ").nth(1));
        if let Some(declared) =
            declared.filter(|_| line.starts_with("pub") || line.starts_with(['s', 'e']))
        {
            let name = declared.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap();
            if derives && !name.is_empty() {
                names.push(alias.take().unwrap_or_else(|| name.to_owned()));
            }
            (derives, alias) = (false, None);
        }
    }
    names
}

#[test]
fn no_two_types_are_described_under_one_name() {
    assert_eq!(
        described_types(
            "#[derive(A, ToSchema)]\n#[schema(as = B, x)]\npub struct C {\n#[derive(A)]\nenum D {"
        ),
        ["B"]
    );
    let mut described: BTreeMap<String, PathBuf> = BTreeMap::new();
    for (path, text) in server_sources() {
        for name in described_types(&text) {
            if let Some(other) = described.insert(name.clone(), path.clone()) {
                panic!("{name} is described by {} and by {}", other.display(), path.display());
            }
        }
    }
    assert!(described.len() > 200, "{} types", described.len());
}
