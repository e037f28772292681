//! Every active profile of a workspace as a table, in pieces.

use analytics::events::{ExportPlace, export_place};
use bytes::Bytes;
use contacts::users::ops::records;
use kernel::{Error, Result, UserId, WorkspaceId};
use tables::{Format, TableWriter};
use web::Services;

use super::{PIECE_BYTES, Pieces};
use crate::model::people::{people_schema, push_person};

/// Profiles of the first page: the answer begins soon.
const PAGE_MIN: u32 = 100;
/// Most profiles of a page. Large ones end it earlier.
const PAGE_MAX: u32 = 1_000;

/// An export that is being answered. It reads a page of profiles at a time, and holds no connection in between.
#[derive(Debug)]
pub struct PeopleExport {
    app: Services,
    workspace: WorkspaceId,
    /// None after the end of the table.
    writer: Option<TableWriter>,
    /// The last profile that was read.
    after: Option<UserId>,
    /// Profiles of the next page, at most.
    limit: u32,
    _place: ExportPlace,
}

/// Begins an export, of all profiles or of those after one. It takes one of the places that exports of events have.
///
/// # Errors
/// 429 when the workspace, or all together, have as many exports running as may be.
pub fn export(
    app: &Services,
    workspace: WorkspaceId,
    after: Option<UserId>,
    format: Format,
) -> Result<PeopleExport> {
    let place = export_place(app.analytics(), workspace.uuid())?;
    let writer = TableWriter::new(format, people_schema()).map_err(Error::internal)?;
    Ok(PeopleExport {
        app: app.clone(),
        workspace,
        writer: Some(writer),
        after,
        limit: PAGE_MIN,
        _place: place,
    })
}

impl Pieces for PeopleExport {
    async fn next_piece(&mut self) -> Result<Option<Bytes>> {
        let Some(writer) = self.writer.as_mut() else { return Ok(None) };
        while writer.ready_bytes() < PIECE_BYTES {
            let page = records(self.app.db(), self.workspace, self.after, self.limit).await?;
            let Some(last) = page.last() else {
                let last = self.writer.take().map(TableWriter::finish).transpose();
                return last.map_err(Error::internal);
            };
            self.after = Some(last.user.id);
            // Twice as many as came: of large profiles not many more than fit are asked for.
            let came = u32::try_from(page.len()).unwrap_or(PAGE_MAX);
            self.limit = came.saturating_mul(2).clamp(PAGE_MIN, PAGE_MAX);
            for person in &page {
                push_person(writer, person).map_err(Error::internal)?;
            }
        }
        Ok(Some(writer.take()))
    }
}
