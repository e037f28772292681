//! Requests of callers.

use kernel::{Error, Result, Tenant, UserId, WorkspaceId, page::PageWindow};
use serde_json::{Map, json};
use sqlx::PgPool;
use uuid::Uuid;
use web::audit_log::{self, Author, Change, Entry};

use super::Download;
use crate::{
    PrivacyState,
    model::{EventsFate, Kind, NewRequest, PersonName, PrivacyRequest, RequestId, State},
    store::{people, requests, requests::NewRow},
};

/// Attempts to store a request beside another one of the person that ends meanwhile.
const TRIES_MAX: u32 = 3;

/// A request, and whether it was made now: a second one for a person is answered with the first.
#[derive(Debug)]
pub struct Created {
    pub request: PrivacyRequest,
    pub is_new: bool,
}

/// Makes a request, or joins the open one of its kind for the person.
///
/// # Errors
/// Not found for an unknown person; a conflict where several profiles have the address, or the open erasure does something
/// else with events.
pub async fn create(
    app: &PrivacyState,
    tenant: Tenant,
    author: &Author,
    new: &NewRequest,
) -> Result<Created> {
    let workspace = tenant.workspace;
    let person = new.person.as_ref().ok_or(Error::NotFound("User"))?;
    let user = find(app.db(), workspace, person).await?;
    let id = RequestId::new(Uuid::new_v4());
    for _ in 0..TRIES_MAX {
        let mut tx = app.db().begin().await?;
        let row = NewRow {
            id,
            kind: new.kind,
            events: new.events,
            user,
            requested_by: &author.actor,
            now: author.now,
        };
        let is_new = requests::insert(&mut tx, workspace, row).await?;
        let open = requests::open(&mut tx, workspace, new.kind, user).await?;
        let Some(request) = open else { continue };
        if is_new {
            let entry = Entry {
                change: Change::PrivacyRequested,
                object_id: &id.to_string(),
                object_name: None,
                details: details(new),
            };
            audit_log::append(&mut tx, workspace, author, entry).await?;
        } else if request.events != new.events {
            let events = request.events.map_or("", EventsFate::as_str);
            return Err(Error::Conflict(format!(
                "an erasure of this person is under way, with events: {events}"
            )));
        }
        tx.commit().await?;
        return Ok(Created { request, is_new });
    }
    Err(Error::Conflict("another request of this person is ending: try again".to_owned()))
}

/// What an audit entry says beside the request's id: nothing about the person.
fn details(new: &NewRequest) -> Map<String, serde_json::Value> {
    let mut details = Map::new();
    details.insert("type".to_owned(), json!(new.kind.as_str()));
    if let Some(events) = new.events {
        details.insert("events".to_owned(), json!(events.as_str()));
    }
    details
}

/// The profile that a name means: an active one, else a deleted one.
async fn find(db: &PgPool, workspace: WorkspaceId, name: &PersonName) -> Result<UserId> {
    let mut found = people::named(db, workspace, name).await?;
    if found.iter().any(|it| it.is_active) {
        found.retain(|it| it.is_active);
    }
    match found.as_slice() {
        [] => Err(Error::NotFound("User")),
        [one] => Ok(one.user),
        several => Err(Error::Conflict(format!(
            "{} profiles have this identifier: name one of them by userId",
            several.len()
        ))),
    }
}

/// A request of a workspace.
///
/// # Errors
/// Not found without such a request.
pub async fn get(
    app: &PrivacyState,
    workspace: WorkspaceId,
    id: RequestId,
) -> Result<PrivacyRequest> {
    requests::get(app.db(), workspace, id).await?.ok_or(Error::NotFound("Privacy request"))
}

/// A page of the requests of a workspace, newest first, with the number of all; in one state if one is named.
///
/// # Errors
/// When the store is away.
pub async fn list(
    app: &PrivacyState,
    workspace: WorkspaceId,
    state: Option<State>,
    window: PageWindow,
) -> Result<(Vec<PrivacyRequest>, u64)> {
    requests::list(app.db(), workspace, state, window).await
}

/// The document of an export that is done.
///
/// # Errors
/// Not found without such an export, or once its document is deleted; a conflict while it is not done.
pub async fn download(
    app: &PrivacyState,
    workspace: WorkspaceId,
    id: RequestId,
) -> Result<Download> {
    let request = get(app, workspace, id).await?;
    let now = app.clock().now();
    let is_kept = request.expires_at.is_some_and(|at| at > now);
    match (request.kind, request.state) {
        (Kind::Export, State::Pending | State::Running) => {
            Err(Error::Conflict("the export is not done yet".to_owned()))
        }
        (Kind::Export, State::Done) if is_kept => {
            Ok(Download::new(app.db().clone(), workspace, id))
        }
        _ => Err(Error::NotFound("Export")),
    }
}
