//! `POST /users`: creates or updates one profile, or an array of them.

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use http::StatusCode;
use kernel::{
    Error, Result, Tenant,
    schema::{one_or_list, with_any_of},
};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use web::{
    Services,
    audit::Origin,
    auth::{Caller, scope},
    http::{ApiError, ApiResult, JsonBytes, Requester, USERS_BODY_BYTES_MAX},
};

use super::{
    inline::{EventCounts, EventsSummary, Form, SubscriptionCounts, SubscriptionsSummary},
    sent::{Element, SentUser, UserUpsertFields},
    wire::UserBody,
};
use crate::{
    events::ops::track::TrackKey,
    users::{
        model::{ELEMENTS_MAX, EVENTS_PER_REQUEST_MAX, SUBSCRIPTIONS_PER_REQUEST_MAX, Upsert},
        ops::{
            inline::{Owner, UserEvent, UserSubscription, subscribe, track},
            upsert::{Upserted, WriteContext, upsert},
        },
    },
};

/// Where the changes of this endpoint come from, as the audit history names it.
const SOURCE: &str = "api";

with_any_of!(
    /// A profile as it is sent.
    UserUpsert = UserUpsertFields,
    ["externalId", "email", "userId"]
);

one_or_list!(
    /// One user, or up to 1000 of them.
    UpsertBody = UserUpsert,
    ELEMENTS_MAX
);

/// A single user's answer: the profile, and what became of what came along.
#[derive(Debug, Serialize, ToSchema)]
struct UpsertedUser {
    #[serde(flatten)]
    user: UserBody,
    /// Only when subscriptions were sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    subscriptions: Option<SubscriptionsSummary>,
    /// Only when events were sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    events: Option<EventsSummary>,
}

#[derive(Debug, Default, Serialize, ToSchema)]
struct UpsertedUsers {
    processed: usize,
    created: usize,
    updated: usize,
    failed: Vec<FailedUser>,
    subscriptions: SubscriptionCounts,
    events: EventCounts,
}

/// An element that was not applied.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct FailedUser {
    /// Zero-based position in the array.
    index: usize,
    /// Its `externalId`, else its `userId`, else its `email`, as sent.
    user_id: Option<String>,
    reason: String,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes the answer for openapi")]
enum UpsertAnswer {
    One(Box<UpsertedUser>),
    Many(UpsertedUsers),
}

/// Creates or updates profiles.
#[utoipa::path(
    post,
    path = "/users",
    tag = "users",
    request_body = UpsertBody,
    responses(
        (status = 200, body = UpsertAnswer, description = "updated, or an array was worked through"),
        (status = 201, body = UpsertedUser, description = "a single profile was created"),
        (status = 404, description = "no active profile has that `userId`"),
    )
)]
pub(super) async fn upsert_users(
    State(app): State<Services>,
    caller: Caller<scope::UsersWrite>,
    requester: Requester,
    body: JsonBytes<USERS_BODY_BYTES_MAX>,
) -> ApiResult<Response> {
    let tenant = Tenant { organization: caller.organization(), workspace: caller.workspace() };
    let origin = Origin { source: SOURCE.to_owned(), actor: caller.actor(), requester };
    let key = TrackKey { workspace: tenant.workspace, id: caller.key() };
    let desk = Desk { app: &app, tenant, origin, key };
    let json: &RawValue = super::json(&body.bytes)?;
    match json.get().as_bytes().first() {
        Some(b'{') => desk.one(json).await.map_err(ApiError),
        Some(b'[') => desk.many(json).await.map_err(ApiError),
        _ => Err(Error::bad_request("body must be an object or an array of objects").into()),
    }
}

/// Where a request is worked through.
struct Desk<'a> {
    app: &'a Services,
    tenant: Tenant,
    origin: Origin,
    /// The key of the events.
    key: TrackKey,
}

impl Desk<'_> {
    async fn upsert(&self, sent: &[Upsert]) -> Result<Vec<Result<Upserted>>> {
        let now = self.app.clock().now();
        let country = self.app.country(self.tenant.workspace).await?;
        let context = WriteContext { db: self.app.db(), tenant: self.tenant, country, now };
        upsert(context, sent).await
    }

    async fn one(&self, json: &RawValue) -> Result<Response> {
        let sent = Element::of(json, Form::One).user.map_err(Error::Invalid)?;
        let SentUser { upsert, subscriptions, events } = sent;
        let mut outcomes = self.upsert(std::slice::from_ref(&upsert)).await?;
        let upserted =
            outcomes.pop().ok_or_else(|| Error::internal("an element without an outcome"))??;
        let status = if upserted.is_new { StatusCode::CREATED } else { StatusCode::OK };
        let subscriptions = match subscriptions {
            None => None,
            Some(sent) => {
                let requests: Vec<_> = sent
                    .iter()
                    .map(|one| UserSubscription { user: upserted.id, subscription: one })
                    .collect();
                let reasons = subscribe(self.app, self.tenant, &self.origin, &requests).await;
                Some(SubscriptionsSummary::new(sent, reasons))
            }
        };
        let events = match events {
            None => None,
            Some(sent) => {
                let owned: Vec<_> = sent
                    .iter()
                    .map(|event| UserEvent { owner: owner(&upserted), event: *event })
                    .collect();
                let reasons = track(self.app, self.key, &owned).await;
                Some(EventsSummary::new(&sent, reasons))
            }
        };
        let user = upserted.user.ok_or_else(|| Error::internal("the profile was not read back"))?;
        let user = UserBody::of(self.app, self.tenant.workspace, user).await;
        let body = UpsertedUser { user, subscriptions, events };
        Ok((status, Json(body)).into_response())
    }

    async fn many(&self, json: &RawValue) -> Result<Response> {
        let elements = elements(json)?;
        let mut answer = UpsertedUsers { processed: elements.len(), ..UpsertedUsers::default() };
        let (mut upserts, mut extras) = (Vec::new(), Vec::new());
        for (index, Element { shown_as, user, .. }) in elements.into_iter().enumerate() {
            match user {
                Ok(SentUser { upsert, subscriptions, events }) => {
                    upserts.push(upsert);
                    extras.push((index, shown_as, subscriptions, events));
                }
                Err(complaints) => {
                    let reason = complaints.first().map(ToString::to_string).unwrap_or_default();
                    answer.failed.push(FailedUser { index, user_id: shown_as, reason });
                }
            }
        }
        let outcomes = self.upsert(&upserts).await?;
        let mut requests: Vec<UserSubscription<'_>> = Vec::new();
        let mut owned: Vec<UserEvent<'_>> = Vec::new();
        for (outcome, (index, shown_as, subscriptions, events)) in outcomes.iter().zip(&extras) {
            match outcome {
                Ok(upserted) => {
                    answer.created += usize::from(upserted.is_new);
                    answer.updated += usize::from(!upserted.is_new);
                    let sent = subscriptions.iter().flatten();
                    requests.extend(
                        sent.map(|one| UserSubscription { user: upserted.id, subscription: one }),
                    );
                    let sent = events.iter().flatten();
                    owned.extend(
                        sent.map(|event| UserEvent { owner: owner(upserted), event: *event }),
                    );
                }
                Err(error) => answer.failed.push(FailedUser {
                    index: *index,
                    user_id: shown_as.clone(),
                    reason: error.message(),
                }),
            }
        }
        answer.failed.sort_by_key(|failed| failed.index);
        let skipped = subscribe(self.app, self.tenant, &self.origin, &requests).await;
        answer.subscriptions = SubscriptionCounts::of(&skipped);
        answer.events = EventCounts::of(&track(self.app, self.key, &owned).await);
        Ok(Json(answer).into_response())
    }
}

fn owner(upserted: &Upserted) -> Owner<'_> {
    Owner { id: upserted.id, external_id: upserted.external_id.as_deref() }
}

/// Reads the elements of an array, each alone, and holds the whole against its limits.
fn elements(json: &RawValue) -> Result<Vec<Element<'_>>> {
    let elements: Vec<&RawValue> = serde_json::from_str(json.get()).map_err(Error::internal)?;
    match elements.len() {
        0 => return Err(Error::bad_request("body must not be an empty array")),
        received if received > ELEMENTS_MAX => {
            return Err(Error::bad_request(format!(
                "body must have at most {ELEMENTS_MAX} elements, received {received}"
            )));
        }
        _ => {}
    }
    let elements: Vec<Element<'_>> =
        elements.into_iter().map(|one| Element::of(one, Form::Array)).collect();
    for (what, max, received) in [
        (
            "subscriptions",
            SUBSCRIPTIONS_PER_REQUEST_MAX,
            elements.iter().map(|one| one.subscriptions).sum::<usize>(),
        ),
        ("events", EVENTS_PER_REQUEST_MAX, elements.iter().map(|one| one.events).sum::<usize>()),
    ] {
        if received > max {
            return Err(Error::bad_request(format!(
                "body must have at most {max} inline {what} in all, received {received}"
            )));
        }
    }
    Ok(elements)
}
