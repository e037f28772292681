//! Rules for the value of a property, with the meaning that attribute filters of audiences have.

use serde_json::Number;

use super::parameters::{Parameters, Value};
use crate::events::PROPERTY_PATH_KEYS_MAX;

const ISO_MILLIS: &str = include_str!("../sql/iso_millis.sql");
/// Whole numbers below it are exact as doubles, and no larger one rounds to less.
const EXACT_BELOW: f64 = 9_007_199_254_740_992.0;

/// A plain value to compare with. Its type matters: the number 1 is not the text "1".
#[derive(Debug, Clone, PartialEq)]
pub enum Plain {
    /// Equal to a JSON string.
    Text(String),
    /// Equal to a JSON number: integers exactly, others as doubles.
    Number(Number),
    /// Equal to `true` or `false`.
    Bool(bool),
}

/// How a number compares with a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// Greater than the bound.
    Gt,
    /// Greater than the bound or equal.
    Gte,
    /// Less than the bound.
    Lt,
    /// Less than the bound or equal.
    Lte,
}

impl Relation {
    fn sign(self) -> &'static str {
        match self {
            Self::Gt => ">",
            Self::Gte => ">=",
            Self::Lt => "<",
            Self::Lte => "<=",
        }
    }
}

/// A bound of a number.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    /// How the number compares with it.
    pub relation: Relation,
    /// What properties are compared with.
    pub number: Number,
}

/// A rule for one JSON value.
#[derive(Debug, Clone, PartialEq)]
pub enum PropertyRule {
    /// The same plain value.
    Equals(Plain),
    /// A text with this part, or a list with this element.
    Contains(Plain),
    /// A text with this beginning.
    StartsWith(String),
    /// A text with this end.
    EndsWith(String),
    /// Equal to one of these.
    In(Vec<Plain>),
    /// A number within all of these bounds.
    Number(Vec<Bound>),
    /// There and not null.
    Exists,
    /// A text that is an ISO 8601 time from `from_ms` to `to_ms`, both included; open where there is none.
    Time {
        /// The first millisecond that counts.
        from_ms: Option<i64>,
        /// The last millisecond that counts.
        to_ms: Option<i64>,
    },
    /// The property is `true`.
    IsTrue,
    /// The property is `false`.
    IsFalse,
}

/// A rule for the property at a dot path. A path with dots also names a property whose key has them; one of the two
/// values has to meet the rule.
#[derive(Debug, Clone, PartialEq)]
pub struct PropertyTest {
    /// The path, at least one character.
    pub path: String,
    /// What the value has to be.
    pub rule: PropertyRule,
    /// Matches where the rule does not, also where there is no value.
    pub not: bool,
}

impl PropertyTest {
    /// The condition, with parameters for all that a caller said.
    pub(super) fn sql(&self, parameters: &mut Parameters) -> String {
        let readings: Vec<String> = readings(&self.path)
            .iter()
            .map(|keys| {
                let place = JsonLocation::property(keys, parameters);
                format!("({})", self.rule.sql(&self.path, &place, parameters))
            })
            .collect();
        let not = if self.not { "NOT " } else { "" };
        format!("{not}({})", readings.join(" OR "))
    }
}

/// The readings of a path: as one key and, where it has dots, as keys within keys. None is deeper than properties are.
pub(super) fn readings(path: &str) -> Vec<Vec<&str>> {
    let nested: Vec<&str> = path.split('.').collect();
    let mut readings = vec![vec![path]];
    if (2..=PROPERTY_PATH_KEYS_MAX).contains(&nested.len()) {
        readings.push(nested);
    }
    readings
}

/// Where a JSON value is: the arguments of ClickHouse's JSON functions.
pub(super) struct JsonLocation(String);

impl JsonLocation {
    /// A property of an event.
    pub(super) fn property(keys: &[&str], parameters: &mut Parameters) -> Self {
        Self::within("properties", keys, parameters)
    }

    /// A value in the JSON object of a column.
    pub(super) fn within(column: &str, keys: &[&str], parameters: &mut Parameters) -> Self {
        let keys: Vec<String> = keys.iter().map(|key| parameters.text(*key)).collect();
        Self(format!("{column}, {}", keys.join(", ")))
    }

    /// An element of a list, in a lambda.
    fn element() -> Self {
        Self("element".to_owned())
    }

    /// The type of the value, `Null` where there is none.
    fn is_a(&self, kind: &str) -> String {
        format!("JSONType({}) = '{kind}'", self.0)
    }

    /// The text there; empty where there is none.
    pub(super) fn text(&self) -> String {
        format!("JSONExtractString({})", self.0)
    }

    /// The value as JSON; empty where there is none.
    pub(super) fn raw(&self) -> String {
        format!("JSONExtractRaw({})", self.0)
    }
}

impl PropertyRule {
    fn sql(&self, path: &str, place: &JsonLocation, parameters: &mut Parameters) -> String {
        match self {
            Self::Equals(to) => equals(place, to, parameters),
            Self::Contains(part) => contains(place, part, parameters),
            Self::StartsWith(start) => text_by("startsWith", place, start, parameters),
            Self::EndsWith(end) => text_by("endsWith", place, end, parameters),
            Self::In(values) => one_of(place, values, parameters),
            Self::Number(bounds) => {
                let all = bounds.iter().map(|it| compare(path, place, it, parameters));
                all.collect::<Vec<_>>().join(" AND ")
            }
            Self::Exists => format!("NOT {}", place.is_a("Null")),
            Self::Time { from_ms, to_ms } => {
                let from = parameters.add(Value::Integer(from_ms.unwrap_or(i64::MIN + 1)));
                let to = parameters.add(Value::Integer(to_ms.unwrap_or(i64::MAX)));
                let ms = ISO_MILLIS.replace("$text$", &place.text());
                format!("{} AND ifNull({ms} BETWEEN {from} AND {to}, 0)", place.is_a("String"))
            }
            Self::IsTrue => equals(place, &Plain::Bool(true), parameters),
            Self::IsFalse => equals(place, &Plain::Bool(false), parameters),
        }
    }
}

fn equals(place: &JsonLocation, to: &Plain, parameters: &mut Parameters) -> String {
    match to {
        Plain::Text(text) => {
            let text = parameters.text(text);
            format!("{} AND {} = {text}", place.is_a("String"), place.text())
        }
        Plain::Number(number) => relation(place, "=", number, parameters),
        Plain::Bool(value) => format!("{} = '{value}'", place.raw()),
    }
}

fn text_by(
    function: &str,
    place: &JsonLocation,
    part: &str,
    parameters: &mut Parameters,
) -> String {
    let part = parameters.text(part);
    format!("{} AND {function}({}, {part})", place.is_a("String"), place.text())
}

fn contains(place: &JsonLocation, part: &Plain, parameters: &mut Parameters) -> String {
    let element = equals(&JsonLocation::element(), part, parameters);
    let in_list = format!(
        "{} AND arrayExists(element -> {element}, JSONExtractArrayRaw({}))",
        place.is_a("Array"),
        place.0
    );
    let Plain::Text(part) = part else { return in_list };
    let part = parameters.text(part);
    format!("({in_list}) OR {} AND position({}, {part}) > 0", place.is_a("String"), place.text())
}

/// Equal to one of several values. Texts are compared at once; so are numbers that doubles hold exactly.
fn one_of(place: &JsonLocation, values: &[Plain], parameters: &mut Parameters) -> String {
    let (mut texts, mut exact, mut ways) = (Vec::new(), Vec::new(), Vec::new());
    for value in values {
        match value {
            Plain::Text(text) => texts.push(text.clone()),
            Plain::Number(number) => match exact_double(number) {
                Some(double) => exact.push(double),
                None => ways.push(relation(place, "=", number, parameters)),
            },
            Plain::Bool(_) => ways.push(equals(place, value, parameters)),
        }
    }
    if !texts.is_empty() {
        let texts = parameters.add(Value::Texts(texts));
        ways.push(format!("{} AND has({texts}, {})", place.is_a("String"), place.text()));
    }
    if !exact.is_empty() {
        let exact = parameters.add(Value::Floats(exact));
        ways.push(format!("{} AND has({exact}, {})", is_number(place), double(place)));
    }
    if ways.is_empty() { "0".to_owned() } else { format!("({})", ways.join(") OR (")) }
}

/// A number at a place compared with another. The column `numbers` has numbers at the top level ready as doubles.
fn compare(path: &str, place: &JsonLocation, bound: &Bound, parameters: &mut Parameters) -> String {
    let sign = bound.relation.sign();
    match exact_double(&bound.number) {
        Some(exact) if !path.contains('.') => {
            let path = parameters.text(path);
            let exact = parameters.add(Value::Float(exact));
            format!("mapContains(numbers, {path}) AND numbers[{path}] {sign} {exact}")
        }
        _ => relation(place, sign, &bound.number, parameters),
    }
}

/// Compares whole numbers exactly and others as doubles.
fn relation(
    place: &JsonLocation,
    sign: &str,
    number: &Number,
    parameters: &mut Parameters,
) -> String {
    let whole = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    let Some(whole) = whole else {
        let bound = parameters.add(Value::Float(number.as_f64().unwrap_or(f64::NAN)));
        return format!("{} AND {} {sign} {bound}", is_number(place), double(place));
    };
    let whole = parameters.text(whole.to_string());
    format!(
        "multiIf({}, toInt128(JSONExtractInt({place})) {sign} toInt128({whole}), \
         {}, toInt128(JSONExtractUInt({place})) {sign} toInt128({whole}), \
         {}, {} {sign} toFloat64({whole}), 0)",
        place.is_a("Int64"),
        place.is_a("UInt64"),
        place.is_a("Double"),
        double(place),
        place = place.0,
    )
}

fn is_number(place: &JsonLocation) -> String {
    format!("JSONType({}) IN ('Int64', 'UInt64', 'Double')", place.0)
}

fn double(place: &JsonLocation) -> String {
    format!("JSONExtractFloat({})", place.0)
}

/// The number as a double, where comparing as doubles is as good as comparing exactly.
fn exact_double(number: &Number) -> Option<f64> {
    number.as_f64().filter(|double| double.abs() < EXACT_BELOW)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_callers_are_only_bound() {
        const NASTY: &str = "x') OR 1=1 --";
        let plain = || Plain::Text(NASTY.to_owned());
        let rules = [
            PropertyRule::Equals(plain()),
            PropertyRule::Contains(plain()),
            PropertyRule::StartsWith(NASTY.to_owned()),
            PropertyRule::EndsWith(NASTY.to_owned()),
            PropertyRule::In(vec![plain(), Plain::Number(1.into()), Plain::Bool(true)]),
            PropertyRule::Exists,
            PropertyRule::Time { from_ms: Some(1), to_ms: None },
        ];
        for rule in rules {
            let test = PropertyTest { path: format!("{NASTY}.b"), rule, not: true };
            let sql = test.sql(&mut Parameters::default());
            assert!(!sql.contains("1=1"), "{sql}");
            assert!(!sql.contains('$'), "{sql}");
        }
    }

    #[test]
    fn a_path_is_read_as_one_key_and_as_keys_within_keys() {
        assert_eq!(readings("a"), [vec!["a"]]);
        assert_eq!(readings("a.b"), [vec!["a.b"], vec!["a", "b"]]);
        let deep = ["k"; PROPERTY_PATH_KEYS_MAX + 1].join(".");
        assert_eq!(readings(&deep), [vec![deep.as_str()]]);
    }
}
