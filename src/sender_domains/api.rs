//! `/sender-domains`: adding, reading, checking and removing sender domains.

use axum::{Json, extract::State};
use http::StatusCode;
use kernel::fields::describe::described;
use kernel::{
    SenderDomainId, Timestamp,
    fields::{EmptyBody, Fields, FromFields},
    schema::text_of,
};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    auth::{Caller, scope},
    http::{ApiResult, Body, BodyFor, OptionalBody, PathOf, Requester},
};

use super::{
    model::{self, DOMAIN_CHARS_MAX, DomainStatus, Record, SenderSetup, records},
    ops,
};
use crate::SenderDomainState;

/// The shortest domain of two labels.
const DOMAIN_CHARS_MIN: usize = 3;

/// The routes of `/sender-domains`.
pub fn routes() -> OpenApiRouter<SenderDomainState> {
    OpenApiRouter::new()
        .routes(routes!(add_sender_domain, list_sender_domains))
        .routes(routes!(get_sender_domain, delete_sender_domain))
        .routes(routes!(verify_sender_domain))
}

/// The body of `POST`, checked.
#[derive(Debug)]
struct NewDomain(String);

described!(
    /// A domain to send email from.
    NewDomain as "NewSenderDomain"
);

impl FromFields for NewDomain {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        Self(body
            .required("domain")
            .about(
                "At least two labels, no public suffix such as `co.uk`. Stored in ASCII and lower case \
                 (IDNA).",
            )
            .as_schema(|| {
                text_of(DOMAIN_CHARS_MIN..=DOMAIN_CHARS_MAX)
                    .examples(["news.example.com"])
                    .into()
            })
            .parsed(String::new(), model::domain_name))
    }
}

/// A domain of the workspace and its DNS records.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SenderDomain {
    id: SenderDomainId,
    /// In ASCII and lower case.
    domain: String,
    /// `verified` once its ownership record was found, `failed` if the last check did not find it.
    status: DomainStatus,
    /// The records to set. Only `ownership` is required for sending; if others are missing, launch checks
    /// warn.
    records: Vec<Record>,
    /// What went wrong at the last check of the ownership record.
    problem: Option<String>,
    /// When it was last checked.
    checked_at: Option<Timestamp>,
    /// When it was verified.
    verified_at: Option<Timestamp>,
    /// When it was added.
    created_at: Timestamp,
}

impl SenderDomain {
    fn of(domain: model::SenderDomain, setup: &SenderSetup) -> Self {
        Self {
            id: domain.id,
            records: records(&domain, setup),
            domain: domain.domain,
            status: domain.status,
            problem: domain.problem,
            checked_at: domain.checked_at,
            verified_at: domain.verified_at,
            created_at: domain.created_at,
        }
    }
}

/// The domains of the workspace.
#[derive(Debug, Serialize, ToSchema)]
struct SenderDomains {
    /// By name; at most 100.
    data: Vec<SenderDomain>,
}

/// Adds a domain to send email from; the answer lists the DNS records to set.
#[utoipa::path(
    post,
    path = "/sender-domains",
    tag = "sender-domains",
    request_body = NewDomain,
    responses(
        (status = 201, body = SenderDomain),
        (status = 409, description = "the workspace added the domain before"),
    )
)]
async fn add_sender_domain(
    State(app): State<SenderDomainState>,
    caller: Caller<scope::SettingsWrite>,
    requester: Requester,
    Body(NewDomain(domain)): Body<NewDomain>,
) -> ApiResult<(StatusCode, Json<SenderDomain>)> {
    let author = app.author(caller.actor(), requester);
    let added = ops::add(&app, caller.workspace(), &author, domain).await?;
    Ok((StatusCode::CREATED, Json(SenderDomain::of(added, app.sender_setup()))))
}

/// Lists the domains of the workspace.
#[utoipa::path(
    get,
    path = "/sender-domains",
    tag = "sender-domains",
    responses((status = 200, body = SenderDomains))
)]
async fn list_sender_domains(
    State(app): State<SenderDomainState>,
    caller: Caller<scope::SettingsRead>,
) -> ApiResult<Json<SenderDomains>> {
    let found = ops::list(&app, caller.workspace()).await?;
    let data = found.into_iter().map(|domain| SenderDomain::of(domain, app.sender_setup()));
    Ok(Json(SenderDomains { data: data.collect() }))
}

/// Reads a domain with the result of the last check.
#[utoipa::path(
    get,
    path = "/sender-domains/{senderDomainId}",
    tag = "sender-domains",
    params(("senderDomainId" = SenderDomainId, Path)),
    responses((status = 200, body = SenderDomain), (status = 404, description = "no such domain"))
)]
async fn get_sender_domain(
    State(app): State<SenderDomainState>,
    caller: Caller<scope::SettingsRead>,
    PathOf(id): PathOf<SenderDomainId>,
) -> ApiResult<Json<SenderDomain>> {
    let found = ops::find(&app, caller.workspace(), id).await?;
    Ok(Json(SenderDomain::of(found, app.sender_setup())))
}

/// Checks the domain's DNS records now.
#[utoipa::path(
    post,
    path = "/sender-domains/{senderDomainId}/verify",
    tag = "sender-domains",
    params(("senderDomainId" = SenderDomainId, Path)),
    responses(
        (status = 200, body = SenderDomain, description = "the domain with the result of the check"),
        (status = 404, description = "no such domain"),
    )
)]
async fn verify_sender_domain(
    State(app): State<SenderDomainState>,
    caller: Caller<scope::SettingsWrite>,
    BodyFor(id, _): BodyFor<SenderDomainId, Body<OptionalBody<EmptyBody>>>,
) -> ApiResult<Json<SenderDomain>> {
    let checked = ops::verify(&app, caller.workspace(), id).await?;
    Ok(Json(SenderDomain::of(checked, app.sender_setup())))
}

/// Removes a domain: no more email is sent from it.
#[utoipa::path(
    delete,
    path = "/sender-domains/{senderDomainId}",
    tag = "sender-domains",
    params(("senderDomainId" = SenderDomainId, Path)),
    responses((status = 204, description = "removed"), (status = 404, description = "no such domain"))
)]
async fn delete_sender_domain(
    State(app): State<SenderDomainState>,
    caller: Caller<scope::SettingsWrite>,
    requester: Requester,
    PathOf(id): PathOf<SenderDomainId>,
) -> ApiResult<StatusCode> {
    let author = app.author(caller.actor(), requester);
    ops::delete(&app, caller.workspace(), &author, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
