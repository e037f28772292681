//! Profiles in answers.

use kernel::{Timestamp, UserId};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::users::model::User;

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = User)]
pub(super) struct UserBody {
    /// The internal id, 24-hex.
    id: UserId,
    user_id: UserId,
    external_id: Option<String>,
    /// Trimmed, in lower case, its domain in ASCII.
    email: Option<String>,
    phone: Option<String>,
    #[schema(value_type = Object)]
    attributes: Box<RawValue>,
    /// The segments it is in.
    segments: Vec<SegmentBody>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

/// A segment that a profile is in.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Segment)]
pub(super) struct SegmentBody {
    id: String,
    name: String,
}

impl From<User> for UserBody {
    fn from(user: User) -> Self {
        let User { id, external_id, email, phone, attributes, created_at, updated_at } = user;
        let segments = Vec::new();
        Self {
            id,
            user_id: id,
            external_id,
            email,
            phone,
            attributes,
            segments,
            created_at,
            updated_at,
        }
    }
}

/// A page of profiles.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct UsersPage {
    pub(super) data: Vec<UserBody>,
    /// The position of the page.
    pub(super) pagination: Pagination,
}

/// The position of a page in its list.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Pagination {
    total: u64,
    limit: u32,
    offset: u64,
    has_more: bool,
}

impl UsersPage {
    /// The page of a list of `total` that starts at `offset`.
    pub(super) fn new(users: Vec<User>, total: u64, limit: u32, offset: u64) -> Self {
        let shown = users.len() as u64;
        let has_more = shown > 0 && offset.saturating_add(shown) < total;
        let data = users.into_iter().map(UserBody::from).collect();
        Self { data, pagination: Pagination { total, limit, offset, has_more } }
    }
}
