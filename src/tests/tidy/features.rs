//! Libraries have the same features in the program and in its tests, so that each is built once.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
};

use crate::sources::root;

/// The features of each library in the tree that these arguments of `cargo tree` select.
fn features(arguments: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .current_dir(root())
        .args(["tree", "--offline", "--locked", "--prefix", "none", "--format", "{p}\t{f}"])
        .args(arguments)
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut all = BTreeMap::<String, BTreeSet<String>>::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let (library, features) = line.split_once('\t').unwrap_or((line, ""));
        let features = features.trim_end_matches("(*)").trim();
        let features = features.split(',').filter(|it| !it.is_empty()).map(ToOwned::to_owned);
        all.entry(library.to_owned()).or_default().extend(features);
    }
    all
}

#[test]
fn tests_share_the_libraries_of_the_program() {
    let program = features(&["--package", "millrace", "--edges", "normal"]);
    assert!(program.len() > 100, "the tree of the program is read");
    let tests = features(&["--workspace", "--edges", "normal,dev"]);
    let of_tests_only: Vec<String> = program
        .iter()
        .filter_map(|(library, features)| {
            let more: Vec<&String> = tests.get(library)?.difference(features).collect();
            (!more.is_empty()).then(|| format!("{library}: {more:?}"))
        })
        // Its features concern macros; the program has none of it, only what is built for the host.
        .filter(|it| !it.starts_with("proc-macro2 "))
        .collect();
    assert_eq!(of_tests_only, [""; 0], "add these features to src/workspace_hack/Cargo.toml");
}
