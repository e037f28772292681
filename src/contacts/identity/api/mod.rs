//! HTTP handlers of identities.

mod identities;
mod merge;

use utoipa_axum::router::OpenApiRouter;

use crate::IdentityState;

/// The routes of identities and merges.
pub fn routes() -> OpenApiRouter<IdentityState> {
    OpenApiRouter::new().merge(identities::routes()).merge(merge::routes())
}
