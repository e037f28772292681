//! The form as it is typed: texts by the names of fields, and what the API takes for them.

use std::collections::BTreeMap;

use kernel::zone::Zone;
use serde_json::{Map, Value, json};

use super::{
    conflict::{LOADED, SEEN},
    fields::{self, ADVANCED, Input, LIMITED, PRESENT, Spec},
    values::{Readable, parsed, pretty, text_or_null, typed, value_of},
};
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
const SCHEDULE: &str = "recurringSchedule";

/// What a button of the form does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Save,
    /// Likewise, over what others changed meanwhile.
    SaveOver,
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
            ("save-over", _) => Self::SaveOver,
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
        let fields =
            form.pairs().filter(|(name, _)| !matches!(*name, "csrf_token" | "once" | "do" | SEEN));
        let mut draft = Self::default();
        for (name, text) in fields {
            // Browsers end lines of a form in CR and LF.
            draft.set(name, &text.replace("\r\n", "\n"));
        }
        let indices = draft.texts.keys().filter_map(|name| variant_of(name));
        draft.variants = indices.max().map_or(0, |at| (at + 1).min(VARIANTS_MAX));
        draft
    }

    /// A form for a campaign as it is saved, which knows its ETag.
    pub(super) fn of_saved(definition: &Value, etag: &str, zone: Zone) -> Self {
        let mut draft = Self::of_campaign(definition, zone);
        draft.set(LOADED, etag);
        draft
    }

    /// A form with the fields of a campaign.
    fn of_campaign(definition: &Value, zone: Zone) -> Self {
        let mut draft = Self::default();
        for name in ["channel", "sendType", LIST] {
            draft.set(name, definition[name].as_str().unwrap_or_default());
        }
        let own = definition["scheduledTimezone"].as_str().and_then(|name| name.parse().ok());
        let zone = own.unwrap_or(zone);
        draft.variants = definition["variants"].as_array().map_or(0, Vec::len);
        for field in draft.fields() {
            let text = match definition.pointer(&pointer(&field.name)) {
                Some(value) if !value.is_null() => typed(value, field.spec.input, zone),
                _ if is_switch_of(&field, definition) => PRESENT.to_owned(),
                _ => String::new(),
            };
            draft.set(&field.name, &text);
        }
        draft.set_audience(definition.get(TARGETING).unwrap_or(&Value::Null));
        let without_fields =
            LIMITED.iter().filter(|root| !draft.is_held_by_fields(root, definition));
        let without_fields: Vec<&str> = without_fields.copied().collect();
        for root in &without_fields {
            draft.texts.retain(|name, _| root_of(name) != *root);
        }
        let other: Map<String, Value> = ADVANCED
            .iter()
            .chain(&without_fields)
            .filter_map(|name| Some(((*name).to_owned(), definition.get(*name)?.clone())))
            .filter(|(_, value)| !value.is_null())
            .collect();
        let is_empty = other.is_empty();
        draft.set(OTHER, &if is_empty { String::new() } else { pretty(&Value::Object(other)) });
        draft
    }

    /// Whether the fields of a setting mean the whole of it.
    fn is_held_by_fields(&self, root: &str, definition: &Value) -> bool {
        let mut body = Map::new();
        let own = self.fields().into_iter().filter(|field| root_of(&field.name) == root);
        self.put_into(&mut body, &mut Vec::new(), own);
        body.get(root).unwrap_or(&Value::Null) == definition.get(root).unwrap_or(&Value::Null)
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
            _ => {}
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
        let own = [
            fields::BASICS,
            schedule,
            fields::GOALS,
            ab_test,
            fields::AGAIN,
            fields::LIMITS,
            fields::QUIET,
            fields::UTM,
        ];
        let mut all: Vec<Named> = own.into_iter().flatten().map(Named::of).collect();
        for at in 0..self.variants {
            let of_variant = fields::VARIANT.iter().chain(fields::message(self.channel()));
            all.extend(of_variant.map(|spec| Named::of_variant(at, spec)));
        }
        all
    }

    /// A variant for the API, as it is typed.
    pub(super) fn variant(&self, at: usize) -> Readable {
        let (mut body, mut errors) = (self.empty_variants(), Vec::new());
        let is_its = |field: &Named| variant_of(&field.name) == Some(at);
        self.put_into(&mut body, &mut errors, self.fields().into_iter().filter(is_its));
        let variant = body.get("variants").and_then(|variants| variants.get(at));
        let fields = variant.and_then(Value::as_object).cloned().unwrap_or_default();
        Readable { fields, errors }
    }

    /// The schedule for the API, as it is typed.
    ///
    /// # Errors
    /// Its fields whose JSON cannot be read, in the words of the API's errors.
    pub(super) fn schedule(&self) -> Result<Map<String, Value>, Vec<String>> {
        let (mut body, mut errors) = (Map::new(), Vec::new());
        let is_its = |field: &Named| root_of(&field.name) == SCHEDULE;
        self.put_into(&mut body, &mut errors, self.fields().into_iter().filter(is_its));
        let fields = body.get(SCHEDULE).and_then(Value::as_object).cloned().unwrap_or_default();
        Readable { fields, errors }.whole()
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
            let root = body.entry(root_of(&field.name)).or_insert(Value::Null);
            if matches!(field.spec.input, Input::Switch(_)) && self.text(&field.name) == PRESENT {
                *root = json!({});
                continue;
            }
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
        self.readable(|_| true).whole()
    }

    /// Of the body these settings alone. Those that are typed as JSON together may be any of them.
    pub(super) fn settings(&self, names: &[&str]) -> Readable {
        self.readable(|name| names.contains(&name))
    }

    /// The settings whose names are asked for.
    fn readable(&self, is_asked: impl Fn(&str) -> bool) -> Readable {
        let (mut body, mut errors) = (self.empty_variants(), Vec::new());
        for name in ["channel", "sendType", LIST] {
            body.insert(name.to_owned(), text_or_null(self.text(name)));
        }
        let fields = self.fields().into_iter().filter(|field| is_asked(root_of(&field.name)));
        self.put_into(&mut body, &mut errors, fields);
        match self.targeting() {
            Ok(targeting) => drop(body.insert(TARGETING.to_owned(), targeting)),
            Err(problem) if is_asked(TARGETING) => errors.push(format!("{TARGETING} {problem}")),
            Err(_) => {}
        }
        match self.other() {
            Ok(other) => {
                for (name, value) in other.into_iter().filter(|(name, _)| is_asked(name)) {
                    let has_fields = body.get(&name).is_some_and(|value| !value.is_null());
                    if has_fields && LIMITED.contains(&name.as_str()) {
                        errors.push(format!(
                            "{OTHER} has {name}, which is typed in its own fields, too"
                        ));
                    } else {
                        body.insert(name, value);
                    }
                }
            }
            Err(problem) => errors.push(format!("{OTHER} {problem}")),
        }
        body.retain(|name, _| is_asked(name));
        Readable { fields: body, errors }
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
        let is_known = |name: &str| ADVANCED.contains(&name) || LIMITED.contains(&name);
        if let Some(name) = typed.keys().find(|name| !is_known(name)) {
            return Err(format!("has the field {name}; it takes {}", ADVANCED.join(", ")));
        }
        let none = ADVANCED.iter().map(|name| ((*name).to_owned(), Value::Null));
        Ok(none.chain(typed).collect())
    }

    /// Whether a setting is typed as JSON, so that its faults are those of the JSON.
    pub(super) fn is_among_others(&self, root: &str) -> bool {
        let typed = parsed(self.text(OTHER)).ok().flatten();
        typed.is_some_and(|typed| typed.get(root).is_some())
    }
}

/// Whether a field only switches a setting on, which is there without any other value.
fn is_switch_of(field: &Named, definition: &Value) -> bool {
    let is_switch = matches!(field.spec.input, Input::Switch(_));
    is_switch && definition.get(root_of(&field.name)).is_some_and(Value::is_object)
}

/// The field of the API that a field of the form is in.
pub(super) fn root_of(name: &str) -> &str {
    name.split(['.', '[']).next().unwrap_or_default()
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
pub(super) fn variant_of(name: &str) -> Option<usize> {
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
    fn settings_stand_in_their_fields_and_come_back_the_same() {
        for (root, value, field, shown) in [
            ("utmSettings", json!({}), "utmSettings.enabled", PRESENT),
            ("utmSettings", json!({"source": "news"}), "utmSettings.source", "news"),
            ("utmSettings", json!({"enabled": true}), "utmSettings.enabled", "true"),
            ("quietTimeOverride", json!({"enabled": false}), "quietTimeOverride.enabled", "false"),
            (
                "quietTimeOverride",
                json!({"start": "21:00", "behavior": "skip"}),
                "quietTimeOverride.start",
                "21:00",
            ),
            (
                "sendVolumeLimit",
                json!({"maxSends": 5, "cadence": "per_send"}),
                "sendVolumeLimit.maxSends",
                "5",
            ),
            (
                "sendRateLimit",
                json!({"enabled": false, "maxPerMinute": 9}),
                "sendRateLimit.maxPerMinute",
                "9",
            ),
            ("abTestConfig", json!({}), "abTestConfig.enabled", PRESENT),
        ] {
            let mut campaign = whole();
            campaign[root] = value.clone();
            let draft = Draft::of_campaign(&campaign, Zone::UTC);
            assert_eq!(draft.text(field), shown, "{root} {value}");
            assert_eq!(draft.body().unwrap().get(root), Some(&value));
            assert!(!draft.is_among_others(root));
        }
        // What fields cannot hold stays JSON.
        let empty = json!({"source": "", "medium": "email"});
        let campaign = json!({"channel": "email", "variants": [], "utmSettings": empty});
        let mut draft = Draft::of_campaign(&campaign, Zone::UTC);
        assert!(
            draft.is_among_others("utmSettings") && draft.text("utmSettings.medium").is_empty()
        );
        assert_eq!(draft.body().unwrap().get("utmSettings"), Some(&empty));
        draft.set("utmSettings.medium", "sms");
        let errors = draft.body().unwrap_err();
        assert_eq!(errors, ["other has utmSettings, which is typed in its own fields, too"]);
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
    fn what_can_be_read_is_there_beside_what_cannot() {
        let mut draft = Draft::new();
        draft.set("channel", "push");
        draft.set("variants[0].message.title", "Hi");
        draft.set("variants[0].message.data", "{");
        draft.set(AUDIENCE, "json");
        draft.set(TARGETING, "[");
        draft.set("utmSettings.source", "news");
        let Readable { fields, errors } = draft.variant(0);
        assert_eq!(fields["message"], json!({"title": "Hi"}));
        assert!(errors.len() == 1 && errors[0].starts_with("variants[0].message.data is not"));
        let Readable { fields, errors } = draft.settings(&["channel", "utmSettings"]);
        assert_eq!(
            Value::Object(fields),
            json!({"channel": "push", "utmSettings": {"source": "news"}})
        );
        assert_eq!(errors, [""; 0]);
        draft.set(OTHER, "{\"channelConfig\": ");
        let Readable { fields, errors } = draft.settings(&["channel", "channelConfig"]);
        assert_eq!(Value::Object(fields), json!({"channel": "push"}));
        assert!(errors.len() == 1 && errors[0].starts_with("other is not"), "{errors:?}");
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
