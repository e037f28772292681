//! Every event of a workspace as a table, in pieces.

use std::ops::ControlFlow;

use analytics::events::{self as questions, Export, ExportFilter};
use bytes::Bytes;
use kernel::{Error, Result, WorkspaceId};
use tables::{Format, TableWriter};
use web::Services;

use super::{PIECE_BYTES, Pieces};
use crate::model::events::{CursorWriter, export_row, export_schema};

/// An export that is being answered. When it is dropped, its question to ClickHouse ends.
#[derive(Debug)]
pub struct EventExport {
    export: Export,
    /// None after the end of the table.
    writer: Option<TableWriter>,
    cursors: CursorWriter,
}

/// Begins an export.
///
/// # Errors
/// 429 when the workspace, or all together, have as many exports running as may be.
pub fn export(
    app: &Services,
    workspace: WorkspaceId,
    filter: ExportFilter,
    format: Format,
) -> Result<EventExport> {
    let export = questions::export(app.analytics(), workspace.uuid(), filter)?;
    let writer = TableWriter::new(format, export_schema()).map_err(Error::internal)?;
    Ok(EventExport { export, writer: Some(writer), cursors: CursorWriter::default() })
}

impl Pieces for EventExport {
    async fn next_piece(&mut self) -> Result<Option<Bytes>> {
        let Self { export, writer, cursors } = self;
        let Some(open) = writer.as_mut() else { return Ok(None) };
        let is_at_end = export
            .read(|event| -> Result<ControlFlow<()>> {
                let row = export_row(event, cursors.of(event));
                open.push(&row).map_err(Error::internal)?;
                let is_full = open.ready_bytes() >= PIECE_BYTES;
                Ok(if is_full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            })
            .await?;
        if !is_at_end {
            return Ok(Some(open.take()));
        }
        let last = writer.take().map(TableWriter::finish).transpose();
        last.map_err(Error::internal)
    }
}
