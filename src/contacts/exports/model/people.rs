//! The table that an export of people is: its columns are those of the view `people` in SQL.

use std::sync::LazyLock;

use contacts::users::model::ProfileRecord;
use tables::{Column, ColumnType, Schema, TableError, TableWriter, Value};

/// The columns of an export, in order.
pub fn people_schema() -> Schema {
    static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
        let text = |name| Column::required(name, ColumnType::Text);
        Schema::new([
            text("person_id"),
            text("external_id"),
            text("email"),
            text("phone"),
            Column::required("anonymous_ids", ColumnType::TextList),
            Column::required("attributes", ColumnType::Json),
            Column::required("created_at", ColumnType::Timestamp),
            Column::required("updated_at", ColumnType::Timestamp),
            Column::required("consent", ColumnType::TextMap),
            Column::required("lists", ColumnType::TextList),
        ])
    });
    SCHEMA.clone()
}

/// Writes a profile as a row. A text is empty where there is none.
///
/// # Errors
/// When the row cannot be written.
pub fn push_person(writer: &mut TableWriter, person: &ProfileRecord) -> Result<(), TableError> {
    let user = &person.user;
    let id = user.id.to_string();
    let anonymous_ids: Vec<&str> = person.anonymous_ids.iter().map(String::as_str).collect();
    let consent: Vec<(&str, &str)> =
        person.consent.iter().map(|(channel, state)| (channel.as_str(), state.as_str())).collect();
    let lists: Vec<String> = person.lists.iter().map(ToString::to_string).collect();
    let lists: Vec<&str> = lists.iter().map(String::as_str).collect();
    writer.push(&[
        Value::Text(&id),
        Value::Text(user.external_id.as_deref().unwrap_or_default()),
        Value::Text(user.email.as_deref().unwrap_or_default()),
        Value::Text(user.phone.as_deref().unwrap_or_default()),
        Value::TextList(&anonymous_ids),
        Value::Json(user.attributes.get()),
        Value::Timestamp(user.created_at.millis()),
        Value::Timestamp(user.updated_at.millis()),
        Value::TextMap(&consent),
        Value::TextList(&lists),
    ])
}
