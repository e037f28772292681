//! Every insight in every format: the long table has the cells of the answer as JSON.

use arrow_array::{
    Array, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray,
    TimestampMillisecondArray,
};
use reqwest::Method;
use serde_json::{Value, json};
use tables::{Format, TableReader};

use super::{event, saved::save, track};
use crate::kit::Workspace;

/// What the cells of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cells {
    Time,
    Text,
    Number,
    Flag,
}

/// A column of a table.
#[derive(Debug, Clone, Copy)]
struct Column {
    name: &'static str,
    cells: Cells,
}

const fn column(name: &'static str, cells: Cells) -> Column {
    Column { name, cells }
}

const TRENDS: &[Column] = &[
    column("interval", Cells::Time),
    column("label", Cells::Text),
    column("event_name", Cells::Text),
    column("metric", Cells::Text),
    column("breakdown", Cells::Text),
    column("other", Cells::Flag),
    column("compared", Cells::Flag),
    column("value", Cells::Number),
    column("events_of", Cells::Text),
];
const FUNNEL: &[Column] = &[
    column("breakdown", Cells::Text),
    column("step", Cells::Number),
    column("label", Cells::Text),
    column("people", Cells::Number),
    column("from_previous", Cells::Number),
    column("from_start", Cells::Number),
    column("low", Cells::Number),
    column("high", Cells::Number),
    column("median_seconds", Cells::Number),
    column("people_of", Cells::Text),
];
const RETENTION: &[Column] = &[
    column("cohort", Cells::Time),
    column("size", Cells::Number),
    column("interval", Cells::Number),
    column("people", Cells::Number),
];

/// A kind of question: the columns of its table, and the cells that its answer as JSON stands for.
struct Kind {
    name: &'static str,
    question: Value,
    columns: &'static [Column],
    rows: fn(&Value) -> Vec<Vec<Value>>,
}

fn elements(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The word for a part of an answer by a breakdown.
fn word_for(part: &Value) -> &'static str {
    match (&part["breakdown"], part["other"] == true) {
        (_, true) => "other",
        (Value::Null, _) => "absent",
        _ => "value",
    }
}

fn trend_rows(answer: &Value) -> Vec<Vec<Value>> {
    let rows = elements(&answer["series"]).flat_map(|series| {
        let values = elements(&answer["intervals"]).zip(elements(&series["values"]));
        values.map(|(interval, value)| {
            let fields = ["label", "eventName", "metric", "breakdown", "other", "compared"];
            let mut row = vec![interval.clone()];
            row.extend(fields.map(|field| series[field].clone()));
            row.push(value.clone());
            // The question has a breakdown.
            row.push(json!(word_for(series)));
            row
        })
    });
    rows.collect()
}

fn funnel_rows(answer: &Value) -> Vec<Vec<Value>> {
    let of = |people_of: &str, breakdown: &Value, steps: &Value| -> Vec<Vec<Value>> {
        let rows = (1..).zip(elements(steps)).map(|(number, step)| {
            vec![
                breakdown.clone(),
                json!(number),
                step["label"].clone(),
                step["people"].clone(),
                step["fromPrevious"].clone(),
                step["fromStart"].clone(),
                step["interval"][0].clone(),
                step["interval"][1].clone(),
                step["medianSecondsFromPrevious"].clone(),
                json!(people_of),
            ]
        });
        rows.collect()
    };
    let mut rows = of("all", &Value::Null, &answer["steps"]);
    for part in elements(&answer["breakdown"]) {
        rows.extend(of(word_for(part), &part["breakdown"], &part["steps"]));
    }
    rows
}

fn retention_rows(answer: &Value) -> Vec<Vec<Value>> {
    let rows = elements(&answer["cohorts"]).flat_map(|cohort| {
        (0..).zip(elements(&cohort["values"])).map(|(number, people)| {
            vec![cohort["from"].clone(), cohort["size"].clone(), json!(number), people.clone()]
        })
    });
    rows.collect()
}

/// A cell in one form, whichever format it comes from: CSV has texts alone, and an empty one for null.
fn cell(cells: Cells, value: &Value) -> Value {
    match (cells, value) {
        (_, Value::Null) => Value::Null,
        (_, Value::String(text)) if text.is_empty() => Value::Null,
        (Cells::Time, Value::String(text)) => {
            json!(chrono::DateTime::parse_from_rfc3339(text).unwrap().timestamp_millis())
        }
        (Cells::Number, Value::String(text)) => json!(text.parse::<f64>().unwrap()),
        (Cells::Number, Value::Number(number)) => json!(number.as_f64()),
        (Cells::Flag, Value::String(text)) => json!(text.parse::<bool>().unwrap()),
        _ => value.clone(),
    }
}

fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        // A number that was parsed from its text may differ in its last digit.
        (Value::Number(one), Value::Number(other)) => {
            let (one, other) = (one.as_f64().unwrap(), other.as_f64().unwrap());
            (one - other).abs() <= 1e-12 * other.abs().max(1.0)
        }
        _ => one == other,
    }
}

/// The cells of a table, and that it has these columns and no other.
fn table(format: Format, bytes: &[u8], columns: &[Column]) -> Vec<Vec<Value>> {
    if format == Format::Arrow {
        let reader = arrow_ipc::reader::StreamReader::try_new(bytes, None).unwrap();
        return reader.flat_map(|batch| of_batch(&batch.unwrap(), columns)).collect();
    }
    let mut file = tempfile::NamedTempFile::new().unwrap();
    std::io::Write::write_all(&mut file, bytes).unwrap();
    let mut reader = TableReader::open(file.path(), format).unwrap();
    let mut rows = Vec::new();
    while let Some(row) = reader.next_row().unwrap() {
        let mut cells = vec![Value::Null; columns.len()];
        // Nulls are left out.
        for field in row.fields.unwrap() {
            let place = columns.iter().position(|column| *column.name == *field.name).unwrap();
            let value: Value = serde_json::from_str(field.value.get()).unwrap();
            cells[place] = cell(columns[place].cells, &value);
        }
        rows.push(cells);
    }
    rows
}

fn of_batch(batch: &RecordBatch, columns: &[Column]) -> Vec<Vec<Value>> {
    let schema = batch.schema();
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let expected: Vec<&str> = columns.iter().map(|column| column.name).collect();
    assert_eq!(names, expected);
    let row = |row: usize| {
        let cells = columns.iter().zip(batch.columns());
        cells.map(|(column, array)| cell(column.cells, &of_array(array.as_ref(), row))).collect()
    };
    (0..batch.num_rows()).map(row).collect()
}

fn of_array(array: &dyn Array, row: usize) -> Value {
    let any = array.as_any();
    if array.is_null(row) {
        Value::Null
    } else if let Some(texts) = any.downcast_ref::<StringArray>() {
        json!(texts.value(row))
    } else if let Some(flags) = any.downcast_ref::<BooleanArray>() {
        json!(flags.value(row))
    } else if let Some(numbers) = any.downcast_ref::<Int64Array>() {
        json!(numbers.value(row))
    } else if let Some(numbers) = any.downcast_ref::<Float64Array>() {
        json!(numbers.value(row))
    } else {
        json!(any.downcast_ref::<TimestampMillisecondArray>().unwrap().value(row))
    }
}

/// The instant so many days ago.
fn days_ago(days: i64) -> String {
    let at = kernel::Clock::system().now().utc() - chrono::TimeDelta::days(days);
    at.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}

/// Questions whose answers have values, nulls, and texts that need quotes.
fn kinds() -> [Kind; 3] {
    let trends = json!({
        "series": [
            {"eventName": "Seen", "label": "Seen, \"all\""},
            {"metric": "unique"},
            {"eventName": "Seen", "metric": "avg", "field": "n"},
        ],
        "from": "2026-03-01", "to": "2026-03-03", "breakdown": {"property": "plan", "limit": 1},
        "compare": "previous_period",
    });
    let funnel = json!({
        "steps": [{"eventName": "Seen", "label": "1. \"Seen\", at last"}, {"eventName": "Bought"}],
        "window": {"amount": 1, "unit": "days"}, "from": "2026-03-01", "to": "2026-03-03",
        "breakdown": {"property": "plan", "limit": 1},
    });
    let retention = json!({
        "start": {"eventName": "Joined"}, "return": {"eventName": "Came"}, "interval": "month", "intervals": 3,
        "from": days_ago(40),
    });
    [
        Kind { name: "trends", question: trends, columns: TRENDS, rows: trend_rows },
        Kind { name: "funnels", question: funnel, columns: FUNNEL, rows: funnel_rows },
        Kind { name: "retention", question: retention, columns: RETENTION, rows: retention_rows },
    ]
}

fn events() -> Vec<Value> {
    vec![
        event("ann", "Seen", "2026-03-01T10:00:00Z", json!({"plan": "a,\"b\"\n", "n": 1.5})),
        event("ann", "Bought", "2026-03-01T10:00:07.250Z", json!({})),
        event("ann", "Seen", "2026-02-28T10:00:00Z", json!({"plan": "a,\"b\"\n", "n": 0.1})),
        event("bob", "Seen", "2026-03-03T10:00:00Z", json!({"plan": "a,\"b\"\n", "n": 2})),
        event("eve", "Seen", "2026-03-03T10:00:00Z", json!({"plan": "a,\"b\"\n"})),
        event("cid", "Seen", "2026-03-02T10:00:00Z", json!({"plan": "pro", "n": 0.2})),
        event("dan", "Seen", "2026-03-03T10:00:00Z", json!({"n": 3})),
        event("ann", "Joined", &days_ago(39), json!({})),
        event("bob", "Joined", &days_ago(1), json!({})),
        event("ann", "Came", &days_ago(38), json!({})),
        event("ann", "Came", &days_ago(1), json!({})),
    ]
}

#[tokio::test]
async fn every_format_has_the_cells_of_the_answer_as_json() {
    let workspace = Workspace::new().await;
    track(&workspace, &events()).await;
    for Kind { name, question, columns, rows } in kinds() {
        let id = save(&workspace, name, name, &question).await;
        let result = format!("/insights/{id}/result");
        let asked = format!("/insights/{name}");
        let answer = workspace.api.post(&asked, &question, 200).await.json();
        let expected: Vec<Vec<Value>> = rows(&answer)
            .iter()
            .map(|row| row.iter().zip(columns).map(|(it, column)| cell(column.cells, it)).collect())
            .collect();
        let has_nulls = expected.iter().flatten().any(Value::is_null);
        assert!(expected.len() > 5 && has_nulls, "{name}: {expected:?}");
        for format in [Format::Csv, Format::Parquet, Format::Arrow] {
            let by_name = |path: &str| format!("{path}?format={}", format.name());
            let requests = [
                workspace.api.request(Method::POST, &by_name(&asked)).json(&question),
                workspace.api.request(Method::GET, &by_name(&result)),
                workspace.api.request(Method::GET, &result).header("accept", format.media_type()),
            ];
            for request in requests {
                let answer = request.send().await.unwrap();
                assert_eq!(answer.headers()["content-type"], format.media_type());
                let found = table(format, &answer.bytes().await.unwrap(), columns);
                let are_same = found.len() == expected.len()
                    && found
                        .iter()
                        .flatten()
                        .zip(expected.iter().flatten())
                        .all(|(one, other)| is_same(one, other));
                assert!(are_same, "{name} {format:?}: {found:?} is not {expected:?}");
            }
        }
    }
}

#[tokio::test]
async fn the_format_in_the_address_beats_the_header_and_has_to_be_known() {
    let workspace = Workspace::new().await;
    let [trends, ..] = kinds();
    let id = save(&workspace, "Seen", "trends", &trends.question).await;
    let request = workspace
        .api
        .request(Method::GET, &format!("/insights/{id}/result?format=json"))
        .header("accept", "text/csv");
    assert_eq!(request.send().await.unwrap().headers()["content-type"], "application/json");
    let text = workspace.api.get(format!("/insights/{id}/result?format=xlsx"), 400).await.text;
    assert!(text.contains("format must be one of: json, csv, parquet, arrow"), "{text}");
}
