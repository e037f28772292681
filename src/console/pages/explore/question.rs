//! From an address to the body of the API, and back for saved questions.

use serde_json::{Value, json};

use super::address::{Address, Kind};
use crate::{
    failure::{Failure, PageResult},
    visitor::Visitor,
};

/// The range of a question that names none.
pub(super) const LAST_DEFAULT: &str = "30d";
/// How long people have for a funnel that does not say so.
const WINDOW_DEFAULT: &str = "7d";
/// Marks a breakdown by an attribute of the profile.
const PROFILE: &str = "profile:";

/// The body of the API for a question.
///
/// # Errors
/// A bad request for a part of the address that cannot be read.
pub(super) fn body(visitor: &Visitor, asked: &Address) -> PageResult<Value> {
    let mut body = match asked.kind {
        Kind::Trends => trends(asked)?,
        Kind::Funnels => funnels(asked)?,
        Kind::Retention => retention(asked)?,
    };
    body["timezone"] = json!(visitor.zone().name());
    range(asked, &mut body)?;
    Ok(body)
}

fn trends(asked: &Address) -> PageResult<Value> {
    let filters = filters(asked)?;
    let metric = if asked.metric.is_empty() { "count" } else { &asked.metric };
    let series = |event: Option<&String>| {
        let mut series = json!({"metric": metric});
        if let Some(event) = event {
            series["eventName"] = json!(event);
        } else {
            series["label"] = json!("All events");
        }
        if !asked.field.is_empty() {
            series["field"] = json!(asked.field);
        }
        if let Some(filters) = &filters {
            series["filters"] = filters.clone();
        }
        series
    };
    let series: Vec<Value> = if asked.events.is_empty() {
        vec![series(None)]
    } else {
        asked.events.iter().map(|event| series(Some(event))).collect()
    };
    let interval = if asked.interval.is_empty() { "day" } else { &asked.interval };
    let mut body = json!({"series": series, "interval": interval});
    breakdown(asked, &mut body);
    if !asked.compare.is_empty() {
        body["compare"] = json!(asked.compare);
    }
    Ok(body)
}

fn funnels(asked: &Address) -> PageResult<Value> {
    let filters = filters(asked)?;
    let step = |(index, event): (usize, &String)| {
        let mut step = json!({"eventName": event});
        // The filters are those of the first step.
        if let (0, Some(filters)) = (index, &filters) {
            step["filters"] = filters.clone();
        }
        step
    };
    let steps: Vec<Value> = asked.events.iter().enumerate().map(step).collect();
    let window = if asked.window.is_empty() { WINDOW_DEFAULT } else { &asked.window };
    let mut body = json!({"steps": steps, "window": span("window", window)?});
    if !asked.order.is_empty() {
        body["order"] = json!(asked.order);
    }
    breakdown(asked, &mut body);
    Ok(body)
}

fn retention(asked: &Address) -> PageResult<Value> {
    let mut start = json!({"eventName": asked.events.first()});
    if let Some(filters) = filters(asked)? {
        start["filters"] = filters;
    }
    let back = asked.events.get(1).or_else(|| asked.events.first());
    let interval = if asked.interval.is_empty() { "week" } else { &asked.interval };
    let mut body = json!({"start": start, "return": {"eventName": back}, "interval": interval});
    if !asked.mode.is_empty() {
        body["mode"] = json!(asked.mode);
    }
    if !asked.intervals.is_empty() {
        // What is no number is refused by the API at its field.
        body["intervals"] =
            asked.intervals.parse::<u32>().map_or_else(|_| json!(asked.intervals), |it| json!(it));
    }
    Ok(body)
}

fn filters(asked: &Address) -> PageResult<Option<Value>> {
    if asked.filters.is_empty() {
        return Ok(None);
    }
    let filters = serde_json::from_str::<Value>(&asked.filters);
    filters.map(Some).map_err(|_| refused("filters must be a JSON array of filters"))
}

fn breakdown(asked: &Address, body: &mut Value) {
    let by = asked.breakdown.as_str();
    if by.is_empty() {
        return;
    }
    body["breakdown"] = match by.strip_prefix(PROFILE) {
        Some(attribute) => json!({"profile": attribute}),
        None => json!({"property": by}),
    };
}

fn range(asked: &Address, body: &mut Value) -> PageResult<()> {
    if asked.from.is_empty() {
        if !asked.to.is_empty() {
            return Err(refused("from is required beside to"));
        }
        let last = if asked.last.is_empty() { LAST_DEFAULT } else { &asked.last };
        body["last"] = span("last", last)?;
        return Ok(());
    }
    body["from"] = json!(asked.from);
    if !asked.to.is_empty() {
        body["to"] = json!(asked.to);
    }
    Ok(())
}

/// Reads a number and its unit: `30min`, `24h`, `30d`, `12w`, `6m`.
fn span(name: &str, text: &str) -> PageResult<Value> {
    let like = if name == "window" { "30min, 24h, 7d or 4w" } else { "24h, 30d, 12w or 6m" };
    let unknown = || refused(&format!("{name} must be like {like}"));
    let at = text.find(|letter: char| !letter.is_ascii_digit()).ok_or_else(unknown)?;
    let (number, unit) = text.split_at_checked(at).ok_or_else(unknown)?;
    let amount: u32 = number.parse().map_err(|_| unknown())?;
    let unit = match unit {
        "min" => "minutes",
        "h" => "hours",
        "d" => "days",
        "w" => "weeks",
        "m" => "months",
        _ => return Err(unknown()),
    };
    Ok(json!({"amount": amount, "unit": unit}))
}

/// The window of a funnel's body in milliseconds; none where it has no fixed length.
pub(super) fn window_ms(body: &Value) -> Option<i64> {
    let unit = match body["window"]["unit"].as_str()? {
        "minutes" => 60_000,
        "hours" => 3_600_000,
        "days" => 86_400_000,
        "weeks" => 7 * 86_400_000,
        _ => return None,
    };
    body["window"]["amount"].as_i64()?.checked_mul(unit)
}

/// A fault of a field, in the form of the API's.
fn refused(text: &str) -> Failure {
    let errors = vec![text.to_owned()];
    Failure { errors, ..Failure::new(http::StatusCode::BAD_REQUEST, text) }
}

/// The address of a saved question, as far as an address can hold it: one metric and one set of filters.
pub(super) fn address(kind: Kind, question: &Value, insight: &str) -> Address {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name = |event: &Value| event["eventName"].as_str().map(str::to_owned);
    let listed = |value: &Value| {
        let array = value.as_array().filter(|array| !array.is_empty());
        array.map(|_| value.to_string()).unwrap_or_default()
    };
    let mut asked = Address::new(kind);
    insight.clone_into(&mut asked.insight);
    match kind {
        Kind::Trends => {
            let series = question["series"].as_array().cloned().unwrap_or_default();
            asked.events = series.iter().filter_map(name).collect();
            let first = series.first().cloned().unwrap_or_default();
            asked.metric = text(&first["metric"]);
            asked.field = text(&first["field"]);
            asked.filters = listed(&first["filters"]);
            asked.compare = text(&question["compare"]);
        }
        Kind::Funnels => {
            let steps = question["steps"].as_array().cloned().unwrap_or_default();
            asked.events = steps.iter().filter_map(name).collect();
            asked.filters = listed(&steps.first().cloned().unwrap_or_default()["filters"]);
            asked.window = span_text(&question["window"]);
            asked.order = text(&question["order"]);
        }
        Kind::Retention => {
            asked.events =
                [&question["start"], &question["return"]].into_iter().filter_map(name).collect();
            asked.filters = listed(&question["start"]["filters"]);
            asked.mode = text(&question["mode"]);
            asked.intervals =
                question["intervals"].as_u64().map(|it| it.to_string()).unwrap_or_default();
        }
    }
    asked.interval = text(&question["interval"]);
    asked.last = span_text(&question["last"]);
    asked.from = text(&question["from"]);
    asked.to = text(&question["to"]);
    asked.breakdown = match question["breakdown"]["profile"].as_str() {
        Some(attribute) => format!("{PROFILE}{attribute}"),
        None => text(&question["breakdown"]["property"]),
    };
    asked
}

/// Whether an address has all of a question: one metric and one set of filters for every line of a trend, and filters
/// of the first event alone in a funnel and in retention.
pub(super) fn is_whole(kind: Kind, question: &Value) -> bool {
    let has_filters = |event: &Value| event["filters"].as_array().is_some_and(|it| !it.is_empty());
    let all = |name: &str| question[name].as_array().cloned().unwrap_or_default();
    match kind {
        Kind::Trends => {
            let series = all("series");
            let is_alike = |one: &Value, other: &Value| {
                one["metric"] == other["metric"]
                    && one["field"] == other["field"]
                    && has_filters(one) == has_filters(other)
                    && (!has_filters(one) || one["filters"] == other["filters"])
            };
            series.windows(2).all(|pair| is_alike(&pair[0], &pair[1]))
        }
        Kind::Funnels => !all("steps").iter().skip(1).any(has_filters),
        Kind::Retention => !has_filters(&question["return"]),
    }
}

fn span_text(span: &Value) -> String {
    let unit = match span["unit"].as_str() {
        Some("minutes") => "min",
        Some("hours") => "h",
        Some("days") => "d",
        Some("weeks") => "w",
        Some("months") => "m",
        _ => return String::new(),
    };
    span["amount"].as_u64().map(|amount| format!("{amount}{unit}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_a_number_and_a_unit() {
        assert_eq!(span("last", "30d").unwrap(), json!({"amount": 30, "unit": "days"}));
        assert_eq!(span_text(&span("window", "30min").unwrap()), "30min");
        for wrong in ["", "d", "30", "30x", "-1d", "99999999999d", "3é"] {
            assert!(span("last", wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_an_address_cannot_hold_is_noticed() {
        let filters = json!([{"property": "a", "operator": "exists"}]);
        for (kind, question, expected) in [
            (
                Kind::Trends,
                json!({"series": [{"metric": "count"}, {"metric": "count", "filters": []}]}),
                true,
            ),
            (Kind::Trends, json!({"series": [{"metric": "count"}, {"metric": "sum"}]}), false),
            (
                Kind::Trends,
                json!({"series": [{"metric": "count"}, {"metric": "count", "filters": filters}]}),
                false,
            ),
            (Kind::Funnels, json!({"steps": [{"filters": filters}, {"eventName": "B"}]}), true),
            (Kind::Funnels, json!({"steps": [{}, {"filters": filters}]}), false),
            (Kind::Retention, json!({"start": {"filters": filters}, "return": {}}), true),
            (Kind::Retention, json!({"start": {}, "return": {"filters": filters}}), false),
        ] {
            assert_eq!(is_whole(kind, &question), expected, "{question}");
        }
    }

    #[test]
    fn a_question_is_the_address_it_came_from() {
        let query = "tab=trends&event=A&event=B&metric=sum&field=total&interval=week&last=12w\
                     &breakdown=profile%3Aplan&compare=previous_period";
        let asked = Address::read(query);
        let mut body = trends(&asked).unwrap();
        range(&asked, &mut body).unwrap();
        assert_eq!(address(Kind::Trends, &body, ""), asked);
        let asked = Address::read("tab=funnels&event=A&event=B&last=30d&window=7d&order=strict");
        let mut body = funnels(&asked).unwrap();
        range(&asked, &mut body).unwrap();
        assert_eq!(address(Kind::Funnels, &body, ""), asked);
    }
}
