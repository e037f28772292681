//! Whose events a question is about.

use audience::model::Targeting;
use kernel::{
    SegmentId,
    fields::{Fields, FromFields},
};
use serde_json::json;

/// The people of a question: those that a targeting matches now.
#[derive(Debug, Clone, PartialEq)]
pub struct People {
    /// The targeting that people match.
    pub targeting: Targeting,
    /// Whether it is that of members of a segment, named by `segmentId`.
    pub is_segment: bool,
}

impl FromFields for People {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let segment = body
            .optional("segmentId")
            .about("A segment; instead of a targeting.")
            .parsed(SegmentId::new(uuid::Uuid::nil()), |text| {
                text.parse().map_err(|_| "must be the id of a segment".to_owned())
            });
        let targeting = Targeting::from_fields(body);
        let Some(segment) = segment else { return Self { targeting, is_segment: false } };
        if targeting != Targeting::default() {
            body.refuse("segmentId", "must not stand beside a targeting");
        }
        let member = json!({"filterGroups": [{"filters": [
            {"type": "segment", "field": segment, "operator": "member"}
        ]}]});
        let targeting = serde_json::from_value(member);
        Self { targeting: targeting.unwrap_or_default(), is_segment: true }
    }
}
