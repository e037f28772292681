//! The four sources of settings, merged as TOML tables in order of precedence.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use toml::{Table, Value};

use super::{Error, Settings, one_line};

/// Every setting with its default; also the documentation of the settings file.
const DEFAULTS: &str = include_str!("millrace.default.toml");
/// The settings file that is read if none is named and this one exists.
const FILE_DEFAULT: &str = "millrace.toml";
/// The prefix of environment variables.
const PREFIX: &str = "MILLRACE_";
/// Separates a section and its key in a variable's name.
const NESTED: &str = "__";
/// Variables whose names do not follow from the key.
const NAMED: [(&str, &str); 4] = [
    ("DATABASE_URL", "database_url"),
    ("CLICKHOUSE_URL", "clickhouse_url"),
    ("MILLRACE_LIBCHDB", "engines.libchdb"),
    ("MILLRACE_POSTGRES_BIN", "engines.postgres_bin"),
];
/// Names the settings file; not a setting itself.
const FILE_VARIABLE: &str = "MILLRACE_CONFIG";

/// Settings from the command line.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    pub config: Option<PathBuf>,
    /// Flag as typed, dotted key, value.
    pub values: Vec<(&'static str, &'static str, String)>,
}

/// Environment variables, and the working folder.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    pub variables: BTreeMap<String, String>,
    /// Where `millrace.toml` is looked for.
    pub folder: PathBuf,
}

impl Environment {
    /// The environment of this process. A variable that is not UTF-8 cannot be a setting.
    pub fn of_process() -> Self {
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        Self { variables, folder: PathBuf::new() }
    }

    /// A variable's value; an empty one counts as unset, since compose files write unset variables so.
    fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}

pub(super) fn merge(flags: &Flags, environment: &Environment) -> Result<Settings, Error> {
    let mut table: Table = DEFAULTS.parse().expect("the embedded defaults are valid TOML");
    if let Some((name, text)) = file(flags, environment)? {
        overlay(&mut table, parse_file(&name, &text)?);
        read(&table).map_err(|reason| Error::Refused { source_name: name, reason })?;
    }
    let mut notices = Vec::new();
    let mut lacking = None;
    for (name, key) in environment_keys(environment) {
        let Some(value) = environment.get(&name) else { continue };
        let before = table.clone();
        set(&mut table, &key, value);
        match read(&table) {
            Ok(_) => lacking = None,
            // Variables that follow may hold the missing field.
            Err(reason) if reason.starts_with("missing field") => {
                lacking.get_or_insert((name, reason));
            }
            // Another program's variable may have the same prefix, but not a section's name.
            Err(reason) if reason.starts_with("unknown field") && !key.contains('.') => {
                table = before;
                notices.push(format!("the variable {name} is no setting and is ignored"));
            }
            Err(reason) => return Err(Error::Refused { source_name: name, reason }),
        }
    }
    for (flag, key, value) in &flags.values {
        set(&mut table, key, value);
        match read(&table) {
            Ok(_) => lacking = None,
            // The same for flags.
            Err(reason) if reason.starts_with("missing field") => {
                lacking.get_or_insert(((*flag).to_owned(), reason));
            }
            Err(reason) => return Err(Error::Refused { source_name: (*flag).to_owned(), reason }),
        }
    }
    if let Some((name, reason)) = lacking {
        return Err(Error::Refused { source_name: name, reason });
    }
    let mut settings = read(&table)
        .map_err(|reason| Error::Refused { source_name: "defaults".to_owned(), reason })?;
    settings.notices = notices;
    Ok(settings)
}

/// The settings file's name and text: the named one, or the default one if it exists.
fn file(flags: &Flags, environment: &Environment) -> Result<Option<(String, String)>, Error> {
    let named = flags.config.clone().or_else(|| environment.get(FILE_VARIABLE).map(PathBuf::from));
    let must_exist = named.is_some();
    let path = environment.folder.join(named.as_deref().unwrap_or(Path::new(FILE_DEFAULT)));
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(Some((path.display().to_string(), text))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !must_exist => Ok(None),
        Err(reason) => Err(Error::Unreadable { path, reason }),
    }
}

fn parse_file(name: &str, text: &str) -> Result<Table, Error> {
    text.parse::<Table>().map_err(|error| {
        let line = error
            .span()
            .map(|span| text.bytes().take(span.start).filter(|byte| *byte == b'\n').count() + 1);
        let place = line.map_or_else(String::new, |line| format!(":{line}"));
        Error::Refused { source_name: format!("{name}{place}"), reason: one_line(error.message()) }
    })
}

/// Variables that are settings, with their dotted keys.
fn environment_keys(environment: &Environment) -> Vec<(String, String)> {
    let named = NAMED.iter().map(|(name, key)| ((*name).to_owned(), (*key).to_owned()));
    let prefixed = environment
        .variables
        .keys()
        .filter(|name| *name != FILE_VARIABLE && !NAMED.iter().any(|(named, _)| named == name))
        .filter_map(|name| {
            let key = name.strip_prefix(PREFIX)?.to_ascii_lowercase().replace(NESTED, ".");
            Some((name.clone(), key))
        });
    named.chain(prefixed).collect()
}

/// Merges `over` into `under`, table by table.
fn overlay(under: &mut Table, over: Table) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (Some(Value::Table(inner)), Value::Table(value)) => overlay(inner, value),
            (_, value) => {
                under.insert(key, value);
            }
        }
    }
}

/// Sets a dotted key to a text, converted to the type of the present value.
fn set(table: &mut Table, key: &str, text: &str) {
    let Some((section, rest)) = key.split_once('.') else {
        let value = typed(table.get(key), text);
        table.insert(key.to_owned(), value);
        return;
    };
    let inner = table.entry(section).or_insert_with(|| Value::Table(Table::new()));
    match inner {
        Value::Table(inner) => set(inner, rest, text),
        // The reader refuses it: the section is not a table.
        other => *other = Value::Table(Table::from_iter([(rest.to_owned(), text.into())])),
    }
}

/// Converts a text to the type of the present value; otherwise it stays text, which the reader refuses.
fn typed(now: Option<&Value>, text: &str) -> Value {
    let text = text.trim();
    let parsed = match now {
        Some(Value::Integer(_) | Value::Float(_)) => number(&text.replace('_', "")),
        Some(Value::Boolean(_)) => text.parse().ok().map(Value::Boolean),
        Some(Value::Array(_)) => Some(Value::Array(
            text.split(',')
                .map(str::trim)
                .filter(|item| !item.is_empty())
                .map(|item| Value::String(item.to_owned()))
                .collect(),
        )),
        _ => None,
    };
    parsed.unwrap_or_else(|| Value::String(text.to_owned()))
}

fn number(text: &str) -> Option<Value> {
    let whole = text.parse().ok().map(Value::Integer);
    whole.or_else(|| text.parse().ok().map(Value::Float))
}

fn read(table: &Table) -> Result<Settings, String> {
    table.clone().try_into::<Settings>().map_err(|error| one_line(&error.to_string()))
}
