//! An independent evaluator of targetings: one profile at a time, in memory, from the JSON. It shares no code with
//! the program.

use chrono::{DateTime, Duration, NaiveDate, Utc};
use serde_json::{Map, Value};

use super::fixture::{Person, days_ago};

/// Whether a targeting matches a person on a channel.
pub(crate) fn matches_targeting(targeting: &Value, person: &Person, channel: Option<&str>) -> bool {
    let groups = |name: &str| targeting[name].as_array().cloned().unwrap_or_default();
    let is_in = |group: &Value| {
        let filters = group["filters"].as_array().unwrap();
        let mut results = filters.iter().map(|filter| holds(filter, person, channel));
        if group["operator"] == "OR" { results.any(|held| held) } else { results.all(|held| held) }
    };
    let listed = targeting["userIds"].as_array().is_none_or(|ids| {
        ids.iter()
            .any(|id| id == &person.id || person.external_id.as_ref().is_some_and(|e| id == e))
    });
    let wanted = groups("filterGroups");
    let included = if targeting["filterOperator"] == "OR" {
        wanted.is_empty() || wanted.iter().any(is_in)
    } else {
        wanted.iter().all(is_in)
    };
    listed && included && !groups("excludeFilterGroups").iter().any(is_in)
}

fn holds(filter: &Value, person: &Person, channel: Option<&str>) -> bool {
    let field = filter["field"].as_str().unwrap_or("");
    let operator = filter["operator"].as_str().unwrap();
    let positive = operator.strip_prefix("not_").unwrap_or(operator);
    let held = match filter["type"].as_str().unwrap() {
        "attribute" => at(&person.attributes, field)
            .iter()
            .any(|value| meets(value, positive, &filter["value"])),
        "profile" => profile(person, field, positive, &filter["value"]),
        "channel" => {
            let status = person.channels.iter().find(|(channel, _)| *channel == field);
            let status = status.map_or(Value::Null, |(_, status)| Value::from(*status));
            meets(&status, positive, &filter["value"])
        }
        "list" => person.lists.iter().any(|(list, on, status)| {
            list == field && *status == "subscribed" && channel.is_none_or(|channel| channel == *on)
        }),
        "segment" => false,
        "event" => matches_event_filter(filter, person),
        other => panic!("no evaluator for {other}"),
    };
    held != (positive != operator)
}

/// The values a path leads to: under the whole path as a key, and key by key.
fn at<'v>(attributes: &'v Map<String, Value>, path: &str) -> Vec<&'v Value> {
    let mut found: Vec<&Value> = attributes.get(path).into_iter().collect();
    if let Some((first, rest)) = path.split_once('.')
        && let Some(Value::Object(inner)) = attributes.get(first)
    {
        // A dot in a deeper key is not looked for: every step is one key.
        let mut value = Some(&Value::Null);
        let mut object = Some(inner);
        for key in rest.split('.') {
            value = object.and_then(|object| object.get(key));
            object = value.and_then(Value::as_object);
        }
        found.extend(value);
    }
    found
}

fn meets(value: &Value, operator: &str, operand: &Value) -> bool {
    let texts = || value.as_str().zip(operand.as_str());
    match operator {
        "equals" => same(value, operand),
        "in" => operand.as_array().unwrap().iter().any(|one| same(value, one)),
        "contains" => match value {
            Value::Array(elements) => elements.iter().any(|element| same(element, operand)),
            _ => texts().is_some_and(|(text, part)| text.contains(part)),
        },
        "starts_with" => texts().is_some_and(|(text, start)| text.starts_with(start)),
        "ends_with" => texts().is_some_and(|(text, end)| text.ends_with(end)),
        "exists" => !value.is_null(),
        "is_true" => value.as_bool() == Some(true),
        "is_false" => value.as_bool() == Some(false),
        "gt" | "gte" | "lt" | "lte" => compares(value, operator, operand),
        "before" => compares(value, "lt", operand),
        "after" => compares(value, "gt", operand),
        "between" => compares(value, "gte", &operand[0]) && compares(value, "lte", &operand[1]),
        "within_last" => moment(value).is_some_and(|(at, _)| {
            let unit = match operand["unit"].as_str() {
                Some("hours") => Duration::hours(1),
                Some("weeks") => Duration::weeks(1),
                _ => Duration::days(1),
            };
            let amount = operand["amount"].as_i64().or(operand.as_i64()).unwrap();
            let now = days_ago(0);
            now - unit * i32::try_from(amount).unwrap() <= at && at <= now
        }),
        other => panic!("no evaluator for {other}"),
    }
}

fn same(value: &Value, other: &Value) -> bool {
    match (value, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(_) | Value::Object(_) | Value::Null, _) => false,
        _ => value == other,
    }
}

fn compares(value: &Value, operator: &str, operand: &Value) -> bool {
    if let (Some(number), Some(bound)) = (value.as_f64(), operand.as_f64()) {
        return match operator {
            "gt" => number > bound,
            "gte" => number >= bound,
            "lt" => number < bound,
            _ => number <= bound,
        };
    }
    let (Some((at, _)), Some((start, end))) = (moment(value), moment(operand)) else {
        return false;
    };
    match operator {
        "gt" => at > end,
        "gte" => at >= start,
        "lt" => at < start,
        _ => at <= end,
    }
}

/// The first and the last instant a text stands for.
fn moment(value: &Value) -> Option<(DateTime<Utc>, DateTime<Utc>)> {
    let text = value.as_str()?;
    if let Ok(day) = NaiveDate::parse_from_str(text, "%Y-%m-%d") {
        let start = day.and_hms_opt(0, 0, 0)?.and_utc();
        return Some((start, start + Duration::days(1) - Duration::milliseconds(1)));
    }
    let at = DateTime::parse_from_rfc3339(text).ok()?.to_utc();
    Some((at, at))
}

fn profile(person: &Person, field: &str, operator: &str, operand: &Value) -> bool {
    let text = match field {
        "email" => person.email.clone(),
        "phone" => person.phone.clone(),
        "externalId" => person.external_id.clone(),
        other => panic!("no evaluator for {other}"),
    };
    meets(&text.map_or(Value::Null, Value::from), operator, operand)
}

fn matches_event_filter(filter: &Value, person: &Person) -> bool {
    let details = &filter["value"];
    let since = details["withinDays"].as_i64().map(days_ago);
    let times = person
        .tracked_events
        .iter()
        .filter(|tracked| {
            tracked.name == filter["field"]
                && since.is_none_or(|since| tracked.at >= since && tracked.at <= days_ago(0))
                && details["properties"].as_object().is_none_or(|wanted| {
                    wanted.iter().all(|(key, value)| match value {
                        Value::Array(any) => {
                            any.iter().any(|one| same(&tracked.properties[key], one))
                        }
                        value => same(&tracked.properties[key], value),
                    })
                })
        })
        .count();
    let times = i64::try_from(times).unwrap();
    let Some(n) = details["count"]["n"].as_i64() else { return times >= 1 };
    match details["count"]["op"].as_str().unwrap() {
        "equals" => times == n,
        "gt" => times > n,
        "gte" => times >= n,
        "lt" => times < n,
        _ => times <= n,
    }
}
