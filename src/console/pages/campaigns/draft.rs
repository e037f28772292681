//! The form as it is typed: texts by the names of fields, and what the API takes for them.

use std::collections::BTreeMap;

use kernel::{Timestamp, zone::Zone};
use serde_json::{Map, Number, Value, json};

use super::fields::{self, ADVANCED, Input, Spec};
use crate::visitor::Form;

/// Most variants of a campaign.
const VARIANTS_MAX: usize = 8;

/// The field that says how the audience is chosen.
pub(super) const AUDIENCE: &str = "audience";
/// The field with the id of a segment or list.
pub(super) const AUDIENCE_ID: &str = "audience.id";
pub(super) const TARGETING: &str = "targeting";
pub(super) const LIST: &str = "subscriptionCategoryId";
pub(super) const OTHER: &str = "other";

/// What a button of the form does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Save,
    /// Shows the form again, with the fields of another channel or send type.
    Refresh,
    AddVariant,
    RemoveVariant(usize),
}

impl Change {
    pub(super) fn of(form: &Form) -> Self {
        let text = form.text("do").unwrap_or_default();
        let (verb, rest) = text.split_once(' ').unwrap_or((text, ""));
        match (verb, rest.parse()) {
            ("save", _) => Self::Save,
            ("add-variant", _) => Self::AddVariant,
            ("remove-variant", Ok(at)) => Self::RemoveVariant(at),
            _ => Self::Refresh,
        }
    }
}

/// A field of the form with its whole name.
#[derive(Debug, Clone)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) spec: &'static Spec,
}

impl Named {
    fn of(spec: &'static Spec) -> Self {
        Self { name: spec.path.to_owned(), spec }
    }

    pub(super) fn of_variant(at: usize, spec: &'static Spec) -> Self {
        Self { name: format!("variants[{at}].{}", spec.path), spec }
    }
}

/// The texts of a form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Draft {
    texts: BTreeMap<String, String>,
    variants: usize,
}

impl Draft {
    /// A form for an email to everyone.
    pub(super) fn new() -> Self {
        let mut draft = Self::default();
        for (name, text) in [
            ("channel", "email"),
            ("sendType", "immediate"),
            (AUDIENCE, "everyone"),
            ("resendPolicy", "only_new"),
        ] {
            draft.set(name, text);
        }
        draft.add_variant();
        draft.set("variants[0].weight", "100");
        draft
    }

    /// A form as it was sent.
    pub(super) fn of_form(form: &Form) -> Self {
        let fields = form.pairs().filter(|(name, _)| !matches!(*name, "csrf_token" | "do"));
        let mut draft = Self::default();
        for (name, text) in fields {
            // Browsers end lines of a form in CR and LF.
            draft.set(name, &text.replace("\r\n", "\n"));
        }
        let indices = draft.texts.keys().filter_map(|name| variant_of(name));
        draft.variants = indices.max().map_or(0, |at| (at + 1).min(VARIANTS_MAX));
        draft
    }

    /// A form with the fields of a campaign.
    pub(super) fn of_campaign(definition: &Value, zone: Zone) -> Self {
        let mut draft = Self::default();
        for name in ["channel", "sendType", LIST] {
            draft.set(name, definition[name].as_str().unwrap_or_default());
        }
        let own = definition["scheduledTimezone"].as_str().and_then(|name| name.parse().ok());
        let zone = own.unwrap_or(zone);
        draft.variants = definition["variants"].as_array().map_or(0, Vec::len);
        for field in draft.fields() {
            let text = definition
                .pointer(&pointer(&field.name))
                .map_or_else(String::new, |value| typed(value, field.spec.input, zone));
            draft.set(&field.name, &text);
        }
        draft.set_audience(definition.get(TARGETING).unwrap_or(&Value::Null));
        let other: Map<String, Value> = ADVANCED
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), definition.get(*name)?.clone())))
            .filter(|(_, value)| !value.is_null())
            .collect();
        let is_empty = other.is_empty();
        draft.set(OTHER, &if is_empty { String::new() } else { pretty(&Value::Object(other)) });
        draft
    }

    fn set_audience(&mut self, targeting: &Value) {
        let filter = targeting.pointer("/filterGroups/0/filters/0").unwrap_or(&Value::Null);
        let kind = filter["type"].as_str().unwrap_or_default();
        let id = filter["field"].as_str().or(filter["value"].as_str()).unwrap_or_default();
        let is_empty = targeting.as_object().is_none_or(Map::is_empty);
        if is_empty {
            self.set(AUDIENCE, "everyone");
        } else if matches!(kind, "segment" | "list") && is_members(targeting, kind, id) {
            self.set(AUDIENCE, kind);
            self.set(AUDIENCE_ID, id);
        } else {
            self.set(AUDIENCE, "json");
        }
        if !is_empty {
            self.set(TARGETING, &pretty(targeting));
        }
    }

    pub(super) fn text(&self, name: &str) -> &str {
        self.texts.get(name).map_or("", String::as_str)
    }

    fn set(&mut self, name: &str, text: &str) {
        self.texts.insert(name.to_owned(), text.to_owned());
    }

    pub(super) fn is_ticked(&self, name: &str) -> bool {
        self.text(name) == "true"
    }

    pub(super) fn channel(&self) -> &str {
        self.text("channel")
    }

    pub(super) fn send_type(&self) -> &str {
        self.text("sendType")
    }

    pub(super) fn variants(&self) -> usize {
        self.variants
    }

    /// Whether there is room for another variant.
    pub(super) fn may_grow(&self) -> bool {
        self.variants < VARIANTS_MAX
    }

    pub(super) fn apply(&mut self, change: Change) {
        match change {
            Change::AddVariant if self.may_grow() => self.add_variant(),
            Change::RemoveVariant(at) if at < self.variants => self.remove_variant(at),
            Change::Save | Change::Refresh | Change::AddVariant | Change::RemoveVariant(_) => {}
        }
        // Another channel than in-app needs one.
        if self.variants == 0 && self.channel() != "in_app" {
            self.add_variant();
        }
    }

    fn add_variant(&mut self) {
        let taken: Vec<String> = (0..self.variants)
            .map(|at| self.text(&format!("variants[{at}].id")).to_owned())
            .collect();
        let free = ('a'..='z').map(String::from).find(|id| !taken.contains(id));
        let id = free.unwrap_or_default();
        let at = self.variants;
        self.set(&format!("variants[{at}].id"), &id);
        self.set(&format!("variants[{at}].name"), &id.to_uppercase());
        self.variants += 1;
    }

    /// Removes a variant; those after it move up.
    fn remove_variant(&mut self, removed: usize) {
        let texts = std::mem::take(&mut self.texts);
        for (name, text) in texts {
            match variant_of(&name) {
                Some(at) if at == removed => {}
                Some(at) if at > removed => {
                    let rest = name.split_once(']').map_or("", |(_, rest)| rest);
                    self.texts.insert(format!("variants[{}]{rest}", at - 1), text);
                }
                _ => drop(self.texts.insert(name, text)),
            }
        }
        self.variants -= 1;
    }

    /// Every field that the form has now, but for the audience and those typed together.
    pub(super) fn fields(&self) -> Vec<Named> {
        let schedule = fields::schedule(self.send_type());
        let ab_test = if self.variants > 1 { fields::AB_TEST } else { &[] };
        let own = [fields::BASICS, schedule, fields::GOALS, ab_test, fields::AGAIN];
        let mut all: Vec<Named> = own.into_iter().flatten().map(Named::of).collect();
        for at in 0..self.variants {
            let of_variant = fields::VARIANT.iter().chain(fields::message(self.channel()));
            all.extend(of_variant.map(|spec| Named::of_variant(at, spec)));
        }
        all
    }

    /// A variant for the API, as it is typed.
    ///
    /// # Errors
    /// Its fields whose JSON cannot be read, in the words of the API's errors.
    pub(super) fn variant(&self, at: usize) -> Result<Map<String, Value>, Vec<String>> {
        let (mut body, mut errors) = (self.empty_variants(), Vec::new());
        let is_its = |field: &Named| variant_of(&field.name) == Some(at);
        self.put_into(&mut body, &mut errors, self.fields().into_iter().filter(is_its));
        let variant = body.get("variants").and_then(|variants| variants.get(at));
        let variant = variant.and_then(Value::as_object).cloned().unwrap_or_default();
        if errors.is_empty() { Ok(variant) } else { Err(errors) }
    }

    fn empty_variants(&self) -> Map<String, Value> {
        let variants = vec![json!({}); self.variants];
        Map::from_iter([("variants".to_owned(), Value::Array(variants))])
    }

    fn put_into(
        &self,
        body: &mut Map<String, Value>,
        errors: &mut Vec<String>,
        fields: impl Iterator<Item = Named>,
    ) {
        for field in fields {
            let root = field.name.split(['.', '[']).next().unwrap_or_default();
            body.entry(root).or_insert(Value::Null);
            match value_of(self.text(&field.name), field.spec.input) {
                Ok(Some(value)) => put(body, &field.name, value),
                Ok(None) => {}
                Err(problem) => errors.push(format!("{} {problem}", field.name)),
            }
        }
    }

    /// The body for the API: every field that the form has; null where one is empty.
    ///
    /// # Errors
    /// The fields whose JSON cannot be read, in the words of the API's errors.
    pub(super) fn body(&self) -> Result<Map<String, Value>, Vec<String>> {
        let (mut body, mut errors) = (self.empty_variants(), Vec::new());
        for name in ["channel", "sendType", LIST] {
            body.insert(name.to_owned(), text_or_null(self.text(name)));
        }
        self.put_into(&mut body, &mut errors, self.fields().into_iter());
        match self.targeting() {
            Ok(targeting) => drop(body.insert(TARGETING.to_owned(), targeting)),
            Err(problem) => errors.push(format!("{TARGETING} {problem}")),
        }
        match self.other() {
            Ok(other) => body.extend(other),
            Err(problem) => errors.push(format!("{OTHER} {problem}")),
        }
        if errors.is_empty() { Ok(body) } else { Err(errors) }
    }

    /// The audience as a targeting; null for everyone.
    pub(super) fn targeting(&self) -> Result<Value, String> {
        match self.text(AUDIENCE) {
            kind @ ("segment" | "list") => Ok(members(kind, self.text(AUDIENCE_ID))),
            "json" => parsed(self.text(TARGETING)).map(Option::unwrap_or_default),
            _ => Ok(Value::Null),
        }
    }

    fn other(&self) -> Result<Map<String, Value>, String> {
        let typed = match parsed(self.text(OTHER))? {
            None => Map::new(),
            Some(Value::Object(fields)) => fields,
            Some(_) => return Err("must be an object".to_owned()),
        };
        if let Some(name) = typed.keys().find(|name| !ADVANCED.contains(&name.as_str())) {
            return Err(format!("has the field {name}; it takes {}", ADVANCED.join(", ")));
        }
        let field = |name: &&str| {
            let value = typed.get(*name).cloned().unwrap_or_default();
            ((*name).to_owned(), value)
        };
        Ok(ADVANCED.iter().map(field).collect())
    }
}

/// The members of a segment or list as a targeting.
fn members(kind: &str, id: &str) -> Value {
    let filter = json!({"type": kind, "field": id, "operator": "member"});
    json!({"filterGroups": [{"filters": [filter]}]})
}

/// Whether a targeting is the members of this segment or list and nothing else, in whatever way that is written.
fn is_members(targeting: &Value, kind: &str, id: &str) -> bool {
    let mut plain = targeting.clone();
    let Some(fields) = plain.as_object_mut() else { return false };
    // With one filter they have no effect.
    fields.remove("filterOperator");
    fields.retain(|_, value| !value.is_null() && value.as_array().is_none_or(|it| !it.is_empty()));
    if let Some(group) = plain.pointer_mut("/filterGroups/0").and_then(Value::as_object_mut) {
        group.remove("operator");
    }
    if let Some(filter) =
        plain.pointer_mut("/filterGroups/0/filters/0").and_then(Value::as_object_mut)
        && filter.get("value").is_some_and(Value::is_null)
    {
        filter.remove("value");
    }
    plain == members(kind, id)
}

/// The index of the variant that a field is of.
fn variant_of(name: &str) -> Option<usize> {
    let (index, _) = name.strip_prefix("variants[")?.split_once(']')?;
    index.parse().ok()
}

/// A path of the API as a JSON Pointer: `variants[0].name` as `/variants/0/name`.
fn pointer(path: &str) -> String {
    let steps = path.replace('[', "/").replace(']', "").replace('.', "/");
    format!("/{steps}")
}

/// Puts a value at its path. Objects on the way are made; variants are there already.
fn put(body: &mut Map<String, Value>, path: &str, value: Value) {
    let pointer = pointer(path);
    let mut steps = pointer.split('/').skip(1);
    let root = steps.next().unwrap_or_default();
    let mut at = body.entry(root).or_insert(Value::Null);
    for step in steps {
        if at.is_null() {
            *at = json!({});
        }
        at = match at {
            Value::Array(items) => {
                match step.parse().ok().and_then(|index: usize| items.get_mut(index)) {
                    Some(item) => item,
                    None => return,
                }
            }
            Value::Object(fields) => fields.entry(step).or_insert(Value::Null),
            _ => return,
        };
    }
    *at = value;
}

fn text_or_null(text: &str) -> Value {
    match text.trim() {
        "" => Value::Null,
        text => json!(text),
    }
}

fn pretty(value: &Value) -> String {
    // A value that was read as JSON can be written as such.
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// A value in JSON; none where nothing is typed.
fn parsed(text: &str) -> Result<Option<Value>, String> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    serde_json::from_str(text).map(Some).map_err(|fault| format!("is not valid JSON: {fault}"))
}

/// What the API takes for a text; nothing where the field is empty.
fn value_of(text: &str, input: Input) -> Result<Option<Value>, String> {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Ok(None);
    }
    let items = || trimmed.split(',').map(str::trim).filter(|item| !item.is_empty());
    let number = |text: &str| text.parse::<Number>().map_or_else(|_| json!(text), Value::Number);
    Ok(Some(match input {
        Input::Line | Input::Moment => json!(trimmed),
        Input::Lines(_) | Input::Html(_) => json!(text),
        Input::Json(_) => return parsed(text),
        Input::TextOrJson(_) => match serde_json::from_str(trimmed) {
            Ok(value @ (Value::Object(_) | Value::Array(_) | Value::String(_))) => value,
            _ => json!(text),
        },
        Input::Days if items().count() > 1 => items().map(number).collect(),
        Input::Number | Input::Days => number(trimmed),
        Input::Tags => items().map(Value::from).collect(),
        Input::Flag => json!(trimmed == "true"),
        Input::Choice(_) => match trimmed {
            "true" => json!(true),
            "false" => json!(false),
            word => json!(word),
        },
    }))
}

/// A value as it is typed.
fn typed(value: &Value, input: Input, zone: Zone) -> String {
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match (input, value) {
        (_, Value::Null) => String::new(),
        (Input::TextOrJson(_), Value::String(text)) => {
            let is_same = value_of(text, input).is_ok_and(|read| read.as_ref() == Some(value));
            if is_same { text.clone() } else { value.to_string() }
        }
        (Input::Json(_) | Input::TextOrJson(_), value) => pretty(value),
        (Input::Moment, Value::String(text)) => by_the_clock(text, zone),
        (Input::Days | Input::Tags, Value::Array(items)) => {
            items.iter().map(plain).collect::<Vec<_>>().join(", ")
        }
        (_, value) => plain(value),
    }
}

/// A time by the clock of a zone, or as it is where the clock shows it twice.
fn by_the_clock(text: &str, zone: Zone) -> String {
    let Ok(at) = Timestamp::parse(text) else { return text.to_owned() };
    let clock = zone.clock_at(at);
    if zone.moments_of(clock).chosen() == at {
        clock.format("%Y-%m-%dT%H:%M:%S%.f").to_string()
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole() -> Value {
        json!({
            "name": "March", "description": null, "channel": "webhook", "sendType": "recurring",
            "tags": ["a", "b"], "targeting": members("segment", "s1"), "resendPolicy": "cooldown",
            "resendCooldownDays": 3, "ignoreTouchingRules": true, "sendRateLimit": {"maxPerMinute": 60},
            "variants": [
                {"id": "a", "name": "A", "weight": 60, "message": {
                    "url": "https://a.test", "headers": {"X-A": "b"}, "body": "{\"not\": \"parsed\"}"}},
                {"id": "c", "name": "C", "weight": 40, "isControlGroup": true},
            ],
            "recurringSchedule": {"frequency": "weekly", "dayOfWeek": [1, 3], "timeOfDay": "09:00"},
            "conversionTracking": {"primaryConversion": {"eventName": "Bought"}, "conversionWindowHours": 24},
            "abTestConfig": {"enabled": false},
        })
    }

    #[test]
    fn a_campaign_comes_back_as_it_was() {
        let campaign = whole();
        let draft = Draft::of_campaign(&campaign, Zone::UTC);
        assert_eq!(draft.text(AUDIENCE), "segment");
        assert_eq!(draft.text("recurringSchedule.dayOfWeek"), "1, 3");
        let body = draft.body().unwrap();
        for (name, value) in campaign.as_object().unwrap() {
            assert_eq!(body.get(name), Some(value), "{name}");
        }
        // What is not in the campaign is removed.
        assert_eq!(body.get("quietTimeOverride"), Some(&Value::Null));
        assert!(!body.contains_key("scheduledAt"), "a field that the form does not have stays");
    }

    #[test]
    fn times_are_shown_by_the_clock_of_the_zone() {
        let berlin = "Europe/Berlin".parse().unwrap();
        for (at, shown) in [
            ("2030-03-01T08:00:00.000Z", "2030-03-01T09:00:00"),
            // The clock shows the hour twice; a text means the earlier one.
            ("2030-10-27T00:30:00.000Z", "2030-10-27T02:30:00"),
            ("2030-10-27T01:30:00.000Z", "2030-10-27T01:30:00.000Z"),
        ] {
            assert_eq!(typed(&json!(at), Input::Moment, berlin), shown);
        }
    }

    #[test]
    fn json_that_is_none_is_a_fault_of_its_field() {
        let mut draft = Draft::new();
        draft.set("channel", "push");
        draft.set("variants[0].message.data", "{");
        draft.set(AUDIENCE, "json");
        draft.set(TARGETING, "[");
        draft.set(OTHER, "{\"name\": 1}");
        let errors = draft.body().unwrap_err();
        let begins: Vec<&str> = errors.iter().filter_map(|it| it.split(' ').next()).collect();
        assert_eq!(begins, ["variants[0].message.data", "targeting", "other"], "{errors:?}");
    }

    #[test]
    fn variants_move_up_when_one_is_removed() {
        let mut draft = Draft::new();
        draft.apply(Change::AddVariant);
        draft.apply(Change::AddVariant);
        draft.set("variants[2].message.subject", "third");
        draft.apply(Change::RemoveVariant(1));
        assert_eq!(draft.variants(), 2);
        assert_eq!(draft.text("variants[1].id"), "c");
        assert_eq!(draft.text("variants[1].message.subject"), "third");
        draft.apply(Change::AddVariant);
        assert_eq!(draft.text("variants[2].id"), "b");
    }
}
