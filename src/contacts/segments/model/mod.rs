//! Segments, and the request bodies that create and change them.

pub mod graph;

use audience::model::Targeting;
use kernel::{
    Channel, SegmentId, Timestamp,
    fields::{Field, Fields, Presence},
    schema::{NAME_CHARS_MAX, Name},
};

/// Most bytes of JSON that the targetings of a workspace's segments may have in all: they are read whole to evaluate
/// the segments of a profile.
pub const TARGETING_BYTES_MAX: i64 = 16 * 1024 * 1024;
/// Characters of a description.
pub const DESCRIPTION_CHARS_MAX: usize = 1000;

#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    pub id: SegmentId,
    /// Unique in the workspace, case-insensitively.
    pub name: String,
    pub description: String,
    pub targeting: Targeting,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// The number of profiles in a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SegmentCount {
    pub count: u64,
    /// How many of them a message can reach, by channel in the order of [`Channel::ALL`].
    pub reach: [u64; Channel::ALL.len()],
}

/// A segment to create.
#[derive(Debug, Clone, PartialEq)]
pub struct NewSegment {
    pub name: String,
    pub description: String,
    pub targeting: Targeting,
}

/// The fields of a segment to change; `None` stays.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SegmentPatch {
    pub name: Option<String>,
    /// A new description; null clears it.
    pub description: Option<String>,
    pub targeting: Option<Targeting>,
}

impl SegmentPatch {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Reads the change from a body.
    pub fn read(body: &mut Fields<'_>) -> Self {
        Self {
            name: name(body.optional("name")),
            description: body
                .patch("description")
                .about("Null clears it.")
                .text(0..=DESCRIPTION_CHARS_MAX)
                .or_empty(),
            targeting: body.optional("targeting").about(TARGETING).as_type::<Targeting>().object(),
        }
    }
}

/// The description of `targeting`.
const TARGETING: &str = "The profiles in it, as in campaigns. An empty object matches every profile. A filter of type \
    `segment` must name a segment of the workspace. `subscriptionPreference` counts for `reach` only.";

impl NewSegment {
    /// Reads the segment from a body.
    pub fn read(body: &mut Fields<'_>) -> Self {
        Self {
            name: name(body.required("name")),
            description: body
                .optional("description")
                .text(0..=DESCRIPTION_CHARS_MAX)
                .unwrap_or_default(),
            targeting: body.required("targeting").about(TARGETING).as_type::<Targeting>().object(),
        }
    }
}

/// A name is measured and stored without surrounding spaces.
fn name<P: Presence>(field: Field<'_, P>) -> P::Out<String> {
    let field = field.about("Unique in the workspace, case aside.").as_type::<Name>();
    field.parsed(String::new(), |sent| {
        let name = sent.trim();
        match name.chars().count() {
            0 => Err("must not be empty".to_owned()),
            1..=NAME_CHARS_MAX => Ok(name.to_owned()),
            _ => Err(format!("must be at most {NAME_CHARS_MAX} characters")),
        }
    })
}
