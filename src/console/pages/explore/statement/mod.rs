//! Questions as statements for the SQL listener, where its views can answer the same.

mod funnels;
mod retention;

use std::fmt::Write as _;

use kernel::{Timestamp, zone::Zone};
use serde_json::Value;

pub(super) use self::{funnels::funnel, retention::retention};
use super::{address::Address, question::LAST_DEFAULT};

/// Events with this name count once an order.
const ORDERS: &str = "Order Completed";

/// A text that spells a number for the API, as a pattern in a literal.
const NUMBER: &str =
    r"^[ \\t\\r\\n]*[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]{1,3})?[ \\t\\r\\n]*$";

/// A statement, or why there is none: the end of a sentence.
pub(super) type Statement = Result<String, &'static str>;

const NO_FILTER: &str = "a filter has an operator or a path that has no plain form over the views";
const NO_INTERVAL: &str = "the views have no such interval";
const NO_METRIC: &str = "the property of its metric is a path into objects";
const NO_RANGE: &str = "its range cannot be read";

/// The statement of a question about trends; none for what the views cannot answer in one plain statement.
///
/// It has a row for each interval with events, and for each value of a breakdown: the chart also has intervals without
/// events, and may add up values beyond the largest.
pub(super) fn trends(asked: &Address, zone: Zone) -> Statement {
    if asked.breakdown.starts_with("profile:") {
        return Err("it is broken down by an attribute of people");
    }
    if !asked.compare.is_empty() {
        return Err("it compares with the period before");
    }
    let zone = quoted(zone.name());
    let mut keys = interval(&asked.interval, &zone).ok_or(NO_INTERVAL)?;
    if asked.events.len() > 1 {
        keys.push(Key::new("event_name", "event_name"));
    }
    if !asked.breakdown.is_empty() {
        keys.push(Key::new("breakdown", &label(&asked.breakdown)));
    }
    let mut rules = filters(&asked.filters).ok_or(NO_FILTER)?;
    rules.insert(0, range(asked, &zone).ok_or(NO_RANGE)?);
    if !asked.events.is_empty() {
        rules.insert(0, named(&asked.events));
    }
    let columns: Vec<String> = keys.iter().map(Key::column).collect();
    let value = format!("{} AS value", metric(&asked.metric, &asked.field).ok_or(NO_METRIC)?);
    let columns: Vec<String> = columns.into_iter().chain([value]).collect();
    let mut statement = format!(
        "SELECT {}\nFROM {}\nWHERE {}",
        columns.join(", "),
        table(&asked.events),
        rules.join("\n  AND ")
    );
    if !keys.is_empty() {
        let names: Vec<&str> = keys.iter().map(|key| key.name).collect();
        let names = names.join(", ");
        // Writing to a string does not fail.
        let _ = write!(statement, "\nGROUP BY {names}\nORDER BY {names}");
    }
    Ok(statement)
}

/// What rows are grouped by.
struct Key {
    name: &'static str,
    expression: String,
}

impl Key {
    fn new(name: &'static str, expression: &str) -> Self {
        Self { name, expression: expression.to_owned() }
    }

    fn column(&self) -> String {
        if self.name == self.expression {
            return self.expression.clone();
        }
        format!("{} AS {}", self.expression, self.name)
    }
}

fn interval(name: &str, zone: &str) -> Option<Vec<Key>> {
    if name == "none" {
        return Some(Vec::new());
    }
    let unit = if name.is_empty() { "day" } else { name };
    Some(vec![Key::new("interval", &start_of_interval(unit, "timestamp", zone)?)])
}

/// The start of the interval in which an instant lies.
fn start_of_interval(unit: &str, at: &str, zone: &str) -> Option<String> {
    Some(match unit {
        "hour" => format!("toStartOfHour(toTimeZone({at}, {zone}))"),
        "day" => format!("toStartOfDay({at}, {zone})"),
        "week" => format!("toMonday({at}, {zone})"),
        "month" => format!("toStartOfMonth({at}, {zone})"),
        _ => return None,
    })
}

/// The condition of events with one of these names.
fn named(events: &[String]) -> String {
    let names: Vec<String> = events.iter().map(|name| quoted(name)).collect();
    match names.as_slice() {
        [name] => format!("event_name = {name}"),
        _ => format!("event_name IN ({})", names.join(", ")),
    }
}

/// The events; of an order the first to arrive counts.
fn table(events: &[String]) -> String {
    if !events.is_empty() && !events.iter().any(|name| name == ORDERS) {
        return "events".to_owned();
    }
    format!(
        "(SELECT * FROM events ORDER BY received_at LIMIT 1 BY if(event_name = {0} AND order_id != '', order_id, event_id))",
        quoted(ORDERS)
    )
}

fn metric(name: &str, field: &str) -> Option<String> {
    Some(match name {
        "" | "count" => "count()".to_owned(),
        "unique" => "uniqExact(person_id)".to_owned(),
        "perUser" => "count() / uniqExact(person_id)".to_owned(),
        // With dots it may be one key, or keys within keys.
        _ if field.is_empty() || field.contains('.') => return None,
        "sum" => format!("ifNull(sum({}), 0)", number(field)),
        "avg" | "min" | "max" => format!("{name}({})", number(field)),
        "p50" | "p90" | "p95" | "p99" => {
            let hundredths = name.strip_prefix('p')?;
            format!("quantileExactInclusive(0.{hundredths})({})", number(field))
        }
        _ => return None,
    })
}

/// A number of the properties, or one that a text among them spells; null where there is none.
fn number(field: &str) -> String {
    let (name, text) = (quoted(field), text_of(field));
    format!(
        "if(mapContains(numbers, {name}), numbers[{name}], if(match({text}, '{NUMBER}'), toFloat64OrNull(trimBoth({text}, ' \\t\\r\\n')), NULL))"
    )
}

fn range(asked: &Address, zone: &str) -> Option<String> {
    if asked.from.is_empty() {
        return last(&asked.last, zone);
    }
    let from = format!("timestamp >= {}", start_of(&asked.from, zone)?);
    let to = match asked.to.as_str() {
        "" => "timestamp <= now64(3)".to_owned(),
        day if is_day(day) => format!("timestamp < {} + INTERVAL 1 DAY", start_of(day, zone)?),
        instant => format!("timestamp <= {}", start_of(instant, zone)?),
    };
    Some(format!("{from} AND {to}"))
}

fn last(last: &str, zone: &str) -> Option<String> {
    let last = if last.is_empty() { LAST_DEFAULT } else { last };
    let at = last.find(|letter: char| !letter.is_ascii_digit())?;
    let (amount, unit) = last.split_at_checked(at)?;
    let amount = amount.parse::<u32>().ok()?.saturating_sub(1);
    let (begin, unit) = match unit {
        "h" => ("toStartOfHour", "HOUR"),
        "d" => ("toStartOfDay", "DAY"),
        "w" => ("toMonday", "WEEK"),
        "m" => ("toStartOfMonth", "MONTH"),
        _ => return None,
    };
    Some(format!(
        "timestamp >= toDateTime({begin}(now({zone})), {zone}) - INTERVAL {amount} {unit} AND timestamp <= now64(3)"
    ))
}

fn is_day(text: &str) -> bool {
    text.len() == "2011-01-31".len()
}

/// The beginning of a day of the zone, or an instant.
fn start_of(text: &str, zone: &str) -> Option<String> {
    if is_day(text) {
        let is_plain = text.bytes().all(|it| it.is_ascii_digit() || it == b'-');
        return is_plain.then(|| format!("toDateTime('{text} 00:00:00', {zone})"));
    }
    let at = Timestamp::parse(text).ok()?;
    Some(format!("fromUnixTimestamp64Milli({}, 'UTC')", at.millis()))
}

/// The rules of filters; none where one has no plain form.
fn filters(text: &str) -> Option<Vec<String>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    let filters: Vec<Value> = serde_json::from_str(text).ok()?;
    filters.iter().map(rule).collect()
}

fn rule(filter: &Value) -> Option<String> {
    let property = filter["property"].as_str()?;
    // With dots it may be one key, or keys within keys.
    if property.contains('.') {
        return None;
    }
    let operator = filter["operator"].as_str()?;
    let text = text_of(property);
    let number = format!("numbers[{}]", quoted(property));
    let is_number = format!("mapContains(numbers, {})", quoted(property));
    // To ClickHouse an absent text is an empty one.
    let is_text = format!("startsWith({}, '\"')", raw_of(&[property]));
    match (operator, &filter["value"]) {
        ("exists", _) => Some(format!("{} NOT IN ('', 'null')", raw_of(&[property]))),
        ("equals", Value::String(value)) => {
            Some(format!("{is_text} AND {text} = {}", quoted(value)))
        }
        ("equals", Value::Number(value)) => Some(format!("{is_number} AND {number} = {value}")),
        ("starts_with", Value::String(value)) => {
            Some(format!("{is_text} AND startsWith({text}, {})", quoted(value)))
        }
        ("gt" | "gte" | "lt" | "lte", Value::Number(value)) => {
            let sign = match operator {
                "gt" => ">",
                "gte" => ">=",
                "lt" => "<",
                _ => "<=",
            };
            Some(format!("{is_number} AND {number} {sign} {value}"))
        }
        _ => None,
    }
}

/// The value of a breakdown: a text as it is, others as JSON, null where there is none.
fn label(property: &str) -> String {
    let of = |keys: &[&str]| {
        let raw = raw_of(keys);
        let text = raw.replacen("JSONExtractRaw", "JSONExtractString", 1);
        format!("multiIf({raw} IN ('', 'null'), NULL, startsWith({raw}, '\"'), {text}, {raw})")
    };
    let nested: Vec<&str> = property.split('.').collect();
    if nested.len() == 1 {
        return of(&[property]);
    }
    format!("if({} != '', {}, {})", raw_of(&[property]), of(&[property]), of(&nested))
}

fn text_of(property: &str) -> String {
    format!("JSONExtractString(properties, {})", quoted(property))
}

/// The JSON of a property; empty where there is none.
fn raw_of(keys: &[&str]) -> String {
    let keys: Vec<String> = keys.iter().map(|key| quoted(key)).collect();
    format!("JSONExtractRaw(properties, {})", keys.join(", "))
}

/// A text as a literal of ClickHouse.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(query: &str) -> Option<String> {
        trends(&Address::read(query), Zone::UTC).ok()
    }

    #[test]
    fn texts_are_quoted() {
        let statement = of("event=It%27s%5C&last=7d").unwrap();
        assert!(statement.contains(r"event_name = 'It\'s\\'"), "{statement}");
        assert!(statement.contains("INTERVAL 6 DAY"), "{statement}");
    }

    #[test]
    fn what_the_views_cannot_answer_plainly_has_no_statement() {
        assert_eq!(of("event=A&breakdown=profile%3Aplan"), None);
        assert_eq!(of("event=A&compare=previous_period"), None);
        assert_eq!(of("event=A&metric=sum"), None);
        let filter = r#"[{"property":"a","operator":"not_contains","value":"b"}]"#;
        let query: String = url::form_urlencoded::byte_serialize(filter.as_bytes()).collect();
        assert_eq!(of(&format!("event=A&filters={query}")), None);
        assert_eq!(of("event=A&interval=year"), None);
        assert_eq!(of("event=A&from=2026-03-01T25:00"), None);
    }

    #[test]
    fn orders_count_once() {
        assert!(of("event=Order%20Completed").unwrap().contains("LIMIT 1 BY"));
        assert!(!of("event=Page%20Viewed").unwrap().contains("LIMIT 1 BY"));
    }
}
