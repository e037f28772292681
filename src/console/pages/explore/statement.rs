//! A trend as a statement for the SQL listener, where its views can answer the same.

use kernel::zone::Zone;
use serde_json::Value;

use super::address::Address;

/// Events with this name count once an order.
const ORDERS: &str = "Order Completed";

/// The statement of a question about trends; none for what the views cannot answer in one plain statement.
pub(super) fn trends(asked: &Address, zone: Zone) -> Option<String> {
    if asked.breakdown.starts_with("profile:") || !asked.compare.is_empty() {
        return None;
    }
    let zone = quoted(zone.name());
    let interval = match asked.interval.as_str() {
        "" | "day" => format!("toStartOfDay(timestamp, {zone})"),
        "hour" => format!("toStartOfHour(toTimeZone(timestamp, {zone}))"),
        "week" => format!("toMonday(timestamp, {zone})"),
        "month" => format!("toStartOfMonth(timestamp, {zone})"),
        _ => return None,
    };
    let mut columns = vec![format!("{interval} AS interval")];
    let mut group = vec!["interval"];
    if asked.events.len() != 1 {
        columns.push("event_name".to_owned());
        group.push("event_name");
    }
    if !asked.breakdown.is_empty() {
        columns.push(format!("{} AS breakdown", text_of(&asked.breakdown)));
        group.push("breakdown");
    }
    columns.push(format!("{} AS value", metric(&asked.metric, &asked.field)?));
    let mut rules = filters(&asked.filters)?;
    rules.insert(0, range(asked, &zone)?);
    if !asked.events.is_empty() {
        let names: Vec<String> = asked.events.iter().map(|name| quoted(name)).collect();
        rules.insert(0, format!("event_name IN ({})", names.join(", ")));
    }
    // An order counts once, with its first arrival.
    let from = if asked.events.is_empty() || asked.events.iter().any(|name| name == ORDERS) {
        format!(
            "(SELECT * FROM events ORDER BY received_at LIMIT 1 BY if(event_name = {0} AND order_id != '', order_id, event_id))",
            quoted(ORDERS)
        )
    } else {
        "events".to_owned()
    };
    let (columns, group) = (columns.join(", "), group.join(", "));
    let rules = rules.join("\n  AND ");
    Some(format!(
        "SELECT {columns}\nFROM {from}\nWHERE {rules}\nGROUP BY {group}\nORDER BY {group}"
    ))
}

fn metric(name: &str, field: &str) -> Option<String> {
    let number = format!("numbers[{}]", quoted(field));
    let has = format!("mapContains(numbers, {})", quoted(field));
    Some(match name {
        "" | "count" => "count()".to_owned(),
        "unique" => "uniqExact(person_id)".to_owned(),
        "perUser" => "count() / uniqExact(person_id)".to_owned(),
        _ if field.is_empty() => return None,
        "sum" | "avg" | "min" | "max" => format!("{name}If({number}, {has})"),
        "p50" => format!("quantileExactIf(0.5)({number}, {has})"),
        "p90" => format!("quantileExactIf(0.9)({number}, {has})"),
        "p95" => format!("quantileExactIf(0.95)({number}, {has})"),
        "p99" => format!("quantileExactIf(0.99)({number}, {has})"),
        _ => return None,
    })
}

fn range(asked: &Address, zone: &str) -> Option<String> {
    if asked.from.is_empty() {
        let last = if asked.last.is_empty() { "30d" } else { &asked.last };
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
        return Some(format!("timestamp >= {begin}(now({zone})) - INTERVAL {amount} {unit}"));
    }
    let is_day =
        |text: &str| text.len() == 10 && text.bytes().all(|it| it.is_ascii_digit() || it == b'-');
    let until = if asked.to.is_empty() { &asked.from } else { &asked.to };
    (is_day(&asked.from) && is_day(until)).then(|| {
        format!(
            "timestamp >= toDateTime({}, {zone}) AND timestamp < toDateTime({}, {zone}) + INTERVAL 1 DAY",
            quoted(&format!("{} 00:00:00", asked.from)),
            quoted(&format!("{until} 00:00:00")),
        )
    })
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
    let operator = filter["operator"].as_str()?;
    let (text, has) = (text_of(property), format!("JSONHas(properties, {})", keys(property)));
    let number = format!("numbers[{}]", quoted(property));
    let is_number = format!("mapContains(numbers, {})", quoted(property));
    match (operator, &filter["value"]) {
        ("exists", _) => Some(has),
        ("equals", Value::String(value)) => Some(format!("{text} = {}", quoted(value))),
        ("equals", Value::Number(value)) => Some(format!("{is_number} AND {number} = {value}")),
        ("starts_with", Value::String(value)) => {
            Some(format!("startsWith({text}, {})", quoted(value)))
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

fn text_of(property: &str) -> String {
    format!("JSONExtractString(properties, {})", keys(property))
}

/// A dot path as the keys that lead to it.
fn keys(property: &str) -> String {
    property.split('.').map(quoted).collect::<Vec<_>>().join(", ")
}

/// A text as a literal of ClickHouse.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(query: &str) -> Option<String> {
        trends(&Address::read(query), Zone::UTC)
    }

    #[test]
    fn texts_are_quoted() {
        let statement = of("event=It%27s%5C&last=7d").unwrap();
        assert!(statement.contains(r"event_name IN ('It\'s\\')"), "{statement}");
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
    }

    #[test]
    fn orders_count_once() {
        assert!(of("event=Order%20Completed").unwrap().contains("LIMIT 1 BY"));
        assert!(!of("event=Page%20Viewed").unwrap().contains("LIMIT 1 BY"));
    }
}
