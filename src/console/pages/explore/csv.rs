//! The same numbers without the console: a command for the API, and a file.

use axum::{body::Body, extract::RawQuery, response::Response};
use http::{
    HeaderValue, Method,
    header::{CONTENT_DISPOSITION, CONTENT_TYPE},
};
use serde_json::Value;

use super::{
    address::{Address, Kind},
    question, sql_tab,
    statement::Statement,
};
use crate::{
    failure::{Failure, PageResult},
    view::{self, Sources},
    visitor::Visitor,
};

/// The command that asks the API the same.
fn command(visitor: &Visitor, kind: Kind, body: &Value) -> String {
    format!(
        "curl -s {}/insights/{} -H 'Authorization: Bearer KEY' -H 'Content-Type: application/json' -d {}",
        visitor.server_url(),
        kind.name(),
        view::shell_quoted(&body.to_string()),
    )
}

/// The ways to the numbers of a question.
pub(super) fn sources(
    visitor: &Visitor,
    asked: &Address,
    body: &Value,
    sql: &Statement,
) -> Sources {
    Sources {
        api: Some(command(visitor, asked.kind, body)),
        sql: sql.as_ref().ok().cloned(),
        csv: Some(format!("/console/explore/csv?{}", asked.query())),
    }
}

pub(super) async fn download(visitor: Visitor, RawQuery(query): RawQuery) -> PageResult<Response> {
    let query = query.as_deref().unwrap_or_default();
    if let Some(statement) = sql_tab::statement(query) {
        return sql_tab::download(&visitor, &statement).await;
    }
    let asked = Address::read(query);
    let body = question::body(&visitor, &asked)?;
    let call = visitor.call(Method::POST, format!("/insights/{}", asked.kind.name()));
    let answer = call.query("format", "csv").json(&body)?.changes_nothing().begun().await?;
    let (mut head, body) = answer.into_parts();
    let name = format!("attachment; filename=\"{}.csv\"", asked.kind.name());
    let name = HeaderValue::try_from(name).map_err(|fault| Failure::internal(&fault))?;
    head.headers.insert(CONTENT_DISPOSITION, name);
    head.headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/csv; charset=utf-8"));
    Ok(Response::from_parts(head, Body::new(body)))
}
