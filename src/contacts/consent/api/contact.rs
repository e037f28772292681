//! `GET /subscriptions/contacts/:userId`, and whether its email address is valid.

use axum::{Json, extract::State};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    Services,
    auth::{CallerOrSession, scope},
    http::ApiResult,
};

use super::path::OfContact;
use crate::consent::{
    model::{Channels, Membership},
    ops,
};

pub(super) fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new().routes(routes!(find_contact)).routes(routes!(check_email))
}

/// Consent of a contact, by channel and list.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Contact {
    /// By channel; channels without a recorded state are absent.
    channels: Channels,
    /// The first 500 memberships, oldest first.
    lists: Vec<Membership>,
}

/// Whether an email address is valid.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct EmailValid {
    /// False when a hard bounce marked the address invalid, and for an unknown contact.
    valid: bool,
}

/// Gets a contact's consent.
#[utoipa::path(
    get,
    path = "/subscriptions/contacts/{userId}",
    tag = "consent",
    params(("userId" = kernel::UserId, Path, description = "internal contact id, 24-hex")),
    responses((status = 200, body = Contact))
)]
async fn find_contact(
    State(app): State<Services>,
    caller: CallerOrSession<scope::ComplianceRead>,
    OfContact(contact): OfContact,
) -> ApiResult<Json<Contact>> {
    let (channels, lists) = ops::read::contact(app.db(), caller.tenant(), contact.user()?).await?;
    Ok(Json(Contact { channels, lists }))
}

/// Checks whether a contact's email address is valid. This is about deliverability, not consent.
#[utoipa::path(
    get,
    path = "/subscriptions/contacts/{userId}/email-valid",
    tag = "consent",
    params(("userId" = kernel::UserId, Path, description = "internal contact id, 24-hex")),
    responses((status = 200, body = EmailValid))
)]
async fn check_email(
    State(app): State<Services>,
    caller: CallerOrSession<scope::ComplianceRead>,
    OfContact(contact): OfContact,
) -> ApiResult<Json<EmailValid>> {
    let valid = match contact.possible() {
        Some(user) => ops::read::has_valid_email(app.db(), caller.workspace(), user).await?,
        None => false,
    };
    Ok(Json(EmailValid { valid }))
}
