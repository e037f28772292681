//! Profiles in answers.

use audience::{
    model::{Person, SegmentName},
    ops::segments_of,
};
use kernel::{
    SegmentId, Timestamp, UserId, WorkspaceId,
    page::{PageWindow, Pagination},
};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use web::Services;

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
    /// The segments it is in now, by name; null where they could not be evaluated in time.
    segments: Option<Vec<SegmentBody>>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

/// A segment that a profile is in.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SegmentName)]
pub(super) struct SegmentBody {
    id: SegmentId,
    name: String,
}

impl From<SegmentName> for SegmentBody {
    fn from(SegmentName { id, name }: SegmentName) -> Self {
        Self { id, name }
    }
}

impl UserBody {
    fn new(user: User, segments: Option<Vec<SegmentName>>) -> Self {
        let User { id, external_id, email, phone, attributes, created_at, updated_at } = user;
        let segments = segments.map(|all| all.into_iter().map(SegmentBody::from).collect());
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

    /// A profile with the segments it is in now.
    pub(super) async fn of(app: &Services, workspace: WorkspaceId, user: User) -> Self {
        let found = segments_of(app, workspace, &[person(&user)]).await;
        let segments = found.map(|mut found| found.remove(&user.id).unwrap_or_default());
        Self::new(user, segments)
    }
}

fn person(user: &User) -> Person {
    Person { user: user.id, external_id: user.external_id.clone() }
}

/// A page of profiles.
#[derive(Debug, Serialize, ToSchema)]
pub struct UsersPage {
    pub(super) data: Vec<UserBody>,
    /// The position of the page.
    pub(super) pagination: Pagination,
}

impl UsersPage {
    /// A page of a list of `total`, each profile with the segments it is in now.
    pub async fn of(
        app: &Services,
        workspace: WorkspaceId,
        users: Vec<User>,
        total: u64,
        window: PageWindow,
    ) -> Self {
        let people: Vec<Person> = users.iter().map(person).collect();
        let mut found = segments_of(app, workspace, &people).await;
        let pagination = Pagination::new(window, users.len(), total);
        let data = users.into_iter().map(|user| {
            let segments = found.as_mut().map(|found| found.remove(&user.id).unwrap_or_default());
            UserBody::new(user, segments)
        });
        Self { data: data.collect(), pagination }
    }
}
