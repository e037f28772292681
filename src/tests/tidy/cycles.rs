//! Modules of a crate that import each other in a circle.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    at_most,
    imports::{self, Import},
    sources::{Finding, Workspace},
};

/// Modules at the root of a crate that are in an import cycle.
const MODULES_IN_CYCLES_REMAINING: usize = 0;

/// Files of a crate that are in an import cycle.
const FILES_IN_CYCLES_REMAINING: usize = 0;

type Graph<'a, N> = BTreeMap<N, BTreeMap<N, &'a Import<'a>>>;

/// Which module at the root of this crate imports which, each with one import as an example. The root itself puts
/// them together and is left out.
fn graph<'a>(krate: &str, imports: &'a [Import<'a>]) -> Graph<'a, &'a str> {
    let mut graph: Graph<'a, &str> = BTreeMap::new();
    let modules: BTreeSet<&str> = imports
        .iter()
        .filter(|it| it.from[0] == krate && it.from.len() > 1)
        .map(|it| it.from[1].as_str())
        .collect();
    for import in imports.iter().filter(|it| !it.is_test && it.from[0] == krate) {
        let ([_, from, ..], [of, to, ..]) = (import.from.as_slice(), import.to.as_slice()) else {
            continue;
        };
        if of == krate && from != to && modules.contains(to.as_str()) {
            graph.entry(from).or_default().entry(to).or_insert(import);
        }
    }
    graph
}

/// Which file imports from which. Modules put the modules below them together, so these imports are left out.
fn graph_of_files<'a>(
    modules: &BTreeSet<&'a [String]>,
    imports: &'a [Import<'a>],
) -> Graph<'a, &'a [String]> {
    let mut graph: Graph<'a, &[String]> = BTreeMap::new();
    for import in imports.iter().filter(|it| !it.is_test) {
        let from = import.source.module.as_slice();
        let prefixes = (1..=import.to.len()).rev().map(|end| &import.to[..end]);
        let to = prefixes.into_iter().find(|it| modules.contains(it));
        if let Some(to) = to.filter(|to| !to.starts_with(from)) {
            graph.entry(from).or_default().entry(to).or_insert(import);
        }
    }
    graph
}

fn reachable<N: Copy + Ord>(graph: &Graph<'_, N>, from: N) -> BTreeSet<N> {
    let (mut found, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(module) = open.pop() {
        for next in graph.get(&module).into_iter().flat_map(BTreeMap::keys) {
            if found.insert(*next) {
                open.push(*next);
            }
        }
    }
    found
}

/// Each module in a cycle, with the modules of that cycle which it imports.
pub(crate) fn modules_in_cycles(krate: &str, imports: &[Import<'_>]) -> Vec<Finding> {
    let graph = graph(krate, imports);
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        graph.keys().map(|module| (*module, reachable(&graph, module))).collect();
    let mut found = Vec::new();
    for (module, next) in graph.iter().filter(|(module, _)| reached[*module].contains(*module)) {
        let back =
            next.iter().filter(|(to, _)| reached.get(*to).is_some_and(|it| it.contains(module)));
        let edges: Vec<String> = back
            .map(|(to, it)| format!("{to} ({}:{})", it.source.path.display(), it.line))
            .collect();
        found.push(Finding {
            path: krate.into(),
            line: 0,
            what: format!("{module} imports, in a cycle: {}", edges.join(", ")),
        });
    }
    found
}

#[test]
fn no_modules_of_a_crate_import_each_other_in_a_cycle() {
    let workspace = Workspace::get();
    let server = workspace.crates.iter().map(crate::sources::Crate::name).filter(|name| {
        let own = workspace.sources.iter().filter(|it| it.krate() == name);
        own.clone().any(|it| it.path.starts_with("src") && !it.is_test())
    });
    let found = server.flat_map(|name| modules_in_cycles(&name, imports::all())).collect();
    at_most(MODULES_IN_CYCLES_REMAINING, "modules in import cycles", found);
}

/// Each file in a cycle, with the imports that make it.
pub(crate) fn files_in_cycles(
    modules: &BTreeSet<&[String]>,
    imports: &[Import<'_>],
) -> Vec<Finding> {
    let graph = graph_of_files(modules, imports);
    let mut found = Vec::new();
    for (file, next) in &graph {
        for (to, import) in next {
            if reachable(&graph, *to).contains(file) {
                let what =
                    format!("{} and {} are in an import cycle", file.join("::"), to.join("::"));
                found.push(import.source.finding(import.line, what));
            }
        }
    }
    found
}

#[test]
fn no_files_import_each_other_in_a_cycle() {
    let workspace = Workspace::get();
    let modules = workspace.production().map(|it| it.module.as_slice()).collect();
    let found = files_in_cycles(&modules, imports::all());
    at_most(FILES_IN_CYCLES_REMAINING, "files in import cycles", found);
}
