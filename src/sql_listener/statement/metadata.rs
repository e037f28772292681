//! `SHOW`, `DESCRIBE`, `EXISTS` and `USE`: rewritten for the views, never passed on as sent.

use super::{
    Asked, Reach, names,
    words::{self, Kind, Word},
};
use crate::{
    catalog::{DATABASE, SYSTEM_VIEWS, VIEWS},
    fault::{Code, Fault},
};
use analytics::sql_access::OPEN_SYSTEM_TABLES;

/// A name of a table, with its database where it has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TableName<'a> {
    database: &'a str,
    table: &'a str,
}

impl<'a> TableName<'a> {
    /// Reads `table` or `database.table`, and gives the rest.
    fn read(words: &'a [Word]) -> Result<(Self, &'a [Word]), Fault> {
        let name = |word: &'a Word| word.name().ok_or_else(|| Fault::syntax("A name is expected"));
        match words {
            [database, point, table, rest @ ..] if point.is_mark('.') => {
                Ok((Self { database: name(database)?, table: name(table)? }, rest))
            }
            [table, rest @ ..] => Ok((Self { database: DATABASE, table: name(table)? }, rest)),
            [] => Err(Fault::syntax("A name is expected")),
        }
    }

    fn exists(self) -> bool {
        match self.database {
            DATABASE => VIEWS.contains(&self.table),
            names::SYSTEM => {
                SYSTEM_VIEWS.contains(&self.table) || OPEN_SYSTEM_TABLES.contains(&self.table)
            }
            _ => false,
        }
    }

    /// The name that the engine knows it by.
    fn in_engine(self, reach: Reach<'_>) -> Result<String, Fault> {
        if !self.exists() {
            return Err(unknown_table(self));
        }
        let database = match self.database {
            DATABASE => &reach.databases.whole,
            _ if SYSTEM_VIEWS.contains(&self.table) => &reach.databases.system,
            _ => names::SYSTEM,
        };
        Ok(format!("`{database}`.`{}`", self.table))
    }
}

fn unknown_table(TableName { database, table }: TableName<'_>) -> Fault {
    let (database, table) = (database.escape_default(), table.escape_default());
    Fault::new(Code::UnknownTable, format!("Table {database}.{table} does not exist"))
}

fn expect_end(words: &[Word]) -> Result<(), Fault> {
    match words.first() {
        None => Ok(()),
        Some(word) => Err(Fault::syntax(format!("Unexpected {}", word.text.escape_default()))),
    }
}

/// `DESCRIBE [TABLE] name` or `DESCRIBE [TABLE] (query)`.
pub(super) fn describe(mut words: Vec<Word>, reach: Reach<'_>) -> Result<Asked, Fault> {
    let skipped = if words.get(1).is_some_and(|word| word.is("TABLE")) { 2 } else { 1 };
    words.drain(..skipped.min(words.len()));
    if words.first().is_some_and(|word| word.is_mark('(')) {
        let asked = super::query("describe", words, reach)?;
        return Ok(Asked { text: format!("DESCRIBE TABLE {}", asked.text), ..asked });
    }
    let (name, rest) = TableName::read(&words)?;
    expect_end(rest)?;
    Ok(Asked::own("describe", format!("DESCRIBE TABLE {}", name.in_engine(reach)?), reach))
}

/// `EXISTS [TABLE | VIEW | DATABASE] name`.
pub(super) fn exists(words: &[Word], reach: Reach<'_>) -> Result<Asked, Fault> {
    let words = words.get(1..).unwrap_or_default();
    let is_database = words.first().is_some_and(|word| word.is("DATABASE"));
    let skips = words.len() > 1
        && words.first().is_some_and(|word| word.is_any(&["TABLE", "VIEW", "DATABASE"]));
    let (name, rest) = TableName::read(words.get(usize::from(skips)..).unwrap_or_default())?;
    expect_end(rest)?;
    let found =
        if is_database { [DATABASE, names::SYSTEM].contains(&name.table) } else { name.exists() };
    Ok(Asked::own("exists", format!("SELECT toUInt8({}) AS result", u8::from(found)), reach))
}

/// `USE millrace`, which changes nothing: there is no other database, and no session.
pub(super) fn use_database(words: &[Word], reach: Reach<'_>) -> Result<Asked, Fault> {
    let [_, database] = words else { return Err(Fault::syntax("USE names one database")) };
    if database.name() != Some(DATABASE) {
        let name = database.text.escape_default();
        return Err(Fault::new(Code::UnknownDatabase, format!("Database {name} does not exist")));
    }
    Ok(Asked::own("use", "SELECT 1 WHERE 0".to_owned(), reach))
}

/// `SHOW DATABASES`, `SHOW TABLES` and `SHOW COLUMNS`.
pub(super) fn show(words: &[Word], reach: Reach<'_>) -> Result<Asked, Fault> {
    let mut rest = words.get(1..).unwrap_or_default();
    while rest.first().is_some_and(|word| word.is_any(&["FULL", "EXTENDED"])) {
        rest = rest.get(1..).unwrap_or_default();
    }
    let [what, rest @ ..] = rest else { return Err(Fault::syntax("SHOW what?")) };
    let system = &reach.databases.system;
    let text = if what.is_any(&["DATABASES", "SCHEMAS"]) {
        let condition = pattern("name", rest)?;
        format!("SELECT name FROM `{system}`.databases WHERE {condition} ORDER BY name")
    } else if what.is("TABLES") {
        let (database, rest) = of_database(rest)?;
        let condition = pattern("name", rest)?;
        match database.unwrap_or(DATABASE) {
            DATABASE => {
                format!("SELECT name FROM `{system}`.tables WHERE {condition} ORDER BY name")
            }
            names::SYSTEM => {
                let tables = SYSTEM_VIEWS.iter().chain(&OPEN_SYSTEM_TABLES);
                let tables: Vec<String> = tables.map(|table| format!("'{table}'")).collect();
                let tables = tables.join(", ");
                format!("SELECT arrayJoin(arraySort([{tables}])) AS name WHERE {condition}")
            }
            other => {
                let name = other.escape_default();
                let message = format!("Database {name} does not exist");
                return Err(Fault::new(Code::UnknownDatabase, message));
            }
        }
    } else if what.is_any(&["COLUMNS", "FIELDS"]) {
        columns(rest, system)?
    } else {
        return Err(Fault::denied("SHOW takes DATABASES, TABLES or COLUMNS"));
    };
    Ok(Asked::own("show", text, reach))
}

/// `FROM table [FROM database] [LIKE …]`, in the columns that MySQL's clients know.
fn columns(words: &[Word], system: &str) -> Result<String, Fault> {
    let [from, rest @ ..] = words else { return Err(Fault::syntax("SHOW COLUMNS FROM a table")) };
    if !from.is_any(&["FROM", "IN"]) {
        return Err(Fault::syntax("SHOW COLUMNS FROM a table"));
    }
    let (name, rest) = TableName::read(rest)?;
    let (database, rest) = of_database(rest)?;
    let name = TableName { database: database.unwrap_or(name.database), ..name };
    if name.database != DATABASE || !name.exists() {
        return Err(unknown_table(name));
    }
    let condition = pattern("name", rest)?;
    Ok(format!(
        "SELECT name AS field, type, if(startsWith(type, 'Nullable('), 'YES', 'NO') AS `null`, '' AS key, \
         NULL AS default, '' AS extra FROM `{system}`.columns WHERE table = '{}' AND {condition} ORDER BY position",
        name.table
    ))
}

/// `FROM database` or `IN database`, and the rest.
fn of_database(words: &[Word]) -> Result<(Option<&str>, &[Word]), Fault> {
    match words {
        [from, database, rest @ ..] if from.is_any(&["FROM", "IN"]) => {
            let name = database.name().ok_or_else(|| Fault::syntax("A name is expected"))?;
            Ok((Some(name), rest))
        }
        _ => Ok((None, words)),
    }
}

/// `[NOT] LIKE 'text'` or `[NOT] ILIKE 'text'`; without one, always true.
fn pattern(column: &str, words: &[Word]) -> Result<String, Fault> {
    let (not, rest) = match words {
        [not, rest @ ..] if not.is("NOT") => ("NOT ", rest),
        _ => ("", words),
    };
    match rest {
        [] if not.is_empty() => Ok("1".to_owned()),
        [like, text] if like.is_any(&["LIKE", "ILIKE"]) && text.kind == Kind::Text => {
            let text = words::written(std::slice::from_ref(text));
            Ok(format!("{column} {not}{} {text}", like.text.to_ascii_uppercase()))
        }
        _ => Err(Fault::syntax("Only LIKE or ILIKE and a text in quotes are taken here")),
    }
}
