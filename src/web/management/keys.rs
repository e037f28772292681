//! `/keys` and `/keys/:keyId`: making, listing and revoking the keys of the caller's workspace.

use axum::{Json, extract::State};
use http::StatusCode;
use kernel::{
    Error, KeyId, Timestamp,
    fields::{
        Fields, FromFields,
        describe::{described, words_schema},
    },
    page::{PageWindow, Pagination},
};
use secrecy::ExposeSecret as _;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    Services,
    auth::{
        Caller, KeyKind, ScopeSet,
        keys::{self, KeyOfWorkspace, KeyRow, LABEL_CHARS_MAX},
        scope,
    },
    http::{ApiResult, Body, OffsetPage, Path, Query, Requester},
};

pub(super) fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new().routes(routes!(create_key, list_keys)).routes(routes!(revoke_key))
}

/// Keys on a page by default, and at most.
type Page = OffsetPage<50, 200>;

const KINDS: &[(&str, KeyKind)] = &[("api", KeyKind::Api), ("sdk", KeyKind::Sdk)];

words_schema!(
    /// Who uses a key.
    KeyKindName as "KeyKind", KINDS
);

/// The body of a new key.
#[derive(Debug)]
struct NewKey(KeyOfWorkspace);

described!(
    /// A key to create.
    NewKey as "NewKey"
);

impl FromFields for NewKey {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let label = body
            .optional("name")
            .about("What the key is called in lists.")
            .text(1..=LABEL_CHARS_MAX);
        if label.as_deref().is_some_and(|label| label.chars().any(char::is_control)) {
            body.refuse("name", "must not contain control characters");
        }
        let kind = body
            .optional("kind")
            .about("`api` (default) for programs, `sdk` for apps: such a key is public and has no scopes.")
            .as_type::<KeyKindName>()
            .one_of(KINDS)
            .unwrap_or(KeyKind::Api);
        let sent = scope::scopes_of(body.optional("scopes").about(
            "What an API key may do: scopes, `campaigns:*`, or `*`. None that the caller lacks.",
        ));
        let scopes = ScopeSet::all_of(sent.unwrap_or_default());
        match kind {
            KeyKind::Api if scopes.is_empty() && body.is_clean() => {
                body.refuse("scopes", "must have at least 1 element for an API key");
            }
            KeyKind::Sdk if !scopes.is_empty() => {
                body.refuse("scopes", "must be absent: an SDK key has no scopes");
            }
            KeyKind::Api | KeyKind::Sdk => {}
        }
        Self(KeyOfWorkspace { label, kind, scopes })
    }
}

/// A key without its secret.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Key {
    /// The part of the key between its first two underscores.
    id: String,
    #[schema(value_type = KeyKindName)]
    kind: String,
    name: Option<String>,
    /// What it may do; `*` is everything. Empty for an SDK key.
    scopes: Vec<String>,
    created_at: Timestamp,
    /// The last use, to the minute or so.
    last_used_at: Option<Timestamp>,
    revoked_at: Option<Timestamp>,
}

impl From<KeyRow> for Key {
    fn from(row: KeyRow) -> Self {
        let KeyRow { id, kind, label, scopes, created_at, last_used_at, revoked_at } = row;
        Self { id, kind, name: label, scopes, created_at, last_used_at, revoked_at }
    }
}

/// A new key with its secret.
#[derive(Debug, Serialize, ToSchema)]
struct CreatedKey {
    #[serde(flatten)]
    described: Key,
    /// The whole key. It is not stored and never shown again.
    key: String,
}

/// A page of keys.
#[derive(Debug, Serialize, ToSchema)]
struct Keys {
    /// The page, newest first, revoked ones included.
    data: Vec<Key>,
    pagination: Pagination,
}

/// Creates a key of the caller's workspace. It has no scope that the caller lacks.
#[utoipa::path(
    post,
    path = "/keys",
    tag = "settings",
    request_body = NewKey,
    responses(
        (status = 201, body = CreatedKey, description = "the key, shown this once"),
        (status = 403, description = "a scope that the caller lacks"),
    )
)]
async fn create_key(
    State(app): State<Services>,
    caller: Caller<scope::SettingsWrite>,
    requester: Requester,
    Body(NewKey(new)): Body<NewKey>,
) -> ApiResult<(StatusCode, Json<CreatedKey>)> {
    if let Some(scope) = new.scopes.names().find(|scope| !caller.scopes().has(*scope)) {
        Err(Error::Forbidden { scope: scope.as_str(), channel: None })?;
    }
    let author = app.author(caller.actor(), requester);
    let created = keys::create_in(app.db(), caller.workspace(), &author, &new).await?;
    let described = Key {
        id: created.id.to_string(),
        kind: new.kind.as_str().to_owned(),
        scopes: new.scopes.to_stored(),
        name: new.label,
        created_at: author.now,
        last_used_at: None,
        revoked_at: None,
    };
    let key = created.token.expose_secret().to_owned();
    Ok((StatusCode::CREATED, Json(CreatedKey { described, key })))
}

/// Lists the keys of the workspace without their secrets, newest first.
#[utoipa::path(
    get,
    path = "/keys",
    tag = "settings",
    params(
        ("limit" = Option<u32>, Query, description = "default 50, at most 200"),
        ("offset" = Option<u64>, Query, description = "default 0"),
    ),
    responses((status = 200, body = Keys))
)]
async fn list_keys(
    State(app): State<Services>,
    caller: Caller<scope::SettingsRead>,
    Query(Page { limit, offset }): Query<Page>,
) -> ApiResult<Json<Keys>> {
    let window = PageWindow { limit, offset };
    let (rows, total) = keys::list_in(app.db(), caller.workspace(), window).await?;
    let pagination = Pagination::new(window, rows.len(), total);
    Ok(Json(Keys { data: rows.into_iter().map(Key::from).collect(), pagination }))
}

/// Revokes a key, refused within a second from then on. A key that is revoked already stays so.
#[utoipa::path(
    delete,
    path = "/keys/{keyId}",
    tag = "settings",
    params(("keyId" = String, Path, description = "the id of the key")),
    responses((status = 204, description = "revoked"), (status = 404, description = "no such key"))
)]
async fn revoke_key(
    State(app): State<Services>,
    caller: Caller<scope::SettingsWrite>,
    requester: Requester,
    Path(id): Path<String>,
) -> ApiResult<StatusCode> {
    let id: KeyId = id.parse().map_err(|_| Error::NotFound("Key"))?;
    let author = app.author(caller.actor(), requester);
    keys::revoke_in(app.db(), caller.workspace(), &author, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
