//! A row of the form that builds a targeting: one filter, as texts and as JSON.

use serde_json::{Map, Value, json};

/// The types of filters: the API's word and the label.
pub(super) const KINDS: [(&str, &str); 7] = [
    ("attribute", "Attribute"),
    ("profile", "Profile"),
    ("event", "Event"),
    ("segment", "Segment"),
    ("list", "List"),
    ("channel", "Consent"),
    ("engagement", "Messages"),
];

const OF_ATTRIBUTES: &[&str] = &[
    "equals",
    "not_equals",
    "contains",
    "not_contains",
    "starts_with",
    "ends_with",
    "in",
    "not_in",
    "gt",
    "gte",
    "lt",
    "lte",
    "between",
    "exists",
    "not_exists",
    "before",
    "after",
    "within_last",
    "not_within_last",
    "is_true",
    "is_false",
];
const OF_PROFILES: &[&str] = &[
    "equals",
    "not_equals",
    "contains",
    "not_contains",
    "starts_with",
    "ends_with",
    "in",
    "not_in",
    "exists",
    "not_exists",
    "gt",
    "gte",
    "lt",
    "lte",
    "between",
    "before",
    "after",
    "within_last",
    "not_within_last",
];
const OF_CHANNELS: &[&str] = &["equals", "not_equals", "in", "not_in", "exists", "not_exists"];

/// One filter as it is typed. Fields that its type does not have are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) kind: String,
    pub(super) field: String,
    pub(super) operator: String,
    pub(super) value: String,
    /// How the number of events is compared; empty for at least one.
    pub(super) times_operator: String,
    pub(super) times: String,
    /// The number of days before now.
    pub(super) days: String,
}

impl Row {
    pub(super) fn new() -> Self {
        Self { kind: "attribute".to_owned(), operator: "equals".to_owned(), ..Self::default() }
    }

    /// The operators of its type.
    pub(super) fn operators(&self) -> &'static [&'static str] {
        match self.kind.as_str() {
            "profile" => OF_PROFILES,
            "event" => &["performed", "not_performed"],
            "segment" | "list" => &["member", "not_member"],
            "channel" => OF_CHANNELS,
            "engagement" => &["sent", "opened", "clicked"],
            _ => OF_ATTRIBUTES,
        }
    }

    /// The field of a form that has this name in a row.
    pub(super) fn set(&mut self, name: &str, text: &str) {
        let place = match name {
            "type" => &mut self.kind,
            "field" => &mut self.field,
            "operator" => &mut self.operator,
            "value" => &mut self.value,
            "times_operator" => &mut self.times_operator,
            "times" => &mut self.times,
            "days" => &mut self.days,
            _ => return,
        };
        text.clone_into(place);
    }

    /// After a change of the type, what does not fit it any more is cleared.
    pub(super) fn settle(&mut self) {
        let operators = self.operators();
        if !operators.contains(&self.operator.as_str()) {
            operators[0].clone_into(&mut self.operator);
            self.value.clear();
            match self.kind.as_str() {
                "profile" | "channel" => "email".clone_into(&mut self.field),
                _ => self.field.clear(),
            }
        }
    }

    /// The filter as the API takes it. What is missing is left out, so that the API says so.
    pub(super) fn filter(&self) -> Value {
        let mut filter = Map::new();
        filter.insert("type".to_owned(), json!(self.kind));
        if !self.field.is_empty() {
            filter.insert("field".to_owned(), json!(self.field));
        }
        filter.insert("operator".to_owned(), json!(self.operator));
        if let Some(value) = self.operand() {
            filter.insert("value".to_owned(), value);
        }
        Value::Object(filter)
    }

    fn operand(&self) -> Option<Value> {
        let text = self.value.trim();
        match (self.kind.as_str(), self.operator.as_str()) {
            ("segment" | "list", _) | (_, "exists" | "not_exists" | "is_true" | "is_false") => None,
            ("event" | "engagement", _) => self.details(),
            _ if text.is_empty() => None,
            (_, "within_last" | "not_within_last") => Some(span(text)),
            (_, "in" | "not_in" | "between") => Some(list(text, self.is_typed())),
            _ => Some(scalar(text, self.is_typed())),
        }
    }

    /// Whether numbers and booleans are such. The fields of profiles are all texts.
    fn is_typed(&self) -> bool {
        self.kind == "attribute"
    }

    fn details(&self) -> Option<Value> {
        let mut details = Map::new();
        if self.kind == "event" && !self.times.trim().is_empty() {
            let operator = match self.times_operator.as_str() {
                "" => "gte",
                operator => operator,
            };
            details.insert("count".to_owned(), json!({"op": operator, "n": number(&self.times)}));
        }
        if self.kind == "engagement" && !self.value.trim().is_empty() {
            details.insert("campaignId".to_owned(), json!(self.value.trim()));
        }
        if !self.days.trim().is_empty() {
            details.insert("withinDays".to_owned(), number(&self.days));
        }
        (!details.is_empty()).then_some(Value::Object(details))
    }

    /// The row of a filter. The caller checks that nothing was lost: rows cannot hold every filter.
    pub(super) fn of(filter: &Value) -> Option<Self> {
        let text = |name: &str| filter.get(name).and_then(Value::as_str).unwrap_or_default();
        let (kind, operator) = (text("type").to_owned(), text("operator").to_owned());
        let mut row = Self { kind, operator, field: text("field").to_owned(), ..Self::default() };
        let value = filter.get("value").unwrap_or(&Value::Null);
        match (row.kind.as_str(), value) {
            ("segment" | "list", Value::String(id)) => id.clone_into(&mut row.field),
            ("event" | "engagement", Value::Object(details)) => {
                row.days = details.get("withinDays").map(Value::to_string).unwrap_or_default();
                let id = details.get("campaignId").and_then(Value::as_str);
                row.value = id.unwrap_or_default().to_owned();
                if let Some(count) = details.get("count") {
                    row.times = count.get("n")?.to_string();
                    count.get("op")?.as_str()?.clone_into(&mut row.times_operator);
                }
            }
            (_, Value::Null) => {}
            (_, Value::Array(items)) => row.value = typed_list(items, row.is_typed()),
            (_, Value::Object(span)) => {
                let unit = span.get("unit")?.as_str()?;
                row.value = format!("{} {unit}", span.get("amount")?);
            }
            (_, Value::String(text)) => row.value = typed(text, row.is_typed()),
            (_, value) => row.value = value.to_string(),
        }
        Some(row)
    }
}

/// A number, or the text as it is, so that the API refuses it.
fn number(text: &str) -> Value {
    text.trim().parse::<i64>().map_or_else(|_| json!(text), |number| json!(number))
}

/// `12 hours`, or a number of days.
fn span(text: &str) -> Value {
    match text.split_once(' ') {
        Some((amount, unit)) => json!({"amount": number(amount), "unit": unit.trim()}),
        None => number(text),
    }
}

/// A number or a boolean as such, a text in quotation marks without them, and any other text as it is.
fn scalar(text: &str, is_typed: bool) -> Value {
    match serde_json::from_str::<Value>(text) {
        Ok(value @ (Value::Number(_) | Value::Bool(_) | Value::String(_))) if is_typed => value,
        _ => Value::String(text.to_owned()),
    }
}

/// Values between commas, or an array in JSON.
fn list(text: &str, is_typed: bool) -> Value {
    if let Ok(array @ Value::Array(_)) = serde_json::from_str(text) {
        return array;
    }
    let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
    items.map(|item| scalar(item, is_typed)).collect()
}

/// A text as it is typed, in quotation marks where it would be read as something else.
fn typed(text: &str, is_typed: bool) -> String {
    if scalar(text.trim(), is_typed) == *text {
        return text.to_owned();
    }
    Value::String(text.to_owned()).to_string()
}

fn typed_list(items: &[Value], is_typed: bool) -> String {
    let plain: Vec<String> = items
        .iter()
        .map(|item| item.as_str().map_or_else(|| item.to_string(), |text| typed(text, is_typed)))
        .collect();
    let joined = plain.join(", ");
    let is_same = list(&joined, is_typed).as_array().is_some_and(|read| read == items);
    if is_same { joined } else { Value::from(items).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(kind: &str, operator: &str, value: &str) -> Row {
        Row {
            kind: kind.to_owned(),
            field: "f".to_owned(),
            operator: operator.to_owned(),
            value: value.to_owned(),
            ..Row::default()
        }
    }

    #[test]
    fn what_is_typed_becomes_what_the_api_takes() {
        for (kind, operator, typed, value) in [
            ("attribute", "equals", "pro", json!("pro")),
            ("attribute", "equals", "42", json!(42)),
            ("attribute", "equals", "\"42\"", json!("42")),
            ("attribute", "equals", "true", json!(true)),
            ("attribute", "in", "a, 2, \"3\"", json!(["a", 2, "3"])),
            ("attribute", "in", "[\"a,b\"]", json!(["a,b"])),
            ("attribute", "between", "1, 2.5", json!([1, 2.5])),
            ("attribute", "within_last", "7", json!(7)),
            ("profile", "within_last", "12 hours", json!({"amount": 12, "unit": "hours"})),
            ("profile", "equals", "42", json!("42")),
            ("channel", "equals", "unsubscribed", json!("unsubscribed")),
        ] {
            let row = row(kind, operator, typed);
            let filter = row.filter();
            assert_eq!(filter["value"], value, "{kind} {operator} {typed}");
            assert_eq!(Row::of(&filter).map(|row| row.filter()), Some(filter));
        }
        assert_eq!(row("attribute", "exists", "x").filter().get("value"), None);
        assert_eq!(row("attribute", "equals", " ").filter().get("value"), None);
    }

    #[test]
    fn events_are_counted_over_days() {
        let row = Row {
            times_operator: "lte".to_owned(),
            times: "2".to_owned(),
            days: "30".to_owned(),
            ..row("event", "performed", "")
        };
        let filter = row.filter();
        assert_eq!(filter["value"], json!({"count": {"op": "lte", "n": 2}, "withinDays": 30}));
        assert_eq!(Row::of(&filter), Some(row));
    }

    #[test]
    fn a_new_type_brings_its_own_operators() {
        let mut row = Row { kind: "event".to_owned(), ..row("attribute", "equals", "pro") };
        row.settle();
        assert_eq!((row.operator.as_str(), row.value.as_str()), ("performed", ""));
    }
}
