//! Which crate may depend on which, by their manifests.

use std::collections::BTreeSet;

use crate::sources::Workspace;

/// Crates of the workspace that each may depend on. A new crate is added here with what it is made of.
const ALLOWED: &[(&str, &[&str])] = &[
    ("kernel", &[]),
    ("statistics", &[]),
    ("supervisor", &[]),
    ("tidy", &[]),
    ("loadtest", &[]),
    ("clickhouse-embedded", &[]),
    ("ingest", &["supervisor"]),
    ("analytics", &["ingest"]),
    ("content", &["kernel"]),
    ("settings", &["kernel"]),
    ("engines", &["kernel", "settings", "supervisor", "clickhouse-embedded"]),
    ("web", &["kernel", "settings", "engines", "supervisor", "ingest", "analytics"]),
    (
        "sender_domains",
        &["kernel", "settings", "engines", "supervisor", "ingest", "analytics", "web"],
    ),
    (
        "contacts",
        &["kernel", "settings", "engines", "supervisor", "ingest", "analytics", "web", "content"],
    ),
    (
        "campaigns",
        &[
            "kernel",
            "settings",
            "engines",
            "supervisor",
            "ingest",
            "analytics",
            "web",
            "content",
            "statistics",
            "contacts",
            "sender_domains",
        ],
    ),
    (
        "stats",
        &[
            "kernel",
            "settings",
            "engines",
            "supervisor",
            "ingest",
            "analytics",
            "web",
            "content",
            "statistics",
            "contacts",
            "campaigns",
        ],
    ),
    ("providers", &["kernel", "settings", "engines", "supervisor", "content", "web"]),
    (
        "delivery",
        &[
            "kernel",
            "settings",
            "engines",
            "supervisor",
            "ingest",
            "analytics",
            "web",
            "content",
            "statistics",
            "contacts",
            "sender_domains",
            "campaigns",
            "stats",
            "providers",
        ],
    ),
    (
        "sdk",
        &[
            "kernel",
            "settings",
            "engines",
            "supervisor",
            "ingest",
            "analytics",
            "web",
            "content",
            "statistics",
            "contacts",
            "campaigns",
            "stats",
            "delivery",
        ],
    ),
];

/// Crates that do without these libraries: what needs no HTTP server or PostgreSQL has none.
const WITHOUT: &[(&str, &[&str])] = &[
    ("ingest", &["axum", "sqlx"]),
    ("analytics", &["axum", "sqlx"]),
    ("clickhouse-embedded", &["axum", "sqlx"]),
    ("loadtest", &["axum", "sqlx"]),
    ("kernel", &["axum", "http", "sqlx", "tokio", "reqwest"]),
    ("statistics", &["axum", "http", "sqlx", "tokio", "reqwest"]),
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
            let is_allowed = allowed.is_none_or(|(_, them)| them.contains(&used.as_str()));
            assert!(is_allowed, "{package} may not depend on {used}");
        }
    }
}

#[test]
fn the_table_of_crates_is_a_hierarchy() {
    for (at, (package, allowed)) in ALLOWED.iter().enumerate() {
        let below: Vec<&str> = ALLOWED[..at].iter().map(|(name, _)| *name).collect();
        for used in *allowed {
            assert!(
                below.contains(used),
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
