//! Where paths lead: names that were imported, renamed or declared in a module are replaced by what they stand for.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use crate::{
    paths::{Names, Use},
    sources::{Source, Workspace},
};

/// Steps after which a path is taken as it is: imports may refer to each other.
const STEPS_MAX: usize = 16;

/// A path that begins with the name of a crate.
#[derive(Debug, Clone)]
pub(crate) struct Import<'a> {
    pub(crate) source: &'a Source,
    /// The module that imports; below that of the file where modules are declared inline.
    pub(crate) from: Vec<String>,
    pub(crate) to: Vec<String>,
    pub(crate) line: usize,
    pub(crate) is_test: bool,
}

impl Import<'_> {
    pub(crate) fn goes_to(&self) -> String {
        self.to.join("::")
    }
}

/// Every import of the workspace.
pub(crate) fn all() -> &'static [Import<'static>] {
    static RESOLVED: LazyLock<Vec<Import<'static>>> = LazyLock::new(|| {
        let workspace = Workspace::get();
        resolve(&workspace.sources, |krate| {
            let krate = workspace.krate(krate).or_else(|| workspace.krate("millrace"))?;
            let names = krate.dependencies.union(&krate.dev_dependencies);
            Some(names.map(|name| name.replace('-', "_")).collect())
        })
    });
    &RESOLVED
}

/// Resolves the paths of these files. `dependencies` names the crates that a crate may name.
pub(crate) fn resolve(
    sources: &[Source],
    dependencies: impl Fn(&str) -> Option<BTreeSet<String>>,
) -> Vec<Import<'_>> {
    let mut modules: BTreeMap<Vec<String>, Names> = BTreeMap::new();
    for source in sources {
        for (module, names) in &source.syntax.names {
            modules.insert(module.clone(), names.clone());
        }
    }
    let mut found = Vec::new();
    for source in sources {
        let mut externs = dependencies(source.krate()).unwrap_or_default();
        externs.extend(["std", "core", "alloc"].map(str::to_owned));
        externs.insert(source.krate().to_owned());
        let resolver = Resolver { modules: &modules, externs };
        for it in &source.syntax.uses {
            for to in resolver.absolute(it) {
                let (from, line, is_test) = (it.scope.clone(), it.line, it.is_test);
                found.push(Import { source, from, to, line, is_test });
            }
        }
    }
    found
}

struct Resolver<'a> {
    modules: &'a BTreeMap<Vec<String>, Names>,
    externs: BTreeSet<String>,
}

impl Resolver<'_> {
    fn absolute(&self, it: &Use) -> BTreeSet<Vec<String>> {
        let mut found = BTreeSet::new();
        if it.is_extern {
            found.insert(it.path.clone());
        } else {
            self.relative(&it.scope, &it.path, STEPS_MAX, &mut found);
        }
        found.into_iter().map(|path| self.through_reexports(path)).collect()
    }

    /// Absolute forms of a path in a module.
    fn relative(
        &self,
        scope: &[String],
        path: &[String],
        steps: usize,
        found: &mut BTreeSet<Vec<String>>,
    ) {
        let Some(first) = path.first().filter(|_| steps > 0) else { return };
        match first.as_str() {
            "crate" => drop(found.insert([&scope[..1], &path[1..]].concat())),
            "self" => drop(found.insert(flatten([scope, &path[1..]].concat()))),
            "super" => drop(found.insert(flatten([scope, path].concat()))),
            name => {
                let before = found.len();
                self.named(scope, path, steps, found);
                if found.len() == before && self.externs.contains(name) {
                    found.insert(path.to_vec());
                }
            }
        }
    }

    /// What the first name of a path in a module stands for: a module of it, an import, or an import by a glob.
    fn named(
        &self,
        scope: &[String],
        path: &[String],
        steps: usize,
        found: &mut BTreeSet<Vec<String>>,
    ) {
        let Some(names) = self.modules.get(scope).filter(|_| steps > 0) else { return };
        let (name, rest) = (&path[0], &path[1..]);
        if names.children.contains(name) {
            found.insert([scope, path].concat());
        }
        for imported in names.imported.get(name).into_iter().flatten() {
            // `use chrono;` imports the name it names.
            if imported.len() > 1 || imported[0] != *name {
                self.relative(scope, &[imported, rest].concat(), steps - 1, found);
            }
        }
        for glob in &names.globs {
            let mut modules = BTreeSet::new();
            if glob.first().is_some_and(|first| first != name) {
                self.relative(scope, glob, steps - 1, &mut modules);
            }
            for module in modules.iter().filter(|module| *module != scope) {
                self.named(module, path, steps - 1, found);
            }
        }
    }

    /// Replaces a module's name under which another module is exported by where that one is. Other items stay as they
    /// are: what an area exports by name is its interface.
    fn through_reexports(&self, mut path: Vec<String>) -> Vec<String> {
        for _ in 0..STEPS_MAX {
            let exported = (1..path.len()).find_map(|at| {
                let names = self.modules.get(&path[..at])?;
                let imported = names.imported.get(&path[at])?;
                let mut targets = BTreeSet::new();
                for target in imported.iter().filter(|_| !names.children.contains(&path[at])) {
                    self.relative(&path[..at], target, STEPS_MAX, &mut targets);
                }
                let module = targets.into_iter().find(|it| {
                    self.modules.contains_key(it)
                        && *it != path[..=at]
                        && it.as_slice() != &path[..at]
                })?;
                Some([&module, &path[at + 1..]].concat())
            });
            match exported {
                Some(exported) => path = exported,
                None => break,
            }
        }
        path
    }
}

/// Applies `super` within a path.
fn flatten(path: Vec<String>) -> Vec<String> {
    let mut flat: Vec<String> = Vec::new();
    for name in path {
        match name.as_str() {
            "super" => drop(flat.pop()),
            "self" => {}
            _ => flat.push(name),
        }
    }
    flat
}
