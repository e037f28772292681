//! The HTTP side of campaigns.

mod bulk;
mod campaigns;
mod lifecycle;
mod list;
mod path;
mod preview;
mod recurring;
mod rl;
mod schema;
mod spam_check;
mod sto;
mod trial;
mod versions;
mod wire;

use http::{HeaderMap, header::IF_MATCH};
use kernel::{Result, fields::EmptyBody};
use utoipa_axum::{router::OpenApiRouter, routes};
use web::auth::Caller;

use self::wire::{Campaign, OneCampaign};
use super::ops::Who;
use crate::{CampaignState, model::Precondition};

const BODY_BYTES_MAX: usize = 8 << 20;

pub fn routes() -> OpenApiRouter<CampaignState> {
    OpenApiRouter::new()
        .routes(routes!(campaigns::create_campaign, list::list_campaigns))
        .merge(campaigns::routes())
        .merge(preview::routes())
        .merge(lifecycle::routes())
        .merge(versions::routes())
        .merge(bulk::routes())
        .merge(recurring::routes())
        .merge(trial::routes())
        .merge(sto::routes())
        .merge(rl::routes())
        .merge(spam_check::routes())
}

fn who<S>(caller: &Caller<S>) -> Who {
    Who { workspace: caller.workspace(), actor: caller.actor(), zone: caller.timezone().to_owned() }
}

/// The ETags of `If-Match`, which a campaign must have for a change to be made.
fn precondition(headers: &HeaderMap) -> Result<Precondition> {
    // Bytes that are no text are no ETag.
    Precondition::read(
        headers.get_all(IF_MATCH).iter().map(|value| value.to_str().unwrap_or_default()),
    )
}
