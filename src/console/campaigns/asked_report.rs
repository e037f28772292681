//! The reports of the API that a page asks for: their parameters, and the same numbers without the console.

use axum::{body::Body, extract::Path, response::Response};
use http::{
    HeaderValue,
    header::{CONTENT_DISPOSITION, CONTENT_TYPE},
};
use maud::Markup;
use serde::Deserialize;
use serde_json::{Map, Value};
use url::form_urlencoded;

use super::{Campaign, occurrences};
use crate::{
    failure::{Failure, PageResult},
    in_process::path,
    query::Query,
    view::{self, Sources},
    visitor::Visitor,
};

/// Messages of this time, and the recipient to look up.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) person: String,
    /// The model that credits conversions and revenue; that of the campaign by default.
    pub(super) attribution: String,
    /// `on` where the numbers, which take long, are on the page.
    pub(super) numbers: String,
}

impl Asked {
    /// Whether only messages of a time are asked for.
    pub(super) fn is_of_a_time(&self) -> bool {
        !(self.from.trim().is_empty() && self.to.trim().is_empty())
    }
}

/// The reports that have rows, and where these are in the answer.
const ROWS: &[(&str, &str)] = &[
    ("stats", "/stats"),
    ("variant-stats", "/variants"),
    ("links", "/links"),
    ("failure-reasons", ""),
    ("time-to-engage", "/buckets"),
    ("send-occurrences", "/data"),
    ("rl-stats", "/arms"),
    ("in-app-stats", "/byButton"),
];

/// The parameters of a report. What is not of a time is of all messages.
fn parameters<'a>(report: &str, asked: &'a Asked) -> Vec<(&'static str, &'a str)> {
    let mut all = Vec::new();
    if matches!(report, "stats" | "variant-stats" | "links") {
        all.extend([("startDate", asked.from.trim()), ("endDate", asked.to.trim())]);
    }
    if report == "stats" {
        all.push(("attributionModel", asked.attribution.as_str()));
    }
    if report == "send-occurrences" {
        all.push(("limit", occurrences::SHOWN));
    }
    all.retain(|(_, value)| !value.is_empty());
    all
}

/// Asks for a report.
///
/// # Errors
/// What the API refuses, or a failure.
pub(super) async fn ask(
    visitor: &Visitor,
    campaign: &str,
    report: &str,
    asked: &Asked,
) -> PageResult<Value> {
    let mut call = visitor.get(path(["campaigns", campaign, report]));
    for (name, value) in parameters(report, asked) {
        call = call.query(name, value);
    }
    call.shared().read().await
}

/// The command that asks the API for a report, and the address of its rows as CSV. No report is one statement in SQL.
pub(super) fn sources(
    visitor: &Visitor,
    campaign: &Campaign,
    report: &str,
    asked: &Asked,
) -> Markup {
    let query = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(parameters(report, asked))
        .finish();
    let mark = if query.is_empty() { "" } else { "?" };
    let address = path(["campaigns", &campaign.id, report]);
    let api = format!(
        "curl -s '{}{address}{mark}{query}' -H 'Authorization: Bearer KEY'",
        visitor.server_url()
    );
    let file = path(["console", "campaigns", &campaign.id, "csv", report]);
    let query = form_urlencoded::Serializer::new(String::new())
        .extend_pairs([
            ("from", asked.from.as_str()),
            ("to", &asked.to),
            ("attribution", &asked.attribution),
        ])
        .finish();
    view::sources(&Sources { api: Some(api), sql: None, csv: Some(format!("{file}?{query}")) })
}

/// The campaign and the report that an address names.
#[derive(Debug, Deserialize)]
pub(super) struct Addressed {
    #[serde(rename = "campaignId")]
    campaign: String,
    report: String,
}

/// The rows of a report as a file.
pub(super) async fn download(
    visitor: Visitor,
    Path(Addressed { campaign, report }): Path<Addressed>,
    Query(asked): Query<Asked>,
) -> PageResult<Response> {
    let place = ROWS.iter().find(|(name, _)| *name == report).map(|(_, place)| *place);
    let place = place.ok_or_else(Failure::not_found)?;
    let answer = ask(&visitor, &campaign, &report, &asked).await?;
    let rows = match answer.pointer(place) {
        Some(Value::Array(rows)) => rows.clone(),
        Some(row) => vec![row.clone()],
        None => Vec::new(),
    };
    let mut response = Response::new(Body::from(lines(&rows)?));
    let name = format!("attachment; filename=\"{report}.csv\"");
    let name = HeaderValue::try_from(name).map_err(|fault| Failure::internal(&fault))?;
    response.headers_mut().insert(CONTENT_DISPOSITION, name);
    let kind = HeaderValue::from_static("text/csv; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    Ok(response)
}

/// Rows as CSV, with a column for each value in them; lists are left out.
fn lines(rows: &[Value]) -> PageResult<Vec<u8>> {
    let rows: Vec<Map<String, Value>> = rows.iter().map(flat).collect();
    let mut columns: Vec<&str> = Vec::new();
    for name in rows.iter().flat_map(Map::keys) {
        if !columns.contains(&name.as_str()) {
            columns.push(name);
        }
    }
    let mut writer = csv::Writer::from_writer(Vec::new());
    let failed = |fault: csv::Error| Failure::internal(&fault);
    writer.write_record(&columns).map_err(failed)?;
    for row in &rows {
        let cell = |name: &&str| match row.get(*name) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        };
        writer.write_record(columns.iter().map(cell)).map_err(failed)?;
    }
    writer.into_inner().map_err(|fault| Failure::internal(&fault))
}

/// The values of a row by their paths: `interval.lower`.
fn flat(row: &Value) -> Map<String, Value> {
    let mut found = Map::new();
    for (name, value) in row.as_object().into_iter().flatten() {
        match value {
            Value::Object(_) => {
                let inner =
                    flat(value).into_iter().map(|(field, it)| (format!("{name}.{field}"), it));
                found.extend(inner);
            }
            Value::Array(_) => {}
            value => drop(found.insert(name.clone(), value.clone())),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rows_become_lines_with_a_column_for_each_value() {
        let rows = [
            json!({"name": "A, \"a\"", "interval": {"lower": 0.5, "upper": null}, "warnings": [1]}),
            json!({"name": "B", "interval": {"lower": 1, "upper": 2}, "comparison": {"pValue": 0.25}}),
        ];
        let text = String::from_utf8(lines(&rows).unwrap()).unwrap();
        let expected = "interval.lower,interval.upper,name,comparison.pValue\n\
                        0.5,,\"A, \"\"a\"\"\",\n1,2,B,0.25\n";
        assert_eq!(text, expected);
    }
}
