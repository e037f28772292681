//! `POST /suppressions/import`: thousands of rows in one statement.

use axum::{Json, extract::State};
use kernel::fields::describe::{described, words_schema};
use kernel::{
    Country,
    fields::{self, Fields, FromFields, describe::anything},
};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{Services, http::ApiResult};

use super::{access::ByBody, add::LEDGER};
use crate::{
    model::{self, Identifier, ImportedRow, Ledger, Reason},
    ops::entries::{self, IMPORT},
};

pub(super) fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new().routes(routes!(import_suppressions))
}

/// Entries of one import.
const ENTRIES_MAX: usize = 5000;

/// What becomes of entries that cannot be read as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnInvalid {
    /// Unreadable identifiers are left out, unknown reasons are `manual`.
    Skip,
    /// One of them refuses the request.
    Refuse,
}

const ON_INVALID: &[(&str, OnInvalid)] =
    &[("skip", OnInvalid::Skip), ("refuse", OnInvalid::Refuse)];

words_schema!(
    /// What becomes of entries that cannot be read as they are.
    OnInvalidName as "OnInvalid", ON_INVALID
);

/// Rows to be imported.
#[derive(Debug)]
pub(super) struct Import {
    channel: Ledger,
    entries: Vec<Value>,
    is_dry_run: bool,
}

described!(
    /// Rows to be imported.
    Import as "Import"
);

/// A row that was sent. Its identifier is checked by the channel's rule.
#[derive(Debug)]
struct ImportEntry {
    identifier: String,
    reason: Value,
}

described!(
    /// One row to be imported.
    ImportEntry as "ImportEntry"
);

impl FromFields for ImportEntry {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        Self {
            identifier: body
                .required("identifier")
                .about("Email address or phone number.")
                .text(0..=usize::MAX),
            reason: body
                .optional("reason")
                .about("`unsubscribe` or `manual` (default). Others: see `onInvalid`.")
                .as_schema(anything)
                .unchecked(),
        }
    }
}

impl FromFields for Import {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let channel =
            body.required("channel").about(LEDGER).as_type::<Ledger>().one_of(Ledger::NAMED);
        let entries = body
            .required("entries")
            .about("What becomes of those that cannot be read is up to `onInvalid`.")
            .list(1..=ENTRIES_MAX, |entry| entry.as_type::<ImportEntry>().unchecked());
        let on_invalid = body
            .optional("onInvalid")
            .about(
                "`skip` (default) leaves unreadable identifiers out and takes unknown reasons as `manual`. `refuse` \
                 answers 400 with the fields of such entries, and imports nothing.",
            )
            .as_type::<OnInvalidName>()
            .one_of(ON_INVALID)
            .unwrap_or(OnInvalid::Skip);
        let is_dry_run = body
            .optional("dryRun")
            .about("`true` answers what the import would come to, and writes nothing.")
            .bool()
            .unwrap_or(false);
        if on_invalid == OnInvalid::Refuse && body.is_clean() {
            body.required("entries")
                .list(1..=ENTRIES_MAX, |entry| entry.object_by(|fields| check(channel, fields)));
        }
        Self { channel, entries, is_dry_run }
    }
}

/// Reports what cannot be read in an entry.
fn check(ledger: Ledger, entry: &mut Fields<'_>) {
    entry.required("identifier").parsed((), |text| Identifier::read(ledger, text).map(drop));
    entry.optional("reason").one_of(Reason::GIVEN);
}

/// Reads an entry; nothing for one whose identifier is none.
fn read(ledger: Ledger, country: Option<Country>, entry: &Value) -> Option<ImportedRow> {
    let entry: ImportEntry = fields::read(entry).ok()?;
    let identifier = Identifier::read(ledger, &entry.identifier).ok()?.in_country(ledger, country);
    let given = entry.reason.as_str();
    let reason = Reason::GIVEN.iter().find(|(name, _)| Some(*name) == given);
    let reason = reason.map_or(Reason::Manual, |(_, reason)| *reason);
    Some(ImportedRow { identifier, reason })
}

/// What an import came to: `received` is `imported` and `skipped`.
#[derive(Debug, Serialize, ToSchema)]
#[expect(clippy::struct_field_names, reason = "the specification's names")]
pub(super) struct Imported {
    channel: Ledger,
    received: u64,
    imported: u64,
    /// Entries that were there already, were repeated, or cannot be read.
    skipped: u64,
    #[schema(value_type = String)]
    source: &'static str,
}

/// Imports rows into a ledger.
#[utoipa::path(
    post,
    path = "/suppressions/import",
    tag = "suppressions",
    request_body = Import,
    responses((status = 200, body = Imported))
)]
async fn import_suppressions(
    State(app): State<Services>,
    ByBody { holder, body }: ByBody<Import>,
) -> ApiResult<Json<Imported>> {
    let Import { channel, entries, is_dry_run } = body;
    let (workspace, now, actor) = (holder.tenant().workspace, app.clock().now(), holder.actor());
    let country = app.country(workspace).await?;
    let rows: Vec<_> = entries.iter().filter_map(|entry| read(channel, country, entry)).collect();
    let import = model::Import { ledger: channel, source: IMPORT, actor: &actor, rows: &rows };
    let imported = if is_dry_run {
        entries::count_new(app.db(), workspace, import).await?
    } else {
        entries::import(app.db(), workspace, now, import).await?
    };
    let received = entries.len() as u64;
    let skipped = received - imported;
    Ok(Json(Imported { channel, received, imported, skipped, source: IMPORT }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reasons_are_clamped_and_unreadable_entries_skipped() {
        let table = [
            (json!({"identifier": "a@x.test"}), Some(Reason::Manual)),
            (json!({"identifier": "a@x.test", "reason": "unsubscribe"}), Some(Reason::Unsubscribe)),
            (json!({"identifier": "a@x.test", "reason": "manual"}), Some(Reason::Manual)),
            (json!({"identifier": "a@x.test", "reason": "hard_bounce"}), Some(Reason::Manual)),
            (json!({"identifier": "a@x.test", "reason": "complaint"}), Some(Reason::Manual)),
            (json!({"identifier": "a@x.test", "reason": 7}), Some(Reason::Manual)),
            (json!({"identifier": "a\0@x.test"}), None),
            (json!({"identifier": "+49151234567"}), None),
            (json!({"identifier": 7}), None),
            (json!({}), None),
            (json!("a@x.test"), None),
            (json!(null), None),
        ];
        for (entry, reason) in table {
            assert_eq!(read(Ledger::Email, None, &entry).map(|row| row.reason), reason, "{entry}");
        }
    }
}
