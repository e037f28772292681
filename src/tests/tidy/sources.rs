//! The workspace as its manifests and folders describe it: crates, files, modules.

use std::{
    collections::BTreeSet,
    fmt, fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use crate::{
    paths::{self, Syntax},
    words::{self, Word},
};

/// Folders without sources of the project.
const SKIPPED: [&str; 6] = [".git", "target", "data", "node_modules", "snapshots", ".sqlx"];

/// A line of a file, and what is wrong there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    pub(crate) path: PathBuf,
    pub(crate) line: usize,
    pub(crate) what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path.display(), self.line, self.what)
    }
}

/// A Rust file of a crate.
#[derive(Debug)]
pub(crate) struct Source {
    /// Relative to the project's root.
    pub(crate) path: PathBuf,
    /// The name of its crate in Rust, and the modules down to it.
    pub(crate) module: Vec<String>,
    pub(crate) text: String,
    /// All words of the text in small letters, each with its line.
    pub(crate) words: Vec<Word>,
    pub(crate) syntax: Syntax,
}

impl Source {
    pub(crate) fn parse(path: &Path, module: &[String], text: String, is_test: bool) -> Self {
        let file = syn::parse_file(&text)
            .unwrap_or_else(|error| panic!("{} is not Rust: {error}", path.display()));
        let mut syntax = paths::read(&file, module, is_test);
        paths::identifiers(text.parse().unwrap(), &mut syntax.identifiers);
        let words = words::words(&text);
        Self { path: path.to_owned(), module: module.to_vec(), text, words, syntax }
    }

    pub(crate) fn finding(&self, line: usize, what: impl Into<String>) -> Finding {
        Finding { path: self.path.clone(), line, what: what.into() }
    }

    /// The crate's name in Rust.
    pub(crate) fn krate(&self) -> &str {
        &self.module[0]
    }

    /// Whether the whole file is compiled for tests only.
    pub(crate) fn is_test(&self) -> bool {
        self.syntax.is_test
    }
}

/// A member of the workspace.
#[derive(Debug)]
pub(crate) struct Crate {
    /// As the manifest has it.
    pub(crate) package: String,
    /// Names of direct dependencies, as the manifest has them; those of tests only are left out.
    pub(crate) dependencies: BTreeSet<String>,
    /// Likewise those of tests, examples and benches.
    pub(crate) dev_dependencies: BTreeSet<String>,
    /// Whether the examples in its documentation are compiled and run.
    pub(crate) runs_examples: bool,
}

impl Crate {
    /// The name that paths in Rust begin with.
    pub(crate) fn name(&self) -> String {
        self.package.replace('-', "_")
    }
}

/// All members and their sources.
#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) crates: Vec<Crate>,
    pub(crate) sources: Vec<Source>,
}

impl Workspace {
    pub(crate) fn get() -> &'static Self {
        static READ: LazyLock<Workspace> = LazyLock::new(Workspace::read);
        &READ
    }

    fn read() -> Self {
        let root = root();
        let manifest = manifest(&root);
        let members = manifest["workspace"]["members"].as_array().unwrap();
        let (mut crates, mut sources) = (Vec::new(), Vec::new());
        for member in members.iter().map(|member| root.join(member.as_str().unwrap())) {
            let manifest = self::manifest(&member);
            let package = manifest["package"]["name"].as_str().unwrap().to_owned();
            let names = |table: &str| -> BTreeSet<String> {
                let table = manifest.get(table).and_then(toml::Value::as_table);
                table.map(|it| it.keys().cloned().collect()).unwrap_or_default()
            };
            let dependencies =
                names("dependencies").union(&names("build-dependencies")).cloned().collect();
            let library = |key: &str| manifest.get("lib").and_then(|lib| lib.get(key));
            let found = Crate {
                package,
                dependencies,
                dev_dependencies: names("dev-dependencies"),
                runs_examples: library("doctest").and_then(toml::Value::as_bool) != Some(false),
            };
            let name = found.name();
            crates.push(found);
            let library = library("path").and_then(toml::Value::as_str).unwrap_or("src/lib.rs");
            let library = member.join(library);
            let tests = manifest.get("test").and_then(toml::Value::as_array).into_iter().flatten();
            let tests: Vec<_> = tests
                .map(|test| {
                    let file = member.join(test["path"].as_str().unwrap());
                    (test["name"].as_str().unwrap().to_owned(), file.parent().unwrap().to_owned())
                })
                .collect();
            let mut reader =
                Reader { root: &root, is_test: false, apart: &tests, sources: &mut sources };
            if library.is_file() {
                reader.folder(library.parent().unwrap(), &[name]);
            }
            for (name, folder) in &tests {
                let mut reader =
                    Reader { root: &root, is_test: true, apart: &[], sources: &mut sources };
                reader.folder(folder, std::slice::from_ref(name));
            }
        }
        mark_tests(&mut sources);
        Self { crates, sources }
    }

    pub(crate) fn krate(&self, name: &str) -> Option<&Crate> {
        self.crates.iter().find(|krate| krate.name() == name)
    }

    /// Files that are compiled into a program or library.
    pub(crate) fn production(&self) -> impl Iterator<Item = &Source> {
        self.sources.iter().filter(|source| !source.is_test())
    }
}

pub(crate) fn root() -> PathBuf {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().skip(1);
    let is_root = |folder: &&Path| {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
        manifest.contains("[workspace]")
    };
    above.into_iter().find(is_root).unwrap().to_owned()
}

fn manifest(folder: &Path) -> toml::Table {
    let path = folder.join("Cargo.toml");
    let text = fs::read_to_string(&path).unwrap();
    text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Paths in a folder, sorted.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    entries
}

fn name_of(path: &Path) -> String {
    path.file_stem().unwrap().to_str().unwrap().to_owned()
}

/// Reads the files of one crate: not those of crates and tests whose folders lie inside it.
struct Reader<'a> {
    root: &'a Path,
    is_test: bool,
    apart: &'a [(String, PathBuf)],
    sources: &'a mut Vec<Source>,
}

impl Reader<'_> {
    fn folder(&mut self, folder: &Path, module: &[String]) {
        for path in entries(folder) {
            let inside = |name: String| [module, &[name]].concat();
            if path.is_dir() {
                let is_other = path.join("Cargo.toml").is_file();
                if !is_other && !self.apart.iter().any(|(_, folder)| *folder == path) {
                    self.folder(&path, &inside(name_of(&path)));
                }
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = name_of(&path);
                let module = match name.as_str() {
                    "mod" | "lib" => module.to_vec(),
                    _ => inside(name),
                };
                let text = fs::read_to_string(&path).unwrap();
                let path = path.strip_prefix(self.root).unwrap();
                self.sources.push(Source::parse(path, &module, text, self.is_test));
            }
        }
    }
}

/// A file is of tests where the module that declares it, or one above, is.
fn mark_tests(sources: &mut [Source]) {
    let declared: BTreeSet<Vec<String>> =
        sources.iter().flat_map(|source| source.syntax.test_modules.iter().cloned()).collect();
    for source in sources {
        let is_below = (1..=source.module.len()).any(|n| declared.contains(&source.module[..n]));
        if is_below {
            source.syntax.is_test = true;
            source.syntax.uses.iter_mut().for_each(|it| it.is_test = true);
        }
    }
}

/// Files of the project with this extension, relative to its root.
pub(crate) fn files(extension: &str) -> Vec<(PathBuf, String)> {
    fn walk(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
        for path in entries(folder) {
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() {
                if !SKIPPED.contains(&name) {
                    walk(&path, extension, found);
                }
            } else if path.extension().is_some_and(|it| it == extension) {
                found.push(path);
            }
        }
    }
    let (root, mut found) = (root(), Vec::new());
    walk(&root, extension, &mut found);
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        (path.strip_prefix(&root).unwrap().to_owned(), text)
    };
    found.into_iter().map(read).collect()
}
