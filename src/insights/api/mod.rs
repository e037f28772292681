//! The HTTP side of insights.

mod answer;
mod catalog;
mod funnels;
mod retention;
mod saved;
mod trends;

use utoipa_axum::router::OpenApiRouter;

use crate::ops::InsightState;

/// The routes of `/insights`.
pub fn routes() -> OpenApiRouter<InsightState> {
    trends::routes()
        .merge(funnels::routes())
        .merge(retention::routes())
        .merge(saved::routes())
        .merge(catalog::routes())
}
