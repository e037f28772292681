//! Takes a request of an event SDK: its key, its body, its calls.

use axum::{
    extract::{FromRequest as _, Request},
    http::request::Parts,
};
use contacts::events::ops::track::{CallTerms, TrackKey, track_calls};
use http::HeaderMap;
use ingest::{
    admit::{
        Sender,
        calls::{self, CallKind, CallRules, Protocol},
    },
    profile_limit::{NoRoom, ProfileLimit},
    record::Batch,
};
use kernel::{Error, Result, WorkspaceId};
use secrecy::SecretString;
use url::form_urlencoded;
use web::{
    auth::WriteKey,
    http::{ApiResult, RawBytes, work::WorkspaceWork},
};

use super::body::{self, CALLS_BODY_BYTES_MAX};
use crate::{SdkState, profile_calls::model};

/// The query parameter with the key.
pub(super) const WRITE_KEY: &str = "writeKey";
/// The header of the routes for apps.
const X_SDK_KEY: &str = "x-sdk-key";
/// The refusal of a request without a key.
pub(super) const MISSING: &str = "Missing write key";

/// How the calls of a route are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallRoute {
    pub(super) protocol: Protocol,
    /// The type of its calls, where the route says it.
    pub(super) kind: Option<CallKind>,
    /// The answer to a request without a key.
    pub(super) missing: &'static str,
}

/// Whether a request is one of an event SDK, on a route that apps use as well.
pub(crate) fn is_with_write_key(headers: &HeaderMap) -> bool {
    !headers.contains_key(X_SDK_KEY)
}

/// Records the calls of a request.
pub(super) async fn receive(app: &SdkState, request: Request, route: CallRoute) -> ApiResult<()> {
    let (mut head, body) = request.into_parts();
    let key = match of_head(&head)? {
        Some(text) => Some(WriteKey::verify(&text, &mut head, app).await?),
        None => None,
    };
    let request = Request::from_parts(head.clone(), body);
    let body = RawBytes::<CALLS_BODY_BYTES_MAX>::from_request(request, app).await?;
    let body = body::json(body).await?;
    let key = match key {
        Some(key) => key,
        None => of_body(app, &mut head, &body.bytes, &route).await?,
    };
    record(app, &key, &route, body).await
}

/// What public keys of a workspace may change about profiles. One thread applies these changes of all workspaces, so that none
/// may have more of them than its share.
#[derive(Debug)]
struct PublicWork<'w> {
    rate: &'w WorkspaceWork,
    workspace: WorkspaceId,
}

impl ProfileLimit for PublicWork<'_> {
    fn admit(&self, calls: &Batch) -> Result<(), NoRoom> {
        let work = model::work(calls.profile_calls());
        if work > model::REQUEST_WORK_MAX {
            let limit = model::REQUEST_WORK_MAX;
            let fault = format!(
                "changes of profiles of one request with an SDK key may cost at most {limit}, these cost {work}"
            );
            return Err(NoRoom::Ever(fault));
        }
        self.rate.take(self.workspace, work).map_err(NoRoom::Now)
    }

    fn give_back(&self, calls: &Batch) {
        self.rate.give_back(self.workspace, model::work(calls.profile_calls()));
    }
}

/// Records the calls of a body that came with this key.
pub(super) async fn record(
    app: &SdkState,
    key: &WriteKey,
    route: &CallRoute,
    body: RawBytes<CALLS_BODY_BYTES_MAX>,
) -> ApiResult<()> {
    let sender = if key.is_public() {
        Sender::App { trusted_events: app.sdk_trusted_events() }
    } else {
        Sender::Server
    };
    let rules = CallRules {
        protocol: route.protocol,
        kind: route.kind,
        may_change_profiles: key.may_change_profiles(),
        email_fault: model::email_fault,
        phone_fault: model::phone_fault,
    };
    let work = PublicWork { rate: &app.rate_limits().sdk_profile_work, workspace: key.workspace() };
    let limit = key.is_public().then_some(&work as &dyn ProfileLimit);
    let key = TrackKey { workspace: key.workspace(), id: key.id() };
    track_calls(app, sender, key, CallTerms { rules, limit }, body).await?;
    Ok(())
}

/// The caller with the key in a body, where the head has none.
async fn of_body(
    app: &SdkState,
    head: &mut Parts,
    body: &[u8],
    route: &CallRoute,
) -> Result<WriteKey> {
    let found = calls::write_key(body, route.protocol);
    let found = found.map_err(|error| Error::bad_request(error.to_string()))?;
    let missing = || Error::Unauthenticated(route.missing);
    let text = SecretString::from(found.ok_or_else(missing)?.into_owned());
    WriteKey::verify(&text, head, app).await
}

/// The key in the head of a request: in `Authorization`, else in the query.
pub(super) fn of_head(head: &Parts) -> Result<Option<SecretString>> {
    if let Some(key) = WriteKey::of_basic(&head.headers)? {
        return Ok(Some(key));
    }
    let query = head.uri.query().unwrap_or_default();
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    let key = pairs.find_map(|(name, value)| (name == WRITE_KEY).then_some(value));
    Ok(key.filter(|key| !key.is_empty()).map(|key| SecretString::from(key.into_owned())))
}

/// The caller of a request without a body.
pub(super) async fn caller_of_head(app: &SdkState, head: &mut Parts) -> Result<WriteKey> {
    let text = of_head(head)?.ok_or(Error::Unauthenticated(MISSING))?;
    WriteKey::verify(&text, head, app).await
}

/// The caller of a request of PostHog that holds no calls.
pub(super) async fn caller_of_posthog(app: &SdkState, request: Request) -> ApiResult<WriteKey> {
    let (mut head, body) = request.into_parts();
    let request = Request::from_parts(head.clone(), body);
    let body = RawBytes::<CALLS_BODY_BYTES_MAX>::from_request(request, app).await?;
    let body = body::json(body).await?;
    let route = CallRoute { protocol: Protocol::PostHog, kind: None, missing: MISSING };
    Ok(of_body(app, &mut head, &body.bytes, &route).await?)
}
