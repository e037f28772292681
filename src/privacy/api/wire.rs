//! Privacy requests in answers.

use kernel::{Error, Result, Timestamp, UserId, page::Pagination};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;
use web::http::FromPath;

use crate::model::{PrivacyRequest, RequestId};

/// A request to erase or export what is stored of a person.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = PrivacyRequest)]
pub(super) struct RequestBody {
    #[schema(value_type = String, format = Uuid)]
    id: RequestId,
    /// What is requested: `erase` or `export`.
    r#type: &'static str,
    /// What an erasure does with events: `delete` or `anonymize`.
    #[schema(required)]
    events: Option<&'static str>,
    /// Internal id of the person; null once the person was erased.
    #[schema(required)]
    user_id: Option<UserId>,
    /// `pending`, `running`, `done` or `failed`.
    state: &'static str,
    /// What a running erasure does now.
    #[schema(required)]
    step: Option<&'static str>,
    /// Why an export failed.
    #[schema(required)]
    failure: Option<String>,
    /// `api_key:<id>`, `user:<name>`, or `list_of_erasures` where an older backup was restored.
    requested_by: String,
    requested_at: Timestamp,
    #[schema(required)]
    started_at: Option<Timestamp>,
    #[schema(required)]
    finished_at: Option<Timestamp>,
    /// When the document of an export is deleted.
    #[schema(required)]
    expires_at: Option<Timestamp>,
}

impl From<PrivacyRequest> for RequestBody {
    fn from(request: PrivacyRequest) -> Self {
        Self {
            id: request.id,
            r#type: request.kind.as_str(),
            events: request.events.map(crate::model::EventsFate::as_str),
            user_id: request.user,
            state: request.state.as_str(),
            step: request.step.map(crate::model::Step::as_str),
            failure: request.failure,
            requested_by: request.requested_by,
            requested_at: request.requested_at,
            started_at: request.started_at,
            finished_at: request.finished_at,
            expires_at: request.expires_at,
        }
    }
}

/// A page of privacy requests.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PrivacyRequestsPage)]
pub(super) struct RequestsPage {
    /// The page, newest first.
    pub(super) data: Vec<RequestBody>,
    pub(super) pagination: Pagination,
}

impl FromPath for RequestId {
    type Parameters = String;

    fn from_path(text: String) -> Result<Self> {
        let id = Uuid::parse_str(&text).map_err(|_| Error::NotFound("Privacy request"))?;
        Ok(Self::new(id))
    }
}
