//! Every route of the service.

use axum::Router;
use axum::extract::FromRef as _;
use contacts::{consent, events, lists, users};
use recipient_pages::{hosted_page, tracking};
use sdk::Origins;
use utoipa::openapi::OpenApi;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    http::{
        TrustedProxies, health, openapi, quota,
        rate::{self, RateLimit},
        rate_limits::RateLimits,
    },
    management,
};

use crate::{app::App, scrape};

/// The API and the console: what [`config::Settings::listen`] answers.
pub fn api(app: &App) -> Router {
    let proxies = TrustedProxies::from_ref(app);
    let api = openapi::finish(routes(app.rate_limits(), app.sdk.origins(), &proxies, Some(app)));
    match &app.console {
        Some(site) => {
            let sql = app.sql.clone().map(|sql| console::SqlRouter {
                router: sql_listener::router(sql.state),
                port: sql.port,
            });
            let routers = console::Routers { api: api.clone(), sql };
            let site =
                console::Site { public_url: site.public_url.clone(), openid: site.openid.clone() };
            api.merge(console::routes(app.services(), routers, site))
        }
        None => api,
    }
}

/// The description of the API, as `GET /openapi.json` answers it whatever the settings are.
pub fn description() -> OpenApi {
    openapi::description(routes(&RateLimits::NONE, &Origins::Any, &TrustedProxies::default(), None))
}

/// The routes of every area with its state; without an application they are only described.
fn routes(
    limits: &RateLimits,
    origins: &Origins,
    proxies: &TrustedProxies,
    app: Option<&App>,
) -> OpenApiRouter {
    let services = app.map(App::services);
    let delivery = app.map(|app| &app.delivery);
    let pages = app.map(|app| &app.pages);
    let tests = quota::limited(delivery::api::tests(), &limits.test_sends);
    let campaigns = OpenApiRouter::new()
        .merge(with_state(campaigns::api::routes(), app.map(App::campaigns)))
        .merge(with_state(stats::api::routes(), services))
        .merge(with_state(delivery::api::previews(), delivery))
        .merge(with_state(tests, delivery));
    let transactional = with_state(delivery::api::transactional(), delivery);
    let apps = sdk::api::routes(origins, |routes| {
        rate::limited_to_apps(routes, &limits.sdk, proxies, sdk::api::may_be_of_server)
    });
    OpenApiRouter::new()
        .merge(with_state(events::api::routes(), services))
        .merge(with_state(exports::api::routes(), services))
        .merge(with_state(users::api::routes(), services))
        .merge(with_state(identity::api::routes(), app.map(|app| &app.identity)))
        .merge(with_state(delivery::api::user_devices(), delivery))
        .merge(with_state(insights::api::routes(), app.map(|app| &app.insights)))
        .merge(with_state(privacy::api::routes(), app.map(|app| &app.privacy)))
        .merge(managed(&limits.management, app))
        .merge(rate::limited(campaigns, &limits.campaigns))
        .merge(rate::limited(transactional, &limits.transactional))
        .merge(with_state(apps, app.map(|app| &app.sdk)))
        .merge(with_state(hosted_page::api::pages(), pages))
        .merge(with_state(tracking::api::routes(), pages))
        .merge(with_state(callbacks::api::routes(), app.map(|app| &app.callbacks)))
        .merge(with_state(health::router(), services))
}

/// What programs manage and a rate keeps in check: one bucket a credential for all of it.
fn managed(limit: &RateLimit, app: Option<&App>) -> OpenApiRouter {
    let services = app.map(App::services);
    let contacts = app.map(|app| app.campaigns().contacts());
    let routes = OpenApiRouter::new()
        .merge(with_state(consent::api::routes(), services))
        .merge(with_state(lists::api::routes(), services))
        .merge(with_state(segments::api::routes(), contacts))
        .merge(with_state(hosted_page::api::routes(), app.map(|app| &app.pages)))
        .merge(with_state(suppressions::api::routes(), services))
        .merge(with_state(sender_domains::api::routes(), app.map(App::sender_domains)))
        .merge(with_state(delivery::api::channels(), app.map(|app| &app.delivery)))
        .merge(with_state(management::routes(), services))
        .merge(with_state(members::api::routes(), services));
    rate::limited(routes, limit)
}

/// The routes of an area with its state; without one, their description alone.
fn with_state<S>(routes: OpenApiRouter<S>, state: Option<&S>) -> OpenApiRouter
where
    S: Clone + Send + Sync + 'static,
{
    match state {
        Some(state) => routes.with_state(state.clone()),
        None => OpenApiRouter::with_openapi(routes.into_openapi()),
    }
}

/// What [`config::Settings::listen`] answers where this process is not the API.
pub fn health(app: &App) -> Router {
    let routes = OpenApiRouter::new().merge(health::router());
    Router::from(routes.with_state(app.services().clone()))
}

/// What operators scrape: the answers of [`config::Settings::admin_listen`].
pub fn admin(app: &App) -> Router {
    let routes =
        OpenApiRouter::new().routes(routes!(scrape::render_metrics)).merge(health::router());
    Router::from(routes.with_state(app.services().clone()))
}
