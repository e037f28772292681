//! Every route of the service.

use axum::Router;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    app::App,
    callbacks, campaigns, consent, delivery, events, hosted_page,
    http::{health, openapi, rate},
    lists, sdk, stats, suppressions, telemetry, tracking, users,
};

/// The API: what [`crate::config::Settings::listen`] answers.
pub fn api(app: App) -> Router {
    let routes = OpenApiRouter::new()
        .merge(events::api::routes())
        .merge(users::api::routes())
        .merge(managed(&app))
        .merge(rate::limited(
            campaigns::api::routes()
                .merge(stats::api::routes())
                .merge(delivery::api::previews())
                .merge(delivery::api::tests()),
            &app.rate_limits().campaigns,
        ))
        .merge(rate::limited(delivery::api::transactional(), &app.rate_limits().transactional))
        .merge(sdk::api::routes(app.sdk_origins()))
        .merge(hosted_page::api::pages())
        .merge(tracking::api::routes())
        .merge(callbacks::api::routes())
        .merge(health::router());
    openapi::finish(routes).with_state(app)
}

/// What programs manage and a rate keeps in check: one bucket a credential for all of it.
fn managed(app: &App) -> OpenApiRouter<App> {
    let routes = OpenApiRouter::new()
        .merge(consent::api::routes())
        .merge(lists::api::routes())
        .merge(hosted_page::api::routes())
        .merge(suppressions::api::routes());
    rate::limited(routes, &app.rate_limits().management)
}

/// What [`crate::config::Settings::listen`] answers where this process is not the API.
pub fn health(app: App) -> Router {
    Router::from(OpenApiRouter::new().merge(health::router())).with_state(app)
}

/// What operators scrape: the answers of [`crate::config::Settings::admin_listen`].
pub fn admin(app: App) -> Router {
    let routes = OpenApiRouter::new()
        .routes(routes!(telemetry::api::render_metrics))
        .merge(health::router());
    Router::from(routes).with_state(app)
}
