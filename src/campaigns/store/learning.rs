//! What campaigns learnt, counted.

use std::collections::HashMap;

use sqlx::PgPool;

use crate::kernel::{Result, WorkspaceId};

/// Messages with a known outcome, by variant, of those variants that any campaign learns about.
pub(in crate::campaigns) async fn observations(
    db: &PgPool,
    workspace: WorkspaceId,
    variants: &[String],
) -> Result<HashMap<String, u64>> {
    let rows = sqlx::query!(
        r#"select arm->>'variantId' as "variant_id!", sum((arm->>'sends')::bigint)::bigint as "sends!"
         from campaign c
         cross join lateral jsonb_array_elements(c.rl->'arms') as arm
         where c.workspace_id = $1 and c.rl is not null and arm->>'variantId' = any($2)
         group by 1"#,
        workspace.uuid(),
        variants,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(|row| (row.variant_id, row.sends.unsigned_abs())).collect())
}
