//! The organization that last sent a message to a phone number.

use kernel::{Channel, OrganizationId, Result};
use sqlx::PgPool;
use suppressions::model::Identifier;

/// The organization that last sent a message on a channel to a profile with this number, in any of its spellings.
pub(crate) async fn find(
    db: &PgPool,
    channel: Channel,
    spellings: &[Identifier],
) -> Result<Option<OrganizationId>> {
    let spellings: Vec<&str> = spellings.iter().map(Identifier::as_str).collect();
    let found = sqlx::query_scalar!(
        "select w.organization_id
         from workspace w
         join users u on u.workspace_id = w.id and u.phone_normal = any($1)
         cross join lateral (
             select m.sent_at
             from message m
             where m.workspace_id = w.id and m.user_id = u.id and m.sent_at is not null
                 and m.channel in ('sms', 'whatsapp', 'viber') and m.channel = $2
             order by m.sent_at desc
             limit 1) last
         order by last.sent_at desc
         limit 1",
        &spellings as _,
        channel.as_str(),
    )
    .fetch_optional(db)
    .await?;
    Ok(found.map(OrganizationId::new))
}
