//! `POST /suppressions` and `POST /suppressions/hard-bounce`: one row.

use axum::extract::State;
use kernel::fields::describe::{described, words_schema};
use kernel::{
    Error, ListId,
    fields::{Fields, FromFields},
    schema::{EMAIL_CHARS_MAX, text_of},
};
use utoipa::openapi::{KnownFormat, SchemaFormat};
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    Services,
    audit::Origin,
    http::{ApiResult, Body, Requester, Upserted},
};

use super::{
    access::{ByBody, EmailWriter},
    wire::SuppressionRow,
};
use crate::{
    model::{Identifier, Ledger, Reason, Scope, Suppression},
    ops::{deliverability, entries},
};

pub(super) fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new().routes(routes!(assert_hard_bounce))
}

/// Where rows come from that a caller adds.
pub(super) const SOURCE: &str = "api";

/// The scope of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    Global,
    Group,
}

const REACHES: &[(&str, Reach)] = &[("global", Reach::Global), ("group", Reach::Group)];

words_schema!(
    /// The scope of a row.
    ReachName as "Reach", REACHES
);

words_schema!(
    /// The reason of a suppression that callers may give.
    GivenReason = Reason::GIVEN
);

/// A row to be added.
#[derive(Debug)]
pub(super) struct NewSuppression {
    channel: Ledger,
    identifier: Identifier,
    reason: Reason,
    scope: Reach,
    list_id: Option<String>,
}

described!(
    /// A row to be added.
    NewSuppression as "NewSuppression"
);

/// The description of a ledger's channel.
pub(super) const LEDGER: &str = "The ledger; chooses the scope needed: `email_suppression:write` or \
    `sms_suppression:write`.";

/// The placeholder for an identifier that was refused.
fn no_identifier() -> Identifier {
    Identifier::of_stored(String::new())
}

impl FromFields for NewSuppression {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        // An identifier is checked by the rule of its channel; without a channel it cannot be.
        let channel =
            body.required("channel").about(LEDGER).as_type::<Ledger>().one_of(Ledger::NAMED);
        let knows_channel = body.is_clean();
        let identifier = body
            .required("identifier")
            .about("Email address or phone number.")
            .as_schema(|| text_of(1..=usize::MAX).into())
            .parsed(no_identifier(), |text| {
                if knows_channel { Identifier::read(channel, text) } else { Ok(no_identifier()) }
            });
        let reason = body
            .optional("reason")
            .about("`manual` (default) or `unsubscribe`.")
            .as_type::<GivenReason>()
            .one_of(Reason::GIVEN)
            .unwrap_or(Reason::Manual);
        let scope = body
            .optional("scope")
            .about("`global` (default) or `group`.")
            .as_type::<ReachName>()
            .one_of(REACHES)
            .unwrap_or(Reach::Global);
        let list_id = body
            .optional("listId")
            .about("The list; required for a group.")
            .as_type::<ListId>()
            .text(0..=usize::MAX);
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
            // An invalid id is treated as that of an unknown list.
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
    let (row, created) = entries::add(app.db(), workspace, &row, &holder.actor()).await?;
    Ok(Upserted { value: row.into(), created })
}

/// The body of a hard bounce.
#[derive(Debug)]
pub(super) struct HardBounce {
    identifier: Identifier,
}

described!(
    /// An address that does not exist.
    HardBounce as "HardBounce"
);

impl FromFields for HardBounce {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let identifier = body.required("identifier").as_schema(|| {
            text_of(0..=EMAIL_CHARS_MAX)
                .format(Some(SchemaFormat::KnownFormat(KnownFormat::Email)))
                .into()
        });
        Self {
            identifier: identifier.parsed(no_identifier(), |t| Identifier::read(Ledger::Email, t)),
        }
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
async fn assert_hard_bounce(
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
