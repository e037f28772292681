//! One statement: what it may be, and what the engine gets in its place.
//!
//! A statement is cut into words ([`words`]), its settings and its format are taken out ([`clauses`]), functions are
//! looked up in an allow-list ([`functions`]), names of databases are replaced by those of the views ([`names`]), and it is
//! written anew. `SHOW`, `DESCRIBE` and `EXISTS` are answered by statements made here ([`metadata`]). What was written is
//! then parsed by the engine, and its syntax tree is checked once more ([`tree`]).

mod calls;
mod casts;
mod clauses;
pub(crate) mod functions;
mod metadata;
mod names;
mod node;
mod tree;
mod words;

use analytics::sql_access::ViewDatabases;

use self::{
    functions::Denied,
    words::{Kind, Word},
};
use crate::fault::{Code, Fault};

pub(crate) use self::{clauses::check_format, tree::Tree};

/// A parameter of a statement: `{name:Type}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Param {
    pub(crate) name: String,
    pub(crate) value: String,
}

/// A setting of a statement or of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) name: String,
    pub(crate) value: String,
}

/// What a statement may reach.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reach<'a> {
    pub(crate) databases: &'a ViewDatabases,
    pub(crate) denied: &'a Denied,
}

/// A statement that may run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Statement {
    /// What the engine gets, without a format.
    pub(crate) text: String,
    /// The format that it names itself.
    pub(crate) format: Option<String>,
    /// The database that unqualified names mean.
    pub(crate) database: String,
    /// Settings that it names itself.
    pub(crate) settings: Vec<Setting>,
    /// Its parameters, without those that are names.
    pub(crate) params: Vec<Param>,
    /// What its syntax tree must be like; none where nothing of it is the caller's.
    pub(crate) tree: Option<Tree>,
    pub(crate) kind: &'static str,
    /// Whether the client asks for the version of the native format.
    pub(crate) asks_for_version: bool,
    /// What is alike in statements that differ in their values alone.
    pub(crate) fingerprint: u64,
}

impl Statement {
    /// Reads a statement, or refuses it.
    pub(crate) fn read(
        text: &str,
        mut params: Vec<Param>,
        reach: Reach<'_>,
    ) -> Result<Self, Fault> {
        let mut words = words::cut(text)?;
        while words.last().is_some_and(|word| word.is_mark(';')) {
            words.pop();
        }
        if words.iter().any(|word| word.is_mark(';')) {
            return Err(Fault::syntax("Multi-statements are not allowed"));
        }
        names::fill_in(&mut words, &mut params)?;
        let fingerprint = fingerprint(&words);
        let asks_for_version = names::asks_for_version(&words);
        let settings = clauses::take_settings(&mut words)?;
        let format = clauses::take_format(&mut words)?;
        let Some(first) = words.first() else {
            return Err(Fault::syntax("Empty query"));
        };
        let asked = if first.is_mark('(') || first.is_any(&["SELECT", "WITH", "FROM"]) {
            query("select", words, reach)?
        } else if first.is("EXPLAIN") {
            explain(words, reach)?
        } else if first.is_any(&["DESCRIBE", "DESC"]) {
            metadata::describe(words, reach)?
        } else if first.is("SHOW") {
            metadata::show(&words, reach)?
        } else if first.is("EXISTS") {
            metadata::exists(&words, reach)?
        } else if first.is("USE") {
            metadata::use_database(&words, reach)?
        } else {
            return Err(Fault::new(
                Code::Readonly,
                "Cannot execute query in readonly mode: one SELECT, EXPLAIN, DESCRIBE, SHOW or EXISTS is taken",
            ));
        };
        Ok(Self {
            text: asked.text,
            format,
            database: asked.database,
            settings,
            params,
            tree: asked.tree,
            kind: asked.kind,
            asks_for_version,
            fingerprint,
        })
    }
}

/// A statement without its settings and its format.
#[derive(Debug)]
struct Asked {
    kind: &'static str,
    text: String,
    database: String,
    tree: Option<Tree>,
}

impl Asked {
    /// A statement in which nothing is the caller's but texts in quotes.
    fn own(kind: &'static str, text: String, reach: Reach<'_>) -> Self {
        Self { kind, text, database: reach.databases.whole.clone(), tree: None }
    }
}

fn query(kind: &'static str, mut words: Vec<Word>, reach: Reach<'_>) -> Result<Asked, Fault> {
    clauses::refuse_outfile(&words)?;
    let applied = calls::check(&words, reach.denied)?;
    let database = if names_people(&words) || kind != "select" {
        &reach.databases.whole
    } else {
        &reach.databases.without_people
    };
    names::replace(&mut words, database, reach.databases)?;
    let text = words::written(&words);
    words::confirm(&words, &text)?;
    Ok(Asked { kind, text, database: database.clone(), tree: Some(Tree::new(reach, applied)) })
}

/// The views with `person_id` cost a join. Without this name and without `*` no statement asks for it.
fn names_people(words: &[Word]) -> bool {
    words.iter().enumerate().any(|(at, word)| {
        word.name() == Some("person_id")
            || word.is_any(&["COLUMNS", "NATURAL"])
            || word.is_mark('*') && !is_count(words, at) && !multiplies(words, at)
    })
}

/// Whether the asterisk there is that of `count(*)`.
fn is_count(words: &[Word], at: usize) -> bool {
    let [counted, open] = [2, 1].map(|back| at.checked_sub(back).and_then(|it| words.get(it)));
    counted.is_some_and(|word| word.is("COUNT"))
        && open.is_some_and(|word| word.is_mark('('))
        && words.get(at + 1).is_some_and(|word| word.is_mark(')'))
}

/// Whether the asterisk there follows a value. In `TOP 5 *` and `DISTINCT ON (a) *` it does not.
fn multiplies(words: &[Word], at: usize) -> bool {
    let Some((before, earlier)) = words.get(..at).and_then(|it| it.split_last()) else {
        return false;
    };
    let ends_with = |earlier: &[Word]| earlier.last().is_some_and(|it| it.is_any(&["TOP", "ON"]));
    match before.kind {
        Kind::Number => !ends_with(earlier),
        _ if before.is_mark(']') => true,
        _ if before.is_mark(')') => !ends_with(before_brackets(earlier)),
        _ => false,
    }
}

/// What stands before the brackets that close behind these words.
fn before_brackets(words: &[Word]) -> &[Word] {
    let mut open = 1_usize;
    let begin = words.iter().rposition(|word| {
        open += usize::from(word.is_mark(')'));
        open -= usize::from(word.is_mark('('));
        open == 0
    });
    begin.and_then(|begin| words.get(..begin)).unwrap_or_default()
}

const EXPLAINED: [&[&str]; 5] =
    [&["AST"], &["SYNTAX"], &["QUERY", "TREE"], &["PLAN"], &["PIPELINE"]];

/// `EXPLAIN` without options: those of plans show how large the tables of all workspaces are.
fn explain(mut words: Vec<Word>, reach: Reach<'_>) -> Result<Asked, Fault> {
    let mut what = "PLAN".to_owned();
    let mut length = 1;
    for kind in EXPLAINED {
        let named = words.get(1..=kind.len()).unwrap_or_default();
        if named.len() == kind.len()
            && named.iter().zip(kind).all(|(word, expected)| word.is(expected))
        {
            what = kind.join(" ");
            length = kind.len() + 1;
        }
    }
    let explained = words.split_off(length.min(words.len()));
    let is_query = explained
        .first()
        .is_some_and(|word| word.is_mark('(') || word.is_any(&["SELECT", "WITH", "FROM"]));
    if !is_query {
        return Err(Fault::denied(
            "EXPLAIN takes AST, SYNTAX, QUERY TREE, PLAN or PIPELINE, no options, and a SELECT",
        ));
    }
    let inner = query("explain", explained, reach)?;
    Ok(Asked { text: format!("EXPLAIN {what} {}", inner.text), ..inner })
}

fn fingerprint(words: &[Word]) -> u64 {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hasher = DefaultHasher::new();
    for word in words {
        match word.kind {
            Kind::Text | Kind::Number => "?".hash(&mut hasher),
            Kind::Bare => word.text.to_ascii_lowercase().hash(&mut hasher),
            Kind::Quoted | Kind::Mark => word.text.hash(&mut hasher),
        }
    }
    hasher.finish()
}

#[cfg(test)]
mod tests;
