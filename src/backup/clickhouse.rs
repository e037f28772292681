//! The rows of ClickHouse.

use analytics::{Analytics, copies};
use anyhow::{Context as _, ensure};

use crate::{
    files::{Input, Output},
    manifest::Table,
    postgres::rows_in,
};

/// Writes the rows of all copied tables below `dir`.
pub(crate) async fn back_up(
    analytics: &Analytics,
    output: &mut Output<'_>,
) -> anyhow::Result<Vec<Table>> {
    let mut tables = Vec::new();
    for name in copies::COPIED {
        output.progress.begin(&format!("ClickHouse: {name}"));
        let columns = analytics.stored_columns(name).await?;
        let file = format!("clickhouse/{name}.tsv.zst");
        let writer = output.create(&file)?;
        let failed = || format!("cannot read the table {name} of ClickHouse");
        let mut pieces = analytics.read_rows(name, &columns).with_context(failed)?;
        let mut rows = 0;
        while let Some(piece) = pieces.next().await.with_context(failed)? {
            rows += rows_in(&piece);
            output.progress.advance(piece.len() as u64);
            if !writer.write(piece).await {
                break;
            }
        }
        output.files.insert(file.clone(), writer.finish().await?);
        tables.push(Table { name: name.to_owned(), columns, rows, file });
    }
    Ok(tables)
}

/// Puts the rows back into a migrated database without any.
pub(crate) async fn restore(
    analytics: &Analytics,
    input: &Input<'_>,
    tables: &[Table],
) -> anyhow::Result<()> {
    for table in tables {
        let own = analytics.stored_columns(&table.name).await?;
        let is_known = copies::COPIED.contains(&table.name.as_str())
            && table.columns.iter().all(|column| own.contains(column));
        ensure!(is_known, "the manifest names columns of {:?} that do not exist", table.name);
    }
    let views = analytics.detach_views().await?;
    for table in tables.iter().filter(|table| table.rows > 0) {
        input.progress.begin(&format!("ClickHouse: {}", table.name));
        let failed = || format!("cannot write the table {} of ClickHouse", table.name);
        let mut file = input.open(&table.file)?;
        let mut insert = analytics.write_rows(&table.name, &table.columns)?;
        while let Some(piece) = file.next().await? {
            input.progress.advance(piece.len() as u64);
            insert.send(piece).await.with_context(failed)?;
        }
        insert.finish().await.with_context(failed)?;
    }
    analytics.attach_views(views).await?;
    Ok(())
}
