//! The pages, one folder each. A page asks the API by its visitor and answers with `view`'s components.

#[cfg(debug_assertions)]
mod design;
mod explore;
mod health;
mod home;
mod lists;
mod live;
mod people;
mod segments;
mod settings;
mod suppressions;

use axum::{
    Router,
    extract::Request,
    middleware::{self, Next},
    response::{IntoResponse as _, Response},
    routing::post,
};

use crate::{
    failure::{Failure, PageResult},
    sign_in,
    state::ConsoleState,
    view::Entry,
    visitor::Visitor,
};

/// A page of the navigation with its routes.
struct Section {
    entry: Entry,
    routes: fn() -> Router<ConsoleState>,
}

/// The pages of the navigation, in its order. A new page is a line here.
const SECTIONS: &[Section] = &[
    Section { entry: home::ENTRY, routes: home::routes },
    Section { entry: live::ENTRY, routes: live::routes },
    Section { entry: explore::ENTRY, routes: explore::routes },
    Section { entry: people::ENTRY, routes: people::routes },
    Section { entry: segments::ENTRY, routes: segments::routes },
    Section { entry: lists::ENTRY, routes: lists::routes },
    Section { entry: console_campaigns::ENTRY, routes: console_campaigns::routes },
    Section { entry: suppressions::ENTRY, routes: suppressions::routes },
    Section { entry: health::ENTRY, routes: health::routes },
    Section { entry: settings::ENTRY, routes: settings::routes },
];

/// The navigation's entries in their order.
pub(crate) fn entries() -> Vec<Entry> {
    SECTIONS.iter().map(|section| section.entry).collect()
}

/// Every page that needs a session.
pub(crate) fn routes() -> Router<ConsoleState> {
    let mut routes = Router::new()
        .route(crate::SIGN_OUT, post(sign_out))
        .route("/console/{*rest}", axum::routing::any(not_found));
    #[cfg(debug_assertions)]
    {
        routes = routes.merge(design::routes());
    }
    for section in SECTIONS {
        let entry = section.entry;
        let guarded =
            (section.routes)().layer(middleware::from_fn(move |visitor, request, next| {
                with_scope(entry, visitor, request, next)
            }));
        routes = routes.merge(guarded);
    }
    routes.method_not_allowed_fallback(not_found)
}

/// Lets a visitor through who may open the page.
async fn with_scope(entry: Entry, visitor: Visitor, request: Request, next: Next) -> Response {
    match entry.scopes.first() {
        Some(scope) if !entry.is_open_to(visitor.scopes()) => {
            Failure::missing_scope(scope.as_str()).into_response()
        }
        _ => next.run(request).await,
    }
}

async fn not_found() -> Failure {
    Failure::not_found()
}

async fn sign_out(
    axum::extract::State(state): axum::extract::State<ConsoleState>,
    visitor: Visitor,
) -> PageResult<Response> {
    let services = state.services();
    sign_in::end(services.db(), services.clock().now(), visitor.person()).await?;
    let mut response = axum::response::Redirect::to(crate::SIGN_IN).into_response();
    let forget = sign_in::forget(sign_in::SESSION_COOKIE, state.is_secure());
    response.headers_mut().append(http::header::SET_COOKIE, forget);
    Ok(response)
}
