//! What the form of a segment holds while it is being made.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::row::Row;
use crate::visitor::Form;

/// A segment as it is typed.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) rules: Rules,
}

/// The rules, as rows or as the API's JSON.
#[derive(Debug, Clone)]
pub(super) enum Rules {
    Rows(Rows),
    Json(String),
}

/// Groups of filters, and how they are joined.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Rows {
    pub(super) is_any: bool,
    pub(super) groups: Vec<Group>,
}

/// Filters, and how they are joined.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) is_any: bool,
    /// Whether people who match are left out.
    pub(super) is_excluded: bool,
    pub(super) rows: Vec<Row>,
}

/// What the button asks for that sent the form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Save,
    /// Shows the form as it is, with its number of people.
    Refresh,
    AddGroup,
    AddRow {
        group: usize,
    },
    RemoveRow {
        group: usize,
        row: usize,
    },
    ToJson,
    ToRows,
}

impl Action {
    /// Reads the value of the button.
    pub(super) fn of(form: &Form) -> Self {
        let mut words = form.text("do").unwrap_or_default().split(' ');
        let name = words.next().unwrap_or_default();
        let mut index = || words.next().and_then(|word| word.parse().ok());
        let read = match name {
            "save" => Some(Self::Save),
            "add-group" => Some(Self::AddGroup),
            "add-row" => index().map(|group| Self::AddRow { group }),
            "remove-row" => index().zip(index()).map(|(group, row)| Self::RemoveRow { group, row }),
            "to-json" => Some(Self::ToJson),
            "to-rows" => Some(Self::ToRows),
            _ => None,
        };
        read.unwrap_or(Self::Refresh)
    }
}

impl Draft {
    pub(super) fn new() -> Self {
        let group = Group { rows: vec![Row::new()], ..Group::default() };
        let rows = Rows { is_any: false, groups: vec![group] };
        Self { name: String::new(), description: String::new(), rules: Rules::Rows(rows) }
    }

    /// The draft of a saved targeting: as rows where they can hold all of it.
    pub(super) fn of(name: &str, description: &str, targeting: &Value) -> Self {
        let rules = match Rows::of(targeting) {
            Some(rows) => Rules::Rows(rows),
            None => Rules::Json(pretty(targeting)),
        };
        Self { name: name.to_owned(), description: description.to_owned(), rules }
    }

    pub(super) fn of_form(form: &Form) -> Self {
        let text = |name: &str| form.text(name).unwrap_or_default().to_owned();
        let rules = match form.text("targeting") {
            Some(json) => Rules::Json(json.to_owned()),
            None => Rules::Rows(Rows::of_form(form)),
        };
        Self { name: text("name"), description: text("description"), rules }
    }

    /// Does what the button asks for, apart from saving.
    ///
    /// # Errors
    /// Why the rules cannot be shown as rows.
    pub(super) fn apply(&mut self, action: Action) -> Result<(), String> {
        match (action, &mut self.rules) {
            (Action::ToJson, Rules::Rows(rows)) => {
                self.rules = Rules::Json(pretty(&rows.targeting()));
            }
            (Action::ToRows, Rules::Json(json)) => {
                let read: Value = read_json(json)?;
                let rows = Rows::of(&read).ok_or(
                    "holds what rows cannot show, such as userIds or the properties of events",
                )?;
                self.rules = Rules::Rows(rows);
            }
            (action, Rules::Rows(rows)) => rows.apply(action),
            _ => {}
        }
        Ok(())
    }

    /// The targeting as the API takes it.
    ///
    /// # Errors
    /// Why the JSON is none.
    pub(super) fn targeting(&self) -> Result<Value, String> {
        match &self.rules {
            Rules::Rows(rows) => Ok(rows.targeting()),
            Rules::Json(json) => read_json(json),
        }
    }
}

fn read_json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|fault| format!("is not valid JSON: {fault}"))
}

fn pretty(value: &Value) -> String {
    // A value that was read as JSON can be written as such.
    serde_json::to_string_pretty(value).unwrap_or_default()
}

impl Rows {
    /// Reads fields such as `g0.join` and `g0.r1.type`.
    fn of_form(form: &Form) -> Self {
        let mut groups: BTreeMap<usize, (Group, BTreeMap<usize, Row>)> = BTreeMap::new();
        for (name, text) in form.pairs() {
            let Some((group, rest)) = indexed(name, 'g') else { continue };
            let (group, rows) = groups.entry(group).or_default();
            match (rest, indexed(rest, 'r')) {
                ("join", _) => group.is_any = text == "OR",
                ("kind", _) => group.is_excluded = text == "exclude",
                (_, Some((row, field))) => rows.entry(row).or_default().set(field, text),
                _ => {}
            }
        }
        let group = |(mut group, rows): (Group, BTreeMap<usize, Row>)| {
            group.rows = rows.into_values().collect();
            group.rows.iter_mut().for_each(Row::settle);
            group
        };
        Self {
            is_any: form.text("join") == Some("OR"),
            groups: groups.into_values().map(group).collect(),
        }
    }

    fn apply(&mut self, action: Action) {
        match action {
            Action::AddGroup => {
                self.groups.push(Group { rows: vec![Row::new()], ..Group::default() });
            }
            Action::AddRow { group } => {
                if let Some(group) = self.groups.get_mut(group) {
                    group.rows.push(Row::new());
                }
            }
            Action::RemoveRow { group: at, row } => {
                if let Some(group) = self.groups.get_mut(at) {
                    if row < group.rows.len() {
                        group.rows.remove(row);
                    }
                    if group.rows.is_empty() {
                        self.groups.remove(at);
                    }
                }
            }
            _ => {}
        }
    }

    fn targeting(&self) -> Value {
        let of = |is_excluded: bool| -> Vec<Value> {
            let groups = self.groups.iter().filter(|group| group.is_excluded == is_excluded);
            groups.map(Group::body).collect()
        };
        let (included, excluded) = (of(false), of(true));
        let mut targeting = Map::new();
        if !included.is_empty() {
            targeting.insert("filterGroups".to_owned(), json!(included));
        }
        if !excluded.is_empty() {
            targeting.insert("excludeFilterGroups".to_owned(), json!(excluded));
        }
        if self.is_any {
            targeting.insert("filterOperator".to_owned(), json!("OR"));
        }
        Value::Object(targeting)
    }

    /// The rows of a targeting, if they can hold all of it.
    fn of(targeting: &Value) -> Option<Self> {
        let groups = |name: &str, is_excluded: bool| -> Option<Vec<Group>> {
            let Some(groups) = targeting.get(name) else { return Some(Vec::new()) };
            groups.as_array()?.iter().map(|group| Group::of(group, is_excluded)).collect()
        };
        let mut all = groups("filterGroups", false)?;
        all.extend(groups("excludeFilterGroups", true)?);
        let is_any = targeting.get("filterOperator").and_then(Value::as_str) == Some("OR");
        let rows = Self { is_any, groups: all };
        (rows.targeting() == normal(targeting)).then_some(rows)
    }

    /// Where the API finds a group: its list and its position there.
    pub(super) fn api_path(&self, index: usize) -> String {
        let is_excluded = self.groups.get(index).is_some_and(|group| group.is_excluded);
        let before = self.groups.iter().take(index);
        let position = before.filter(|group| group.is_excluded == is_excluded).count();
        let list = if is_excluded { "excludeFilterGroups" } else { "filterGroups" };
        format!("targeting.{list}[{position}]")
    }
}

impl Group {
    fn body(&self) -> Value {
        let filters: Vec<Value> = self.rows.iter().map(Row::filter).collect();
        let mut body = Map::new();
        body.insert("filters".to_owned(), json!(filters));
        if self.is_any {
            body.insert("operator".to_owned(), json!("OR"));
        }
        Value::Object(body)
    }

    fn of(group: &Value, is_excluded: bool) -> Option<Self> {
        let rows = group.get("filters")?.as_array()?.iter().map(Row::of).collect::<Option<_>>()?;
        let is_any = group.get("operator").and_then(Value::as_str) == Some("OR");
        Some(Self { is_any, is_excluded, rows })
    }
}

/// A targeting without what is the default anyway.
fn normal(targeting: &Value) -> Value {
    let mut targeting = targeting.clone();
    let Some(fields) = targeting.as_object_mut() else { return targeting };
    fields.retain(|name, value| {
        *value != json!([]) && !(name == "filterOperator" && *value == json!("AND"))
    });
    for groups in fields.values_mut().filter_map(Value::as_array_mut) {
        for group in groups.iter_mut().filter_map(Value::as_object_mut) {
            if group.get("operator") == Some(&json!("AND")) {
                group.remove("operator");
            }
        }
    }
    targeting
}

/// The index after a letter, and what comes after the dot: `g12.join` is 12 and `join`.
fn indexed(name: &str, letter: char) -> Option<(usize, &str)> {
    let (index, rest) = name.strip_prefix(letter)?.split_once('.')?;
    Some((index.parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(fields: &[(&str, &str)]) -> Form {
        Form::new(fields.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())))
    }

    #[test]
    fn a_form_becomes_a_targeting() {
        let form = form(&[
            ("join", "OR"),
            ("g0.join", "AND"),
            ("g0.r0.type", "attribute"),
            ("g0.r0.field", "plan"),
            ("g0.r0.operator", "equals"),
            ("g0.r0.value", "pro"),
            ("g3.join", "OR"),
            ("g3.kind", "exclude"),
            ("g3.r7.type", "profile"),
            ("g3.r7.field", "email"),
            ("g3.r7.operator", "exists"),
        ]);
        let targeting = Draft::of_form(&form).targeting().unwrap();
        let plan =
            json!({"type": "attribute", "field": "plan", "operator": "equals", "value": "pro"});
        let email = json!({"type": "profile", "field": "email", "operator": "exists"});
        assert_eq!(
            targeting,
            json!({"filterGroups": [{"filters": [plan]}], "filterOperator": "OR",
                   "excludeFilterGroups": [{"filters": [email], "operator": "OR"}]})
        );
        let Rules::Rows(rows) = Draft::of("n", "", &targeting).rules else { panic!("no rows") };
        assert_eq!(rows.targeting(), targeting);
        assert_eq!(rows.api_path(1), "targeting.excludeFilterGroups[0]");
    }

    #[test]
    fn what_rows_cannot_hold_stays_json() {
        for targeting in [
            json!({"userIds": ["ann"]}),
            json!({"subscriptionPreference": "all"}),
            json!({"filterGroups": [{"filters": [{"type": "event", "field": "A", "operator": "performed",
                   "value": {"properties": {"plan": "pro"}}}]}]}),
        ] {
            assert!(matches!(Draft::of("n", "", &targeting).rules, Rules::Json(_)), "{targeting}");
        }
        for targeting in [json!({}), json!({"filterGroups": [], "filterOperator": "AND"})] {
            assert!(matches!(Draft::of("n", "", &targeting).rules, Rules::Rows(_)), "{targeting}");
        }
    }

    #[test]
    fn buttons_add_and_remove_rows() {
        let mut draft = Draft::new();
        for (button, sizes) in [
            ("add-row 0", vec![2]),
            ("add-group", vec![2, 1]),
            ("remove-row 1 0", vec![2]),
            ("remove-row 9 9", vec![2]),
            ("add-row x", vec![2]),
        ] {
            draft.apply(Action::of(&form(&[("do", button)]))).unwrap();
            let Rules::Rows(rows) = &draft.rules else { panic!("no rows") };
            let found: Vec<usize> = rows.groups.iter().map(|group| group.rows.len()).collect();
            assert_eq!(found, sizes, "{button}");
        }
        draft.apply(Action::ToJson).unwrap();
        assert!(matches!(draft.rules, Rules::Json(_)));
        draft.apply(Action::ToRows).unwrap();
        assert!(matches!(draft.rules, Rules::Rows(_)));
        draft.rules = Rules::Json("{".to_owned());
        assert!(draft.apply(Action::ToRows).unwrap_err().contains("JSON"));
    }
}
