//! Which crate may depend on which, by their manifests.

use std::collections::BTreeSet;

use crate::sources::Workspace;

/// Crates of the workspace that each may depend on, those below first. A new dependency is added here deliberately.
const ALLOWED: &[(&str, &str)] = &[
    ("kernel", ""),
    ("metrics_catalogue", ""),
    ("statistics", ""),
    ("tables", ""),
    ("workspace_hack", ""),
    ("supervisor", "metrics_catalogue"),
    ("traces", "metrics_catalogue"),
    ("tidy", ""),
    ("loadtest", ""),
    ("clickhouse-embedded", ""),
    ("landed_keys", ""),
    ("ingest", "landed_keys metrics_catalogue supervisor traces"),
    ("analytics", "kernel metrics_catalogue traces ingest"),
    ("content", "kernel metrics_catalogue"),
    ("config", "kernel"),
    ("engines", "kernel metrics_catalogue config supervisor clickhouse-embedded ingest analytics"),
    ("web", "kernel metrics_catalogue supervisor traces ingest analytics"),
    ("members", "kernel web"),
    ("console_view", "kernel web"),
    ("console_core", "kernel web members console_view"),
    ("console_campaigns", "kernel web console_core"),
    ("console", "kernel web members console_core console_campaigns"),
    ("sql_listener", "kernel metrics_catalogue config supervisor analytics web"),
    ("suppressions", "kernel metrics_catalogue supervisor web"),
    ("people_mirror", "kernel metrics_catalogue supervisor analytics"),
    ("audience", "kernel metrics_catalogue analytics web people_mirror"),
    ("contacts", "kernel metrics_catalogue supervisor ingest analytics web suppressions audience"),
    ("exports", "kernel tables analytics web contacts"),
    ("identity", "kernel metrics_catalogue supervisor analytics web contacts"),
    ("privacy", "kernel metrics_catalogue supervisor ingest analytics web people_mirror contacts"),
    ("retention", "kernel metrics_catalogue supervisor analytics web identity"),
    ("segments", "kernel web audience contacts"),
    ("insights", "kernel statistics tables analytics web audience contacts"),
    ("sender_domains", "kernel web"),
    (
        "campaigns",
        "kernel metrics_catalogue config content statistics engines supervisor analytics web audience contacts sender_domains",
    ),
    ("stats", "kernel statistics analytics web people_mirror contacts campaigns"),
    ("providers", "kernel config content engines ingest sender_domains campaigns"),
    (
        "delivery",
        "kernel metrics_catalogue config content statistics supervisor traces ingest web suppressions audience contacts sender_domains campaigns stats providers",
    ),
    (
        "backup",
        "kernel config engines ingest analytics web people_mirror identity privacy campaigns delivery",
    ),
    ("callbacks", "kernel metrics_catalogue config supervisor web providers delivery"),
    ("recipient_pages", "kernel metrics_catalogue content web contacts providers delivery"),
    (
        "sdk",
        "kernel metrics_catalogue engines supervisor ingest web audience contacts identity campaigns providers delivery",
    ),
];

/// Crates that do without these libraries: what needs no HTTP server or PostgreSQL has none.
const WITHOUT: &[(&str, &[&str])] = &[
    ("ingest", &["axum", "sqlx"]),
    ("analytics", &["axum", "sqlx"]),
    ("clickhouse-embedded", &["axum", "sqlx"]),
    ("loadtest", &["axum", "sqlx"]),
    // It may depend on sqlx, for one conversion of errors that Rust allows nowhere else.
    ("kernel", &["axum", "http", "tokio", "reqwest"]),
    ("statistics", &["axum", "http", "sqlx", "tokio", "reqwest"]),
    ("tables", &["axum", "http", "sqlx", "tokio", "reqwest"]),
    ("content", &["axum", "sqlx"]),
];

#[test]
fn crates_depend_only_on_the_crates_below_them() {
    let workspace = Workspace::get();
    let members: BTreeSet<&str> = workspace.crates.iter().map(|it| it.package.as_str()).collect();
    for krate in &workspace.crates {
        let package = krate.package.as_str();
        let allowed = ALLOWED.iter().find(|(name, _)| *name == package);
        // The program itself is made of all.
        assert!(allowed.is_some() || package == "millrace", "{package} is not in the table");
        for used in krate.dependencies.iter().filter(|it| members.contains(it.as_str())) {
            let is_allowed = allowed.is_none_or(|(_, them)| them.split(' ').any(|it| it == used));
            assert!(is_allowed, "{package} may not depend on {used}");
        }
    }
}

#[test]
fn the_table_of_crates_is_a_hierarchy() {
    for (at, (package, allowed)) in ALLOWED.iter().enumerate() {
        let below: Vec<&str> = ALLOWED[..at].iter().map(|(name, _)| *name).collect();
        for used in allowed.split_terminator(' ') {
            assert!(
                below.contains(&used),
                "{package} may use {used}, which is not listed before it"
            );
        }
    }
}

#[test]
fn crates_without_a_server_or_a_database_depend_on_none() {
    let workspace = Workspace::get();
    for (package, without) in WITHOUT {
        let krate = workspace.crates.iter().find(|it| it.package == *package);
        for library in krate.iter().flat_map(|it| &it.dependencies) {
            assert!(!without.contains(&library.as_str()), "{package} may not depend on {library}");
        }
    }
}

/// Only switches on features, see its manifest.
const FEATURES_ONLY: &str = "workspace_hack";

/// Packages whose library has another name.
const LIBRARIES: &[(&str, &str)] = &[("rustls-webpki", "webpki")];

#[test]
fn dependencies_are_used_outside_of_tests() {
    let workspace = Workspace::get();
    let mut all: Vec<String> = Vec::new();
    for krate in workspace.crates.iter().filter(|krate| krate.package != FEATURES_ONLY) {
        let name = krate.name();
        let used: BTreeSet<&str> = workspace
            .production()
            .filter(|source| source.krate() == name)
            .flat_map(|source| &source.syntax.uses)
            .filter(|used| !used.is_test)
            .map(|used| used.path[0].as_str())
            .collect();
        let is_used = |package: &&String| {
            let renamed = LIBRARIES.iter().find(|(from, _)| from == package);
            let library = renamed.map_or(package.replace('-', "_"), |(_, to)| (*to).to_owned());
            used.contains(library.as_str())
        };
        let unused = krate.dependencies.iter().filter(|it| *it != FEATURES_ONLY && !is_used(it));
        all.extend(unused.map(|it| format!("{name}: {it}")));
    }
    assert_eq!(all, [""; 0], "what only tests use is a dev-dependency");
}
