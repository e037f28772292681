//! `/members/*` and `/roles`.

use axum::{Json, extract::State};
use http::StatusCode;
use kernel::{
    EmailAddress, Timestamp,
    fields::{
        Fields, FromFields, Patch,
        describe::{described, words_schema},
    },
    page::{PageWindow, Pagination},
};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    Services,
    auth::{Caller, ScopeSet, scope},
    http::{ApiResult, Body, BodyFor, FromPath, OffsetPage, PathOf, Query, Requester},
};

use crate::{
    invitation::Invitation,
    model::{Member, MemberId, ROLES, Role},
    ops::{self, Administrator, MemberChange, NewMember},
};

/// The routes of `/members` and `/roles`.
pub fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new()
        .routes(routes!(create_member, list_members))
        .routes(routes!(get_member, change_member, delete_member))
        .routes(routes!(invite_member))
        .routes(routes!(list_roles))
}

/// Members on a page by default, and at most.
type Page = OffsetPage<50, 200>;

/// Longest name of a member, in characters.
const NAME_CHARS_MAX: usize = 200;

words_schema!(
    /// A set of scopes under a name: see `GET /roles`.
    RoleName as "Role", ROLES
);

impl FromPath for MemberId {
    type Parameters = String;

    fn from_path(text: String) -> kernel::Result<Self> {
        Self::read(&text).ok_or(ops::NOT_FOUND)
    }
}

/// The scopes of a body: those of `role`, or of `scopes`. None where it has neither.
fn granted(body: &mut Fields<'_>) -> Option<ScopeSet> {
    let role = body
        .optional("role")
        .about("What the member may do, under a name. None that the caller lacks.")
        .as_type::<RoleName>()
        .one_of(ROLES);
    let sent = scope::scopes_of(
        body.optional("scopes").about("Instead of a role: scopes, `campaigns:*`, or `*`."),
    );
    if body.has("role") && body.has("scopes") {
        body.refuse("scopes", "must be absent where there is a role");
    }
    let scopes = sent.map(ScopeSet::all_of);
    if scopes.is_some_and(ScopeSet::is_empty) && body.is_clean() {
        body.refuse("scopes", "must have at least 1 element");
    }
    role.map(Role::scopes).or(scopes)
}

described!(
    /// A member to create.
    NewMember as "NewMember"
);

impl FromFields for NewMember {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let email = body
            .required("email")
            .about("The address with which the member signs in; one member a workspace has it.")
            .parsed(String::new(), |text| {
                let read = text.parse::<EmailAddress>();
                read.map(EmailAddress::into_string).map_err(|fault| fault.to_string())
            });
        let name = body.optional("name").text(1..=NAME_CHARS_MAX);
        refuse_control(body, name.as_deref());
        let scopes = granted(body);
        if scopes.is_none() && body.is_clean() {
            body.refuse("role", "is required where there are no scopes");
        }
        Self { email, name, scopes: scopes.unwrap_or_default() }
    }
}

described!(
    /// A change of a member. What is absent stays.
    MemberChange as "MemberChange"
);

impl FromFields for MemberChange {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let name = body.patch("name").text(1..=NAME_CHARS_MAX);
        if let Patch::Value(name) = &name {
            refuse_control(body, Some(name));
        }
        let scopes = granted(body);
        if !name.is_sent() && scopes.is_none() && body.is_clean() {
            body.refuse_body("must have name, role or scopes");
        }
        Self { name, scopes }
    }
}

fn refuse_control(body: &mut Fields<'_>, name: Option<&str>) {
    if name.is_some_and(|name| name.chars().any(char::is_control)) {
        body.refuse("name", "must not contain control characters");
    }
}

/// A member as answers have it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct MemberBody {
    #[schema(value_type = String, format = Uuid)]
    id: MemberId,
    email: String,
    name: Option<String>,
    /// The role with exactly these scopes, if there is one.
    #[schema(value_type = Option<RoleName>)]
    role: Option<&'static str>,
    /// What the member may do; `*` is everything.
    scopes: Vec<String>,
    has_password: bool,
    /// Whether an account at the OpenID provider signs the member in.
    has_account: bool,
    created_at: Timestamp,
    updated_at: Timestamp,
    signed_in_at: Option<Timestamp>,
}

impl From<Member> for MemberBody {
    fn from(member: Member) -> Self {
        let role = Role::of(member.scopes).map(|role| kernel::fields::word_for(ROLES, role));
        Self {
            id: member.id,
            email: member.email,
            name: member.name,
            role,
            scopes: member.scopes.to_stored(),
            has_password: member.has_password,
            has_account: member.has_account,
            created_at: member.created_at,
            updated_at: member.updated_at,
            signed_in_at: member.signed_in_at,
        }
    }
}

/// A link with which a member sets a password, once.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct InvitationBody {
    /// The address of the page. It is not stored and never shown again.
    url: String,
    expires_at: Timestamp,
}

impl From<Invitation> for InvitationBody {
    fn from(invitation: Invitation) -> Self {
        Self { url: invitation.url.into(), expires_at: invitation.expires_at }
    }
}

/// A new member, with the link to send to them.
#[derive(Debug, Serialize, ToSchema)]
struct CreatedMember {
    #[serde(flatten)]
    member: MemberBody,
    /// Null where the console is off on this server (`console = "off"`): there is no page that a link could open.
    invitation: Option<InvitationBody>,
}

/// A page of members.
#[derive(Debug, Serialize, ToSchema)]
struct MembersPage {
    /// The page, by address.
    data: Vec<MemberBody>,
    pagination: Pagination,
}

fn administrator(
    app: &Services,
    caller: &Caller<scope::SettingsWrite>,
    requester: Requester,
) -> Administrator {
    Administrator {
        workspace: caller.workspace(),
        author: app.author(caller.actor(), requester),
        scopes: caller.scopes(),
    }
}

/// Creates a member of the workspace, with a link that sets a password, unless the console is off on this server. The member
/// has no scope that the caller lacks.
#[utoipa::path(
    post,
    path = "/members",
    tag = "settings",
    request_body = NewMember,
    responses(
        (status = 201, body = CreatedMember, description = "the member, with a link shown this once, or null where the console is off"),
        (status = 403, description = "a scope that the caller lacks"),
        (status = 409, description = "another member has the address, or there are 1,000 members"),
    )
)]
async fn create_member(
    State(app): State<Services>,
    caller: Caller<scope::SettingsWrite>,
    requester: Requester,
    Body(new): Body<NewMember>,
) -> ApiResult<(StatusCode, Json<CreatedMember>)> {
    let administrator = administrator(&app, &caller, requester);
    let (member, invitation) =
        ops::create(app.db(), &administrator, new, app.console_url()).await?;
    let invitation = invitation.map(InvitationBody::from);
    let created = CreatedMember { member: member.into(), invitation };
    Ok((StatusCode::CREATED, Json(created)))
}

/// Lists the members of the workspace by their addresses.
#[utoipa::path(
    get,
    path = "/members",
    tag = "settings",
    params(
        ("limit" = Option<u32>, Query, description = "default 50, at most 200"),
        ("offset" = Option<u64>, Query, description = "default 0"),
    ),
    responses((status = 200, body = MembersPage))
)]
async fn list_members(
    State(app): State<Services>,
    caller: Caller<scope::SettingsRead>,
    Query(Page { limit, offset }): Query<Page>,
) -> ApiResult<Json<MembersPage>> {
    let window = PageWindow { limit, offset };
    let (members, total) = ops::list(app.db(), caller.workspace(), window).await?;
    let pagination = Pagination::new(window, members.len(), total);
    Ok(Json(MembersPage { data: members.into_iter().map(MemberBody::from).collect(), pagination }))
}

/// Reads a member of the workspace.
#[utoipa::path(
    get,
    path = "/members/{memberId}",
    tag = "settings",
    params(("memberId" = String, Path, description = "the id of the member")),
    responses((status = 200, body = MemberBody), (status = 404, description = "no such member"))
)]
async fn get_member(
    State(app): State<Services>,
    caller: Caller<scope::SettingsRead>,
    PathOf(id): PathOf<MemberId>,
) -> ApiResult<Json<MemberBody>> {
    let member = ops::get(app.db(), caller.workspace(), id).await?;
    Ok(Json(member.into()))
}

/// Changes a member. Sessions of the member have the new scopes at once.
#[utoipa::path(
    patch,
    path = "/members/{memberId}",
    tag = "settings",
    params(("memberId" = String, Path, description = "the id of the member")),
    request_body = MemberChange,
    responses(
        (status = 200, body = MemberBody),
        (status = 403, description = "a scope of the member, before or after, that the caller lacks"),
        (status = 404, description = "no such member"),
    )
)]
async fn change_member(
    State(app): State<Services>,
    caller: Caller<scope::SettingsWrite>,
    requester: Requester,
    BodyFor(id, Body(change)): BodyFor<MemberId, Body<MemberChange>>,
) -> ApiResult<Json<MemberBody>> {
    let administrator = administrator(&app, &caller, requester);
    let member = ops::change(app.db(), &administrator, id, change).await?;
    Ok(Json(member.into()))
}

/// Removes a member. Its sessions end at once.
#[utoipa::path(
    delete,
    path = "/members/{memberId}",
    tag = "settings",
    params(("memberId" = String, Path, description = "the id of the member")),
    responses(
        (status = 204, description = "removed"),
        (status = 403, description = "a scope of the member that the caller lacks"),
        (status = 404, description = "no such member"),
    )
)]
async fn delete_member(
    State(app): State<Services>,
    caller: Caller<scope::SettingsWrite>,
    requester: Requester,
    PathOf(id): PathOf<MemberId>,
) -> ApiResult<StatusCode> {
    let administrator = administrator(&app, &caller, requester);
    ops::delete(app.db(), &administrator, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Makes another link that sets a password. Links made before for the member hold no more.
#[utoipa::path(
    post,
    path = "/members/{memberId}/invitations",
    tag = "settings",
    params(("memberId" = String, Path, description = "the id of the member")),
    responses(
        (status = 201, body = InvitationBody, description = "the link, shown this once"),
        (status = 403, description = "a scope of the member that the caller lacks"),
        (status = 404, description = "no such member"),
        (status = 409, description = "the console is off on this server"),
    )
)]
async fn invite_member(
    State(app): State<Services>,
    caller: Caller<scope::SettingsWrite>,
    requester: Requester,
    PathOf(id): PathOf<MemberId>,
) -> ApiResult<(StatusCode, Json<InvitationBody>)> {
    let administrator = administrator(&app, &caller, requester);
    let invitation = ops::invite(app.db(), &administrator, id, app.console_url()).await?;
    Ok((StatusCode::CREATED, Json(invitation.into())))
}

/// A role with the scopes that it grants.
#[derive(Debug, Serialize, ToSchema)]
struct RoleBody {
    #[schema(value_type = RoleName)]
    role: &'static str,
    /// The scopes that it grants; `*` is everything.
    scopes: Vec<String>,
}

/// Every role with its scopes.
#[derive(Debug, Serialize, ToSchema)]
struct Roles {
    data: Vec<RoleBody>,
}

/// Lists the roles with the scopes that they grant.
#[utoipa::path(get, path = "/roles", tag = "settings", responses((status = 200, body = Roles)))]
async fn list_roles(_: Caller<scope::SettingsRead>) -> Json<Roles> {
    let body = |(name, role): &(&'static str, Role)| RoleBody {
        role: name,
        scopes: role.scopes().to_stored(),
    };
    Json(Roles { data: ROLES.iter().map(body).collect() })
}
