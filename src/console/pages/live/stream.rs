//! The API's stream, passed on while the session is live and may read events.

use std::time::Duration;

use axum::{body::Body, extract::State, response::Response};
use futures_util::StreamExt as _;
use tokio::time::{MissedTickBehavior, interval};
use web::auth::{ScopeName, ScopeSet};

use super::Filters;
use crate::{failure::PageResult, query::Query, sign_in, state::ConsoleState, visitor::Visitor};

/// Interval of checks whether the session may go on.
const SESSION_CHECK_INTERVAL: Duration = Duration::from_secs(1);

pub(super) async fn pass(
    State(state): State<ConsoleState>,
    visitor: Visitor,
    Query(filters): Query<Filters>,
) -> PageResult<Response> {
    let answer = filters.on(visitor.get("/events/live")).begun().await?;
    let (head, body) = answer.into_parts();
    let events = body.into_data_stream().take_until(Box::pin(ended(state, visitor)));
    Ok(Response::from_parts(head, Body::from_stream(events)))
}

/// Waits until the session has ended, or its scope for events. While PostgreSQL is away that cannot be known.
async fn ended(state: ConsoleState, visitor: Visitor) {
    let services = state.services();
    let mut checks = interval(SESSION_CHECK_INTERVAL);
    checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        checks.tick().await;
        let now = services.clock().now();
        let found = sign_in::present_scopes(services.db(), now, visitor.person()).await;
        let goes_on = |scopes: ScopeSet| scopes.has(ScopeName::EventsRead);
        if found.is_ok_and(|scopes| !scopes.is_some_and(goes_on)) {
            return;
        }
    }
}
