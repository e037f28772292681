//! `POST /suppressions` and `POST /suppressions/hard-bounce`: one row.

use axum::extract::State;
use kernel::{
    Error, ListId,
    fields::{Fields, FromFields},
};
use utoipa::ToSchema;
use web::{
    Services,
    audit::Origin,
    http::{ApiResult, Body, Requester, Upserted},
};

use super::{
    access::{ByBody, EmailWriter},
    wire::SuppressionRow,
};
use crate::suppressions::{
    model::{Identifier, Ledger, Reason, Scope, Suppression},
    ops::{deliverability, entries},
};

/// Where rows come from that a caller adds.
pub(super) const SOURCE: &str = "api";

/// How far a row is to reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ToSchema)]
#[schema(rename_all = "lowercase")]
enum Reach {
    Global,
    Group,
}

/// Why somebody is not to be written to, as far as callers may say.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "describes the body for openapi; Reason is what is read")]
enum GivenReason {
    Unsubscribe,
    Manual,
}

const REACHES: &[(&str, Reach)] = &[("global", Reach::Global), ("group", Reach::Group)];

/// A row to be added.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub(super) struct NewSuppression {
    /// The ledger; chooses the scope needed: `email_suppression:write` or `sms_suppression:write`.
    channel: Ledger,
    /// Email address or phone number.
    #[schema(value_type = String, min_length = 1)]
    identifier: Identifier,
    /// `manual` (default) or `unsubscribe`.
    #[schema(value_type = Option<GivenReason>)]
    reason: Reason,
    /// `global` (default) or `group`.
    #[schema(value_type = Option<Reach>)]
    scope: Reach,
    /// The list; required for a group.
    #[schema(value_type = Option<ListId>)]
    list_id: Option<String>,
}

/// Stands in for what was refused.
fn nobody() -> Identifier {
    Identifier::of_stored(String::new())
}

impl FromFields for NewSuppression {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        // An identifier is judged by its channel's rule; without a channel it cannot be.
        let channel = body.required("channel").one_of(Ledger::NAMED);
        let knows_channel = body.is_clean();
        let identifier = body.required("identifier").parsed(nobody(), |text| {
            if knows_channel { Identifier::read(channel, text) } else { Ok(nobody()) }
        });
        let reason = body.optional("reason").one_of(Reason::GIVEN).unwrap_or(Reason::Manual);
        let scope = body.optional("scope").one_of(REACHES).unwrap_or(Reach::Global);
        let list_id = body.optional("listId").text(0..=usize::MAX);
        match (scope, &list_id) {
            (Reach::Group, None) if body.is_clean() => {
                body.refuse("listId", "is required when scope is group");
            }
            (Reach::Global, Some(_)) => {
                body.refuse("listId", "is only taken when scope is group");
            }
            _ => {}
        }
        Self { channel, identifier, reason, scope, list_id }
    }
}

/// Adds a row to a ledger. One that is there already is answered as it is.
#[utoipa::path(
    post,
    path = "/suppressions",
    tag = "suppressions",
    request_body = NewSuppression,
    responses(
        (status = 201, body = SuppressionRow, description = "the row is new"),
        (status = 200, body = SuppressionRow, description = "the row was there already"),
        (status = 404, description = "the list of a group is not there"),
    )
)]
pub(super) async fn add_suppression(
    State(app): State<Services>,
    ByBody { holder, body }: ByBody<NewSuppression>,
) -> ApiResult<Upserted<SuppressionRow>> {
    let scope = match body.scope {
        Reach::Global => Scope::Global,
        Reach::Group => {
            let list = body.list_id.as_deref().unwrap_or_default().parse();
            // What is no id is a list that does not exist.
            Scope::Group(list.map_err(|_| Error::NotFound("List"))?)
        }
    };
    let workspace = holder.tenant().workspace;
    let row = Suppression {
        ledger: body.channel,
        identifier: body.identifier.in_country(body.channel, app.country(workspace).await?),
        reason: body.reason,
        source: SOURCE.to_owned(),
        scope,
        created_at: app.clock().now(),
    };
    let (row, created) = entries::add(app.db(), workspace, &row).await?;
    Ok(Upserted { value: row.into(), created })
}

/// An address that does not exist.
#[derive(Debug, ToSchema)]
pub(super) struct HardBounce {
    #[schema(value_type = String, format = Email, max_length = 254)]
    identifier: Identifier,
}

impl FromFields for HardBounce {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let identifier = body.required("identifier");
        Self { identifier: identifier.parsed(nobody(), |t| Identifier::read(Ledger::Email, t)) }
    }
}

/// Asserts that an address does not exist. Gates sending like a real bounce, and counts in no bounce
/// rate.
#[utoipa::path(
    post,
    path = "/suppressions/hard-bounce",
    tag = "suppressions",
    request_body = HardBounce,
    responses(
        (status = 201, body = SuppressionRow, description = "the row is new"),
        (status = 200, body = SuppressionRow, description = "the row was there already"),
    )
)]
pub(super) async fn assert_hard_bounce(
    State(app): State<Services>,
    EmailWriter(holder): EmailWriter,
    requester: Requester,
    Body(body): Body<HardBounce>,
) -> ApiResult<Upserted<SuppressionRow>> {
    let origin = Origin { source: SOURCE.to_owned(), actor: holder.actor(), requester };
    let (tenant, now) = (holder.tenant(), app.clock().now());
    let (row, created) =
        deliverability::assert_hard_bounce(app.db(), now, tenant, &origin, &body.identifier)
            .await?;
    Ok(Upserted { value: row.into(), created })
}
