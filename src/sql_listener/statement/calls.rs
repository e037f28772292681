//! The functions that a statement calls, by its words alone: the engine's parser is asked afterwards.

use super::{
    functions::{self, Denied},
    words::{Kind, Word},
};
use crate::fault::{Code, Fault};

/// Keywords that stand before a bracket, and are no functions; `DATE_ADD` and its like become `plus`.
const KEYWORDS: &[&str] = &[
    "ALL",
    "AND",
    "ANTI",
    "ANY",
    "APPLY",
    "ARRAY",
    "AS",
    "ASOF",
    "BETWEEN",
    "BY",
    "CASE",
    "COLUMNS",
    "CUBE",
    "DATEADD",
    "DATESUB",
    "DATE_ADD",
    "DATE_SUB",
    "DESCRIBE",
    "DISTINCT",
    "ELSE",
    "EXCEPT",
    "EXISTS",
    "EXPLAIN",
    "FETCH",
    "FILL",
    "FILTER",
    "FIRST",
    "FROM",
    "GROUP",
    "HAVING",
    "ILIKE",
    "IN",
    "INTERPOLATE",
    "INTERSECT",
    "INTERVAL",
    "IS",
    "JOIN",
    "LIKE",
    "LIMIT",
    "NOT",
    "OFFSET",
    "ON",
    "OR",
    "ORDER",
    "OVER",
    "PARTITION",
    "PLAN",
    "PREWHERE",
    "QUALIFY",
    "REPLACE",
    "RETURNING",
    "ROLLUP",
    "SAMPLE",
    "SELECT",
    "SETS",
    "STEP",
    "STRICT",
    "THEN",
    "TIMESTAMPADD",
    "TIMESTAMPSUB",
    "TIMESTAMP_ADD",
    "TIMESTAMP_SUB",
    "TO",
    "TREE",
    "UNION",
    "USING",
    "VALUES",
    "WHEN",
    "WHERE",
    "WINDOW",
    "WITH",
    "WITHIN",
];
/// The function that a lambda is.
const LAMBDA: &str = "lambda";
/// Types with parameters, as they stand in casts. `AggregateFunction` is not one of them, as in [`super::casts`].
const TYPES: &[&str] = &[
    "Array",
    "CHAR",
    "DEC",
    "DECIMAL",
    "DateTime",
    "DateTime32",
    "DateTime64",
    "Decimal",
    "Decimal128",
    "Decimal256",
    "Decimal32",
    "Decimal64",
    "Dynamic",
    "Enum",
    "Enum16",
    "Enum8",
    "FixedString",
    "JSON",
    "LowCardinality",
    "Map",
    "NUMERIC",
    "Nested",
    "Nullable",
    "Time64",
    "Tuple",
    "VARCHAR",
    "Variant",
];

/// Refuses functions that may not be called, and names of other functions of the engine. How many column
/// transformers `APPLY` there are: the engine's tree shows them without the function that they name.
pub(super) fn check(words: &[Word], denied: &Denied) -> Result<usize, Fault> {
    let mut applied = 0;
    for (at, word) in words.iter().enumerate() {
        let Some(name) = word.name() else { continue };
        let before = at.checked_sub(1).and_then(|before| words.get(before));
        let after = words.get(at + 1);
        let is_call = after.is_some_and(|after| after.is_mark('('));
        let is_column = before.is_some_and(|before| before.is_mark('.'));
        // `AS t(a, b)`: a table with names for its columns.
        let is_alias = before.is_some_and(|before| before.is("AS"));
        if is_call && !is_alias && !may_precede_bracket(word) {
            return Err(refused(name));
        }
        if !is_column && denied.has(name) && !is_replaced(words, at) {
            return Err(refused(name));
        }
        if word.is("APPLY") {
            applied += 1;
            check_applied(words.get(at + 1..).unwrap_or_default())?;
        }
    }
    Ok(applied)
}

/// What [`super::names`] replaces is not called.
fn is_replaced(words: &[Word], at: usize) -> bool {
    super::names::value_of_call(words.get(at..).unwrap_or_default()).is_some()
}

fn may_precede_bracket(word: &Word) -> bool {
    let is_keyword = word.kind == Kind::Bare && word.is_any(KEYWORDS);
    is_keyword
        || functions::may_be_called(&word.text)
        || functions::TABLE_FUNCTIONS.contains(&word.text.as_str())
        || TYPES.contains(&word.text.as_str())
        || super::names::is_replaced(&word.text)
}

/// `APPLY name`, `APPLY(name)` or `APPLY(name(parameters))`. The engine's tree has nothing of what stands here, so it is
/// a name and plain values: no lambda, and no query.
fn check_applied(words: &[Word]) -> Result<(), Fault> {
    let words = match words {
        [bracket, rest @ ..] if bracket.is_mark('(') => rest,
        _ => words,
    };
    let [function, rest @ ..] = words else { return Err(Fault::syntax("APPLY names a function")) };
    let name = function.name().filter(|name| functions::may_be_called(name) && *name != LAMBDA);
    let is_lambda = matches!(rest, [minus, more, ..] if minus.is_mark('-') && more.is_mark('>'));
    if name.is_none() || is_lambda {
        let what = if is_lambda { "a lambda in APPLY" } else { &function.text };
        return Err(refused(what));
    }
    let [bracket, parameters @ ..] = rest else { return Ok(()) };
    if !bracket.is_mark('(') {
        return Ok(());
    }
    let is_value = |word: &&Word| {
        matches!(word.kind, Kind::Number | Kind::Text)
            || [',', '.', '-'].iter().any(|mark| word.is_mark(*mark))
    };
    let end = parameters.iter().find(|word| !is_value(word));
    if end.is_some_and(|end| end.is_mark(')')) {
        Ok(())
    } else {
        Err(refused("a parameter of APPLY that is no number and no text"))
    }
}

fn refused(name: &str) -> Fault {
    Fault::new(
        Code::AccessDenied,
        format!("Not enough privileges: {} is not available here", name.escape_default()),
    )
}
