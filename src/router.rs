//! Every route of the service.

use axum::{Router, extract::FromRef as _};
use utoipa::openapi::OpenApi;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    app::App,
    callbacks, campaigns, consent, delivery, events, hosted_page,
    http::{
        TrustedProxies, health, openapi, quota,
        rate::{self, RateLimit, RateLimits},
    },
    lists,
    sdk::{self, Origins},
    sender_domains, stats, suppressions, telemetry, tracking, users,
};

/// The API: what [`crate::config::Settings::listen`] answers.
pub fn api(app: App) -> Router {
    let proxies = TrustedProxies::from_ref(&app);
    openapi::finish(routes(app.rate_limits(), app.sdk_origins(), &proxies)).with_state(app)
}

/// The description of the API, as `GET /openapi.json` answers it whatever the settings are.
pub fn description() -> OpenApi {
    openapi::description(routes(&RateLimits::NONE, &Origins::Any, &TrustedProxies::default()))
}

fn routes(limits: &RateLimits, origins: &Origins, proxies: &TrustedProxies) -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .merge(events::api::routes())
        .merge(users::api::routes())
        .merge(managed(&limits.management))
        .merge(rate::limited(
            campaigns::api::routes()
                .merge(stats::api::routes())
                .merge(delivery::api::previews())
                .merge(quota::limited(delivery::api::tests(), &limits.test_sends)),
            &limits.campaigns,
        ))
        .merge(rate::limited(delivery::api::transactional(), &limits.transactional))
        .merge(sdk::api::routes(origins, |routes| {
            rate::limited_to_apps(routes, &limits.sdk, proxies)
        }))
        .merge(hosted_page::api::pages())
        .merge(tracking::api::routes())
        .merge(callbacks::api::routes())
        .merge(health::router())
}

/// What programs manage and a rate keeps in check: one bucket a credential for all of it.
fn managed(limit: &RateLimit) -> OpenApiRouter<App> {
    let routes = OpenApiRouter::new()
        .merge(consent::api::routes())
        .merge(lists::api::routes())
        .merge(hosted_page::api::routes())
        .merge(suppressions::api::routes())
        .merge(sender_domains::api::routes());
    rate::limited(routes, limit)
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
