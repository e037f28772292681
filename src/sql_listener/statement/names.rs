//! Names of databases and tables: those that callers see, and those that the engine has.

use analytics::sql_access::{OPEN_SYSTEM_TABLES, ViewDatabases};

use super::{
    Param,
    words::{Kind, Word},
};
use crate::{
    catalog::{DATABASE, SYSTEM_VIEWS},
    fault::{Code, Fault},
};

/// The database with what there is.
pub(super) const SYSTEM: &str = "system";
const INFORMATION_SCHEMA: &str = "information_schema";
/// A function without arguments whose value is what callers see, and not what the engine has.
struct OfSession {
    name: &'static str,
    /// Its value in SQL.
    value: &'static str,
}

const fn of_session(name: &'static str, value: &'static str) -> OfSession {
    OfSession { name, value }
}

const OF_SESSION: [OfSession; 10] = [
    of_session("currentDatabase", "'millrace'"),
    of_session("current_database", "'millrace'"),
    of_session("database", "'millrace'"),
    of_session("schema", "'millrace'"),
    of_session("currentUser", "'default'"),
    of_session("current_user", "'default'"),
    of_session("session_user", "'default'"),
    of_session("user", "'default'"),
    of_session("displayName", "'millrace'"),
    // Answers are in version 0 of the native format.
    of_session(REVISION, "toUInt32(0)"),
];
/// Clients that choose a version of the native format ask for it.
const REVISION: &str = "revision";

fn known(name: &str) -> Option<&'static OfSession> {
    OF_SESSION.iter().find(|known| known.name.eq_ignore_ascii_case(name))
}

/// Whether calls of it are replaced by their value.
pub(super) fn is_replaced(name: &str) -> bool {
    known(name).is_some()
}

/// The value of `currentDatabase()` and its like, where these words begin with such a call.
pub(super) fn value_of_call(words: &[Word]) -> Option<&'static str> {
    let [name, open, close, ..] = words else { return None };
    let is_call = name.kind == Kind::Bare && open.is_mark('(') && close.is_mark(')');
    known(&name.text).filter(|_| is_call).map(|known| known.value)
}

/// Whether a client asks for the version of the native format, to read answers in it.
pub(super) fn asks_for_version(words: &[Word]) -> bool {
    words
        .windows(2)
        .any(|two| matches!(two, [name, open] if name.is(REVISION) && open.is_mark('(')))
}

/// Puts parameters that are names in their places: `{table:Identifier}`.
pub(super) fn fill_in(words: &mut Vec<Word>, params: &mut Vec<Param>) -> Result<(), Fault> {
    let mut at = 0;
    while at < words.len() {
        let Some(name) = identifier_param(words.get(at..).unwrap_or_default()) else {
            at += 1;
            continue;
        };
        let param = params.iter().find(|param| param.name == name);
        let value =
            &param.ok_or_else(|| Fault::bad(format!("Parameter {name} has no value")))?.value;
        let mut filled = Vec::new();
        for part in value.split('.') {
            let is_name = !part.is_empty()
                && !part.contains(['\\', '`', '"'])
                && !part.chars().any(char::is_control);
            if !is_name {
                return Err(Fault::bad(format!("Parameter {name} is not a name")));
            }
            if !filled.is_empty() {
                filled.push(Word { spaced: false, ..Word::verbatim(".") });
            }
            let spaced = filled.is_empty();
            let depth = words.get(at).map_or(0, |word| word.depth);
            filled.push(Word { depth, spaced, ..Word::quoted(part) });
        }
        let length = filled.len();
        words.splice(at..at + PARAM_WORDS, filled);
        at += length;
    }
    let is_used = |param: &Param| {
        words.windows(2).any(|two| {
            matches!(two, [open, name] if open.is_mark('{') && name.name() == Some(&param.name))
        })
    };
    params.retain(is_used);
    Ok(())
}

/// `{`, a name, `:`, `Identifier`, `}`.
const PARAM_WORDS: usize = 5;

fn identifier_param(words: &[Word]) -> Option<&str> {
    let [open, name, colon, kind, close, ..] = words else { return None };
    let is_param =
        open.is_mark('{') && colon.is_mark(':') && kind.is("Identifier") && close.is_mark('}');
    name.name().filter(|_| is_param)
}

/// Replaces names of databases, and calls whose value is another here.
pub(super) fn replace(
    words: &mut Vec<Word>,
    views: &str,
    databases: &ViewDatabases,
) -> Result<(), Fault> {
    let mut at = 0;
    while at < words.len() {
        if let Some(value) = value_of_call(words.get(at..).unwrap_or_default()) {
            let call = call_of(words, at, value);
            words.splice(at..at + 3, [call]);
            if let Some(next) = words.get_mut(at + 1) {
                next.spaced |= next.kind != Kind::Mark;
            }
        } else if is_qualifier(words, at) {
            let table = words.get(at + 2).and_then(Word::name).unwrap_or_default().to_owned();
            let Some(word) = words.get_mut(at) else { break };
            if let Some(database) = database_of(&word.text, &table, views, databases)? {
                word.text = database.to_owned();
                word.kind = Kind::Quoted;
            }
        }
        at += 1;
    }
    Ok(())
}

/// A name at this place, with a point and a name behind it and no point before it.
fn is_qualifier(words: &[Word], at: usize) -> bool {
    let is_point =
        |at: Option<usize>| at.and_then(|at| words.get(at)).is_some_and(|it| it.is_mark('.'));
    words.get(at).is_some_and(|word| word.name().is_some())
        && !is_point(at.checked_sub(1))
        && is_point(Some(at + 1))
        && words.get(at + 2).is_some_and(|word| word.name().is_some())
}

/// The engine's database for a qualified name; none where it stays as it is.
fn database_of<'a>(
    database: &str,
    table: &str,
    views: &'a str,
    databases: &'a ViewDatabases,
) -> Result<Option<&'a str>, Fault> {
    let unknown =
        |name: String| Err(Fault::new(Code::UnknownTable, format!("{name} does not exist here")));
    if database == DATABASE {
        Ok(Some(views))
    } else if database == SYSTEM {
        if OPEN_SYSTEM_TABLES.contains(&table) {
            Ok(None)
        } else if SYSTEM_VIEWS.contains(&table) {
            Ok(Some(&databases.system))
        } else {
            unknown(format!("Table {SYSTEM}.{}", table.escape_default()))
        }
    } else if database.eq_ignore_ascii_case(INFORMATION_SCHEMA)
        || databases.all().contains(&database)
    {
        unknown(format!("Database {}", database.escape_default()))
    } else {
        Ok(None)
    }
}

/// The value in place of a call; under the name of the call, where it is a column of the answer.
fn call_of(words: &[Word], at: usize, value: &str) -> Word {
    let after = words.get(at + 3);
    let is_last = after.is_none_or(|word| word.is_mark(',') || word.is("FROM"));
    let (name, depth, spaced) =
        words.get(at).map_or(("", 0, true), |word| (word.text.as_str(), word.depth, word.spaced));
    let text =
        if is_last && depth == 0 { format!("({value} AS `{name}()`)") } else { value.to_owned() };
    Word { depth, spaced, ..Word::verbatim(text) }
}
