//! The SQL tab: a statement for the listener for SQL, its rows, and a chart of those that are over time.

mod answer;
mod lines;
mod schema;

use axum::{body::Body, response::Response};
use http::{
    HeaderValue, StatusCode,
    header::{CONTENT_DISPOSITION, CONTENT_TYPE},
};
use http_body_util::BodyExt as _;
use maud::{Markup, html};
use url::form_urlencoded;
use web::auth::ScopeName;

use self::answer::{Answer, Rows};
use super::{Asked, ENTRY};
use crate::{
    failure::{Failure, PageResult},
    view::{self, Chart, Column, Field, Kind, Sources, Unit},
    visitor::Visitor,
};

/// The tab's name in the address.
const TAB: &str = "sql";
/// The path of answers as files.
const CSV: &str = "/console/explore/csv";
/// Bytes of a statement, which its address has to hold.
const STATEMENT_BYTES_MAX: usize = 4_000;
/// Bytes of an error of ClickHouse that are read.
const ERROR_BYTES_MAX: usize = 16 << 10;
/// The statement of an empty tab.
const EXAMPLE: &str = "SELECT toStartOfDay(timestamp) AS day, event_name, count() AS events
FROM events
WHERE timestamp >= now() - INTERVAL 30 DAY
GROUP BY day, event_name
ORDER BY day";

/// The statement of an address of this tab: empty where it has none yet.
pub(super) fn statement(query: &str) -> Option<String> {
    let pairs = || form_urlencoded::parse(query.as_bytes());
    let of = |wanted: &str| {
        pairs().find_map(|(name, value)| (name == wanted).then(|| value.trim().to_owned()))
    };
    (of("tab").as_deref() == Some(TAB)).then(|| of("sql").unwrap_or_default())
}

/// The address of the tab without a statement.
pub(super) fn address() -> String {
    format!("{}?tab={TAB}", ENTRY.path)
}

/// Whether the visitor may ask in SQL.
pub(super) fn is_open_to(visitor: &Visitor) -> bool {
    visitor.may(ScopeName::AnalyticsSql)
}

pub(super) async fn show(visitor: Visitor, statement: &str, wanted: Asked) -> PageResult<Response> {
    require_scope(&visitor)?;
    let fault = too_long(statement);
    let href = href(ENTRY.path, statement);
    let answer = async {
        match wanted {
            _ if statement.is_empty() || fault.is_some() => super::placed(&html! {}),
            Asked::Form => {
                let (asker, sql) = (visitor.clone(), statement.to_owned());
                let answer = async move { answered(&asker, &sql).await };
                super::soon(&visitor, &href, &href, answer).await
            }
            Asked::Answer | Asked::Both => {
                super::now(&visitor, &href, answered(&visitor, statement)).await
            }
        }
    };
    if wanted == Asked::Answer {
        return Ok(view::part(StatusCode::OK, &answer.await));
    }
    // The views are asked for first: the statement may take the only place of the session.
    let (schema, answer) = tokio::join!(schema::card(&visitor), answer);
    let content = html! {
        h1 { "Explore" }
        (super::tabs(&visitor, None))
        (form(statement, fault.as_deref()))
        (answer)
        (schema)
    };
    let status = if fault.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    Ok(visitor.page_with(status, &ENTRY, "SQL", &content))
}

async fn answered(visitor: &Visitor, statement: &str) -> Markup {
    match answer::ask(visitor, statement).await {
        Ok(answer) => shown(visitor, statement, &answer),
        Err(failure) => view::alert(&failure.text()),
    }
}

fn require_scope(visitor: &Visitor) -> PageResult<()> {
    if is_open_to(visitor) {
        return Ok(());
    }
    Err(Failure::missing_scope(ScopeName::AnalyticsSql.as_str()))
}

fn too_long(statement: &str) -> Option<String> {
    let text =
        || format!("must be at most {STATEMENT_BYTES_MAX} bytes, received {}", statement.len());
    (statement.len() > STATEMENT_BYTES_MAX).then(text)
}

fn form(statement: &str, fault: Option<&str>) -> Markup {
    let text = if statement.is_empty() { EXAMPLE } else { statement };
    let hint = "One SELECT, read-only, of the views below. The first 1,000 rows are shown.";
    let field = Field::text("sql", "Statement", text).of(Kind::Lines(8)).hint(hint).fault(fault);
    html! {
        form class="card" method="get" action=(ENTRY.path) autocomplete="off" {
            (view::hidden("tab", TAB))
            (view::field(&field))
            button class="button primary" type="submit" { "Run" }
        }
    }
}

fn shown(visitor: &Visitor, statement: &str, answer: &Answer) -> Markup {
    let sources =
        Sources { api: command(visitor, statement), sql: None, csv: Some(href(CSV, statement)) };
    html! {
        section class="card" {
            h2 { "Answer" }
            @match answer {
                Answer::Rows(rows) => (rows_of(rows, &sources)),
                Answer::Text(text) => { pre { (text) } (view::sources(&sources)) }
            }
        }
    }
}

fn rows_of(rows: &Rows, sources: &Sources) -> Markup {
    let columns: Vec<Column<'_>> = rows
        .columns
        .iter()
        .map(|column| Column { label: &column.name, is_number: column.is_number() })
        .collect();
    let cell = |value: &serde_json::Value| html! { (answer::text_of(value)) };
    let cells: Vec<Vec<Markup>> =
        rows.values.iter().map(|row| row.iter().map(cell).collect()).collect();
    let lines = lines::over_time(rows);
    html! {
        @match lines {
            Some(lines) => (view::chart(&Chart {
                title: "The answer over time".to_owned(),
                unit: Unit::Number,
                times: lines.times,
                labels: lines.labels,
                series: lines.series,
            }, sources)),
            None => (view::sources(sources)),
        }
        p class="quiet" {
            (view::count(rows.values.len() as u64)) " rows"
            @if rows.has_more { "; there are more, which the file has" }
        }
        (view::table("Rows of the answer", &columns, &cells))
    }
}

/// The command that asks the same of the listener for SQL.
fn command(visitor: &Visitor, statement: &str) -> Option<String> {
    let port = visitor.sql_port()?;
    let url = url::Url::parse(visitor.server_url()).ok()?;
    let host = url.host_str()?;
    Some(format!(
        "curl -s 'http://{host}:{port}/?default_format=CSVWithNames' -u any:KEY --data-binary {}",
        view::shell_quoted(statement)
    ))
}

/// The address of a statement below a path.
fn href(path: &str, statement: &str) -> String {
    let mut pairs = form_urlencoded::Serializer::new(String::new());
    pairs.append_pair("tab", TAB).append_pair("sql", statement);
    format!("{path}?{}", pairs.finish())
}

/// Every row of a statement as CSV.
pub(super) async fn download(visitor: &Visitor, statement: &str) -> PageResult<Response> {
    require_scope(visitor)?;
    if let Some(fault) = too_long(statement) {
        return Err(Failure::new(StatusCode::BAD_REQUEST, format!("sql {fault}")));
    }
    let call = visitor.sql(statement).ok_or_else(answer::is_off)?;
    let answer = call.query("default_format", "CSVWithNames").answer().await?;
    let (mut head, body) = answer.into_parts();
    if !head.status.is_success() {
        return Err(refusal(head.status, body).await);
    }
    let name = HeaderValue::from_static("attachment; filename=\"sql.csv\"");
    head.headers.insert(CONTENT_DISPOSITION, name);
    head.headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/csv; charset=utf-8"));
    Ok(Response::from_parts(head, body))
}

/// What ClickHouse, or the listener, refused.
async fn refusal(status: StatusCode, body: Body) -> Failure {
    let body = http_body_util::Limited::new(body, ERROR_BYTES_MAX);
    let text = match body.collect().await {
        Ok(body) => String::from_utf8_lossy(&body.to_bytes()).trim().to_owned(),
        Err(_) => "The statement was refused".to_owned(),
    };
    // What the listener refuses for a statement is no failure of the console.
    let status =
        if status == StatusCode::INTERNAL_SERVER_ERROR { StatusCode::BAD_REQUEST } else { status };
    Failure::new(status, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_has_the_statement() {
        let address = href(CSV, "SELECT 'a&b' + 1");
        let query = address.split_once('?').unwrap().1;
        assert_eq!(statement(query).as_deref(), Some("SELECT 'a&b' + 1"));
        assert_eq!(statement("tab=sql").as_deref(), Some(""));
        assert_eq!(statement("tab=trends&sql=SELECT+1"), None);
    }
}
