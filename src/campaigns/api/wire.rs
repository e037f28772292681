//! The serialized form of campaigns.

use std::collections::BTreeMap;

use kernel::{CampaignId, Timestamp};
use serde::Serialize;
use serde_json::Value;
use utoipa::{
    IntoResponses, ToSchema,
    openapi::{Header, RefOr, Response, ResponsesBuilder},
};
use web::http::openapi;

use crate::model::{
    self, Definition, Status,
    learning::{self, Learning},
};

/// A campaign: its writable fields, and its state.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Campaign {
    id: CampaignId,
    #[serde(flatten)]
    definition: Definition,
    status: Status,
    /// The reason of a failure.
    failure_reason: Option<String>,
    /// The number of its newest version.
    version: i32,
    /// Whether there are unpublished edits.
    has_pending_draft: bool,
    /// The content with the unpublished edits: all writable fields.
    pending_draft: Option<Definition>,
    /// When they were last edited.
    pending_draft_updated_at: Option<Timestamp>,
    /// Number of its latest run.
    occurrence: i32,
    /// When it is sent next.
    next_send_at: Option<Timestamp>,
    /// When a message of it was last sent.
    last_sent_at: Option<Timestamp>,
    /// When it first became live.
    started_at: Option<Timestamp>,
    /// When all its messages were completed.
    completed_at: Option<Timestamp>,
    /// When it was cancelled.
    cancelled_at: Option<Timestamp>,
    /// When it was archived.
    archived_at: Option<Timestamp>,
    /// The learning state of a learning campaign.
    #[schema(value_type = Option<Learning>)]
    rl: Option<Value>,
    /// The caller that created it: `api_key:…`.
    created_by: String,
    /// The last editor of its content.
    updated_by: String,
    /// When it was created.
    created_at: Timestamp,
    /// When it was last changed.
    updated_at: Timestamp,
}

impl From<model::Campaign> for Campaign {
    fn from(campaign: model::Campaign) -> Self {
        let state = campaign.state;
        let pending_draft_updated_at = campaign.pending_draft.as_ref().map(|it| it.updated_at);
        Self {
            id: campaign.id,
            definition: campaign.definition.hidden(),
            status: state.status,
            failure_reason: state.failure_reason,
            version: campaign.version,
            has_pending_draft: campaign.pending_draft.is_some(),
            pending_draft: campaign.pending_draft.map(|draft| draft.definition.hidden()),
            pending_draft_updated_at,
            occurrence: state.occurrence,
            next_send_at: state.next_send_at,
            last_sent_at: state.last_sent_at,
            started_at: state.started_at,
            completed_at: state.completed_at,
            cancelled_at: state.cancelled_at,
            archived_at: state.archived_at,
            rl: state.rl.map(learning::shown),
            created_by: campaign.created_by,
            updated_by: campaign.updated_by,
            created_at: campaign.created_at,
            updated_at: campaign.updated_at,
        }
    }
}

/// The responses with a campaign and its ETag.
pub(super) struct TaggedCampaign;

impl IntoResponses for TaggedCampaign {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let mut responses = OneCampaign::responses();
        if let Some(RefOr::T(found)) = responses.get_mut("200") {
            let mut tag = Header::default();
            tag.description = Some(
                "Of the content: the number of the newest version, followed by `-pending` where it is not published"
                    .to_owned(),
            );
            found.headers.insert("ETag".to_owned(), RefOr::T(tag));
        }
        responses
    }
}

/// The shared responses of calls about one campaign.
pub(super) struct OneCampaign;

impl IntoResponses for OneCampaign {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        ResponsesBuilder::new()
            .response("200", openapi::answer_with::<Campaign>())
            .response("404", openapi::answer("absent"))
            .build()
            .responses
    }
}
