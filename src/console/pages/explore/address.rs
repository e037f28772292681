//! The address of a question.

use std::fmt::Write as _;

use url::form_urlencoded;

use super::ENTRY;

/// Events of one question.
const EVENTS_MAX: usize = 20;

/// A kind of question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Trends,
    Funnels,
    Retention,
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::Trends, Self::Funnels, Self::Retention];

    /// The name in addresses and in the API's paths.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Trends => "trends",
            Self::Funnels => "funnels",
            Self::Retention => "retention",
        }
    }

    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::Trends => "Trends",
            Self::Funnels => "Funnels",
            Self::Retention => "Retention",
        }
    }

    pub(super) fn of(name: &str) -> Self {
        Self::ALL.into_iter().find(|kind| kind.name() == name).unwrap_or(Self::Trends)
    }
}

/// A question as its address has it. Texts that are empty are not given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) kind: Kind,
    pub(super) events: Vec<String>,
    pub(super) metric: String,
    pub(super) field: String,
    pub(super) interval: String,
    /// A number and a unit: `24h`, `30d`, `12w`, `6m`.
    pub(super) last: String,
    pub(super) from: String,
    pub(super) to: String,
    /// A property, or an attribute of the profile after `profile:`.
    pub(super) breakdown: String,
    pub(super) compare: String,
    /// A JSON array of `{property, operator, value}`.
    pub(super) filters: String,
    /// How long people have for a funnel: a number and a unit, also minutes (`30min`).
    pub(super) window: String,
    pub(super) order: String,
    pub(super) mode: String,
    pub(super) intervals: String,
    /// The id of a saved question.
    pub(super) insight: String,
    /// Rows of the form, which become `filters`.
    rows: Option<Vec<FilterRow>>,
}

/// A filter as it is typed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct FilterRow {
    pub(super) property: String,
    pub(super) operator: String,
    pub(super) value: String,
}

impl Address {
    /// An address without a question.
    pub(super) const fn new(kind: Kind) -> Self {
        Self {
            kind,
            events: Vec::new(),
            metric: String::new(),
            field: String::new(),
            interval: String::new(),
            last: String::new(),
            from: String::new(),
            to: String::new(),
            breakdown: String::new(),
            compare: String::new(),
            filters: String::new(),
            window: String::new(),
            order: String::new(),
            mode: String::new(),
            intervals: String::new(),
            insight: String::new(),
            rows: None,
        }
    }

    pub(super) fn read(query: &str) -> Self {
        let mut asked = Self::new(Kind::Trends);
        let mut rows: Vec<FilterRow> = Vec::new();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let value = value.trim();
            match name.as_ref() {
                "tab" => asked.kind = Kind::of(value),
                "event" if !value.is_empty() && asked.events.len() < EVENTS_MAX => {
                    asked.events.push(value.to_owned());
                }
                "fp" => rows.push(FilterRow { property: value.to_owned(), ..FilterRow::default() }),
                "fo" | "fv" => {
                    if let Some(row) = rows.last_mut() {
                        let part = if name == "fo" { &mut row.operator } else { &mut row.value };
                        value.clone_into(part);
                    }
                }
                name => {
                    if let Some(text) = asked.text_mut(name) {
                        value.clone_into(text);
                    }
                }
            }
        }
        asked.rows = (!rows.is_empty()).then_some(rows);
        asked
    }

    fn text_mut(&mut self, name: &str) -> Option<&mut String> {
        Some(match name {
            "metric" => &mut self.metric,
            "field" => &mut self.field,
            "interval" => &mut self.interval,
            "last" => &mut self.last,
            "from" => &mut self.from,
            "to" => &mut self.to,
            "breakdown" => &mut self.breakdown,
            "compare" => &mut self.compare,
            "filters" => &mut self.filters,
            "window" => &mut self.window,
            "order" => &mut self.order,
            "mode" => &mut self.mode,
            "intervals" => &mut self.intervals,
            "insight" => &mut self.insight,
            _ => return None,
        })
    }

    /// Where rows of a form stand: the same question with one field for all of them.
    pub(super) fn canonical(&self) -> Option<String> {
        let rows = self.rows.as_ref()?;
        let filters: Vec<serde_json::Value> =
            rows.iter().filter(|row| !row.property.is_empty()).map(FilterRow::filter).collect();
        let filters = if filters.is_empty() {
            String::new()
        } else {
            serde_json::Value::Array(filters).to_string()
        };
        Some(Self { filters, rows: None, ..self.clone() }.href())
    }

    /// The filters as rows of the form.
    pub(super) fn filter_rows(&self) -> Vec<FilterRow> {
        let filters: Vec<serde_json::Value> =
            serde_json::from_str(&self.filters).unwrap_or_default();
        filters.iter().map(FilterRow::of).collect()
    }

    /// Whether it names a saved question and nothing else.
    pub(super) fn is_of_insight_alone(&self) -> bool {
        let alone = Self { insight: self.insight.clone(), ..Self::new(self.kind) };
        !self.insight.is_empty() && *self == alone
    }

    /// Whether it lacks the events that its kind of question is about.
    pub(super) const fn has_no_question(&self) -> bool {
        self.events.is_empty() && !matches!(self.kind, Kind::Trends)
    }

    /// The same as another kind of question.
    pub(super) fn of_kind(&self, kind: Kind) -> Self {
        Self { kind, insight: String::new(), ..self.clone() }
    }

    /// The query string of the address.
    pub(super) fn query(&self) -> String {
        let mut pairs = form_urlencoded::Serializer::new(String::new());
        pairs.append_pair("tab", self.kind.name());
        for event in &self.events {
            pairs.append_pair("event", event);
        }
        let texts = [
            ("metric", &self.metric),
            ("field", &self.field),
            ("interval", &self.interval),
            ("last", &self.last),
            ("from", &self.from),
            ("to", &self.to),
            ("breakdown", &self.breakdown),
            ("compare", &self.compare),
            ("filters", &self.filters),
            ("window", &self.window),
            ("order", &self.order),
            ("mode", &self.mode),
            ("intervals", &self.intervals),
            ("insight", &self.insight),
        ];
        for (name, value) in texts.into_iter().filter(|(_, value)| !value.is_empty()) {
            pairs.append_pair(name, value);
        }
        pairs.finish()
    }

    pub(super) fn href(&self) -> String {
        format!("{}?{}", ENTRY.path, self.query())
    }

    /// The title of the page.
    pub(super) fn title(&self) -> String {
        let mut title = self.kind.label().to_owned();
        if let Some(first) = self.events.first() {
            // Writing to a string does not fail.
            let _ = write!(title, ": {first}");
        }
        title
    }
}

impl FilterRow {
    /// The filter that a row means: a number, true, false and a list are read as such, quotes make a text of them.
    fn filter(&self) -> serde_json::Value {
        let operator = if self.operator.is_empty() { "equals" } else { &self.operator };
        let mut filter = serde_json::json!({"property": self.property, "operator": operator});
        if !self.value.is_empty() {
            let read = serde_json::from_str::<serde_json::Value>(&self.value).ok();
            let read = read.filter(|value| !value.is_null() && !value.is_object());
            filter["value"] = read.unwrap_or_else(|| self.value.clone().into());
        }
        filter
    }

    fn of(filter: &serde_json::Value) -> Self {
        let text = |name: &str| filter[name].as_str().unwrap_or_default().to_owned();
        let value = match &filter["value"] {
            serde_json::Value::Null => String::new(),
            // Quotes keep a text that could be read as something else.
            serde_json::Value::String(text)
                if serde_json::from_str::<serde_json::Value>(text).is_err() =>
            {
                text.clone()
            }
            other => other.to_string(),
        };
        Self { property: text("property"), operator: text("operator"), value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_it_is_written() {
        let text = "tab=funnels&event=A%20b&event=C&last=30d&breakdown=profile%3Aplan&window=7d";
        let asked = Address::read(text);
        assert_eq!(asked.kind, Kind::Funnels);
        assert_eq!(asked.events, ["A b", "C"]);
        assert_eq!(Address::read(&asked.query()), asked);
        assert_eq!(asked.canonical(), None);
    }

    #[test]
    fn rows_of_filters_become_one_field_and_come_back() {
        let text = "fp=country&fo=equals&fv=GB&fp=total&fo=gt&fv=49.5&fp=&fo=equals&fv=&fp=zip&fo=&fv=%2212%22";
        let canonical = Address::read(text).canonical().unwrap();
        let asked = Address::read(canonical.split_once('?').unwrap().1);
        let filters: serde_json::Value = serde_json::from_str(&asked.filters).unwrap();
        assert_eq!(
            filters,
            serde_json::json!([
                {"property": "country", "operator": "equals", "value": "GB"},
                {"property": "total", "operator": "gt", "value": 49.5},
                {"property": "zip", "operator": "equals", "value": "12"},
            ])
        );
        let rows: Vec<String> = asked.filter_rows().into_iter().map(|row| row.value).collect();
        assert_eq!(rows, ["GB", "49.5", "\"12\""]);
    }
}
