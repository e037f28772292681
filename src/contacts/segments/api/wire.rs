//! Segments in answers.

use audience::model::Targeting;
use kernel::{SegmentId, Timestamp, page::Pagination};
use serde::Serialize;
use utoipa::ToSchema;

use crate::model::{self, SegmentCount};

/// A targeting saved under a name.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SegmentDefinition)]
pub(super) struct SegmentBody {
    id: SegmentId,
    /// Unique in the workspace, case-insensitively.
    name: String,
    description: String,
    targeting: Targeting,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl From<model::Segment> for SegmentBody {
    fn from(segment: model::Segment) -> Self {
        let model::Segment { id, name, description, targeting, created_at, updated_at } = segment;
        Self { id, name, description, targeting, created_at, updated_at }
    }
}

/// Members that a message can reach now, one number a channel.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SegmentReach)]
struct Reach {
    email: u64,
    sms: u64,
    whatsapp: u64,
    push: u64,
    viber: u64,
}

/// A segment and its size now.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Segment)]
pub(super) struct CountedSegment {
    #[serde(flatten)]
    segment: SegmentBody,
    /// Profiles in it now; absent with `counted=false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    reach: Option<Reach>,
}

impl CountedSegment {
    pub(super) fn new(segment: model::Segment, size: SegmentCount) -> Self {
        let SegmentCount { count, reach: [email, sms, whatsapp, push, viber] } = size;
        let reach = Reach { email, sms, whatsapp, push, viber };
        Self { segment: segment.into(), count: Some(count), reach: Some(reach) }
    }

    pub(super) fn uncounted(segment: model::Segment) -> Self {
        Self { segment: segment.into(), count: None, reach: None }
    }
}

/// A page of segments, without their sizes.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SegmentsPage {
    /// The page, newest first.
    pub(super) data: Vec<SegmentBody>,
    pub(super) pagination: Pagination,
}
