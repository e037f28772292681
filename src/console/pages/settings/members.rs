//! Members: adding one, their roles, the link that sets a password, and removing one.

use axum::{
    extract::{Path, State},
    response::Response,
};
use http::Method;
use kernel::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use web::auth::ScopeName;

use super::{Tab, sessions};
use crate::{
    failure::{Failure, PageResult, Refused},
    in_process::path,
    query::Query,
    state::ConsoleState,
    view::{self, Choice, Column, Confirmation, Field, Kind},
    visitor::{Form, Visitor},
};

/// Members of one page.
const PAGE: u64 = 50;
/// Fields of the form that show their own faults.
const FIELDS: &[&str] = &["email", "name", "role"];

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    offset: u64,
    /// The offset of the sessions below.
    sessions: u64,
}

impl Asked {
    /// The address of the page with these offsets.
    fn address(&self) -> String {
        format!("{}?offset={}&sessions={}", Tab::Members.path(), self.offset, self.sessions)
    }
}

/// A member as the API answers it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Member {
    id: String,
    email: String,
    name: Option<String>,
    role: Option<String>,
    scopes: Vec<String>,
    has_password: bool,
    has_account: bool,
    signed_in_at: Option<Timestamp>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pagination {
    total: u64,
    has_more: bool,
}

#[derive(Deserialize)]
struct Members {
    data: Vec<Member>,
    pagination: Pagination,
}

#[derive(Deserialize)]
struct Role {
    role: String,
    scopes: Vec<String>,
}

#[derive(Deserialize)]
struct Roles {
    data: Vec<Role>,
}

impl Roles {
    /// The role of a form, where the others cannot be read.
    fn only(role: &str) -> Self {
        Self { data: vec![Role { role: role.to_owned(), scopes: Vec::new() }] }
    }

    /// Those that a session may grant, and the one that is chosen.
    fn offered(&self, visitor: &Visitor, chosen: Option<&str>) -> impl Iterator<Item = &Role> {
        let is_offered =
            move |role: &&Role| visitor.may_all(&role.scopes) || chosen == Some(role.role.as_str());
        self.data.iter().filter(is_offered)
    }
}

#[derive(Deserialize)]
struct Invitation {
    url: String,
}

#[derive(Deserialize)]
struct Created {
    email: String,
    invitation: Invitation,
}

/// A member as it is typed.
#[derive(Debug, Clone, Default)]
struct Draft {
    email: String,
    name: String,
    role: String,
}

impl Draft {
    fn of(form: &Form) -> Self {
        let text = |name: &str| form.text(name).unwrap_or_default().to_owned();
        Self { email: text("email"), name: text("name"), role: text("role") }
    }

    fn body(&self) -> Value {
        let mut body = Map::new();
        body.insert("email".to_owned(), json!(self.email));
        body.insert("role".to_owned(), json!(self.role));
        if !self.name.trim().is_empty() {
            body.insert("name".to_owned(), json!(self.name.trim()));
        }
        Value::Object(body)
    }
}

pub(super) async fn show(
    State(state): State<ConsoleState>,
    visitor: Visitor,
    Query(asked): Query<Asked>,
) -> Response {
    page(&state, &visitor, &asked, &Draft::default(), None).await
}

async fn page(
    state: &ConsoleState,
    visitor: &Visitor,
    asked: &Asked,
    draft: &Draft,
    refused: Option<Refused<'_>>,
) -> Response {
    let failure = refused.and_then(Refused::at_form);
    let members = list(visitor, asked).await;
    let sessions_at = |sessions: u64| Asked { sessions, ..asked.clone() }.address();
    let content = html! {
        @match &members {
            Ok((members, roles)) => {
                (found(visitor, asked, members, roles))
                @if visitor.may(ScopeName::SettingsWrite) || failure.is_some() {
                    (form(visitor, roles, draft, failure))
                }
            }
            Err(away) => {
                (away.card("Members"))
                @if failure.is_some() { (form(visitor, &Roles::only(&draft.role), draft, failure)) }
            }
        }
        (sessions::card(state, visitor, asked.sessions, sessions_at).await)
        (view::card("Links", &html! {
            p { "Without a password, a link that the command line prints signs in once, with the scopes that it names:" }
            (view::copyable(&format!(
                "millrace console link --workspace {} --actor ann@example.test --scopes users:read,events:read",
                view::shell_quoted(visitor.workspace_name())
            )))
        }))
    };
    Tab::Members.page(visitor, refused, &content)
}

async fn list(visitor: &Visitor, asked: &Asked) -> PageResult<(Members, Roles)> {
    let call = visitor
        .get("/members")
        .query("limit", PAGE.to_string())
        .query("offset", asked.offset.to_string());
    Ok((call.read().await?, visitor.get("/roles").read().await?))
}

fn found(visitor: &Visitor, asked: &Asked, members: &Members, roles: &Roles) -> Markup {
    if members.data.is_empty() {
        return view::empty(
            "No members yet",
            &html! { p { "A member signs in with a password, or with an account at the server's OpenID provider." } },
        );
    }
    let columns = [
        Column::text("Member"),
        Column::text("Role"),
        Column::text("Signs in with"),
        Column::text("Last signed in"),
        Column::text("Actions"),
    ];
    let rows: Vec<Vec<Markup>> =
        members.data.iter().map(|member| row(visitor, member, roles)).collect();
    let address = |offset: u64| Asked { offset, ..asked.clone() }.address();
    let before = (asked.offset > 0).then(|| address(asked.offset.saturating_sub(PAGE)));
    let after = members.pagination.has_more.then(|| address(asked.offset + PAGE));
    let content = html! {
        p class="quiet" { (view::count(members.pagination.total)) " members" }
        (view::table("Members", &columns, &rows))
        (view::pager(before.as_deref(), after.as_deref()))
    };
    view::card("Members", &content)
}

fn row(visitor: &Visitor, member: &Member, roles: &Roles) -> Vec<Markup> {
    let ways = match (member.has_password, member.has_account) {
        (true, true) => "password, OpenID account",
        (true, false) => "password",
        (false, true) => "OpenID account",
        (false, false) => "nothing yet: invited",
    };
    // The API refuses changes of a member who may do more than the session.
    let is_below = visitor.may_all(&member.scopes);
    let may_change = visitor.may(ScopeName::SettingsWrite) && is_below;
    vec![
        html! {
            @if let Some(name) = &member.name { bdi { (name) } br; }
            bdi { (member.email) }
        },
        html! {
            @if may_change { (role_form(visitor, member, roles)) }
            @else { (member.role.as_deref().unwrap_or("own scopes")) }
            @if member.role.is_none() { p class="quiet" { (member.scopes.join(", ")) } }
        },
        html! { (ways) },
        html! {
            @match member.signed_in_at {
                Some(at) => (view::ago(at, visitor.now(), visitor.zone())),
                None => "never",
            }
        },
        html! {
            @if may_change { (actions(visitor, member)) }
            @else if !is_below { span class="quiet" { "may do more than you" } }
        },
    ]
}

fn address(member: &Member, does: &str) -> String {
    path(["console", "settings", "members", &member.id, does])
}

fn role_form(visitor: &Visitor, member: &Member, roles: &Roles) -> Markup {
    let id = format!("role-{}", member.id);
    html! {
        form class="actions" method="post" action=(address(member, "role")) {
            (visitor.csrf_field())
            label for=(id) { "Role" }
            select id=(id) name="role" {
                @if member.role.is_none() { option value="" selected { "own scopes" } }
                @for role in roles.offered(visitor, member.role.as_deref()) {
                    option value=(role.role) selected[member.role.as_ref() == Some(&role.role)] { (role.role) }
                }
            }
            button class="button" type="submit" { "Change" }
        }
    }
}

fn actions(visitor: &Visitor, member: &Member) -> Markup {
    html! {
        div class="actions" {
            form method="post" action=(address(member, "invite")) {
                (visitor.csrf_field())
                button class="button" type="submit" { "New password link" }
            }
            (view::confirm_by_name(&Confirmation {
                id: &format!("delete-{}", member.id),
                button: "Remove…",
                title: "Remove this member?",
                explanation: "Their sessions end at once.",
                name: &member.email,
                action: &address(member, "delete"),
                hidden: &visitor.csrf_field(),
            }))
        }
    }
}

fn form(visitor: &Visitor, roles: &Roles, draft: &Draft, failure: Option<&Failure>) -> Markup {
    let labels: Vec<(String, &str)> = roles
        .offered(visitor, Some(&draft.role))
        .map(|role| (format!("{}: {}", role.role, role.scopes.join(", ")), role.role.as_str()))
        .collect();
    if labels.is_empty() {
        let text = "Every role has a scope that this session lacks.";
        return view::card("New member", &html! { p class="quiet" { (text) } });
    }
    // A role is chosen, since the first one may do everything.
    let mut choices = vec![Choice { value: "", label: "Choose…" }];
    choices.extend(labels.iter().map(|(label, value)| Choice { value, label }));
    let fault = |name: &str| failure.and_then(|failure| failure.at(name));
    let (email, name, role) = (fault("email"), fault("name"), fault("role"));
    let content = html! {
        @if let Some(rest) = failure.and_then(|failure| failure.elsewhere(FIELDS)) { (view::alert(&rest)) }
        form method="post" action="/console/settings/members/new" {
            (visitor.csrf_field())
            (view::field(&Field::text("email", "Email address", &draft.email).of(Kind::Email).required()
                .fault(email.as_deref()).hint("Nothing is sent to it: the next page shows a link to pass on")))
            (view::field(&Field::text("name", "Name", &draft.name).fault(name.as_deref())))
            (view::select_of(&Field::text("role", "Role", &draft.role).required().fault(role.as_deref()), &choices))
            button class="button primary" type="submit" { "Add the member" }
        }
    };
    view::card("New member", &content)
}

pub(super) async fn create(
    State(state): State<ConsoleState>,
    visitor: Visitor,
    form: Form,
) -> PageResult<Response> {
    let draft = Draft::of(&form);
    let call = visitor.call(Method::POST, "/members").json(&draft.body())?;
    match call.read::<Created>().await {
        Ok(created) => {
            let notice = format!(
                "{} was added already, and the link was shown once. If it is lost, make a new one.",
                created.email
            );
            let page = link(&visitor, &created.email, &created.invitation);
            Ok(visitor.shown_once(page, Tab::Members.path(), &notice))
        }
        Err(mut failure) if failure.keeps_form() => {
            // Of an address that is taken the API's text says so alone.
            if failure.errors.is_empty() && failure.message.starts_with("email ") {
                failure.errors.push(failure.message.clone());
            }
            let refused = Some(Refused::Form(&failure));
            Ok(page(&state, &visitor, &Asked::default(), &draft, refused).await)
        }
        Err(failure) => Err(failure),
    }
}

/// The one page that shows the link.
fn link(visitor: &Visitor, email: &str, invitation: &Invitation) -> Response {
    let content = html! {
        section class="card" role="status" {
            h2 { "The link for " bdi { (email) } }
            p {
                strong { "It is shown once." } " Pass it on to them: within three days it sets a password, once. Who "
                "has it can sign in as them."
            }
            (view::copyable(&invitation.url))
            p { a href=(Tab::Members.path()) { "Done" } }
        }
    };
    Tab::Members.page(visitor, None, &content)
}

/// The page where a change of a member was refused.
async fn unchanged(
    state: &ConsoleState,
    visitor: &Visitor,
    failure: Failure,
) -> PageResult<Response> {
    if !failure.keeps_form() {
        return Err(failure);
    }
    let (asked, draft) = (Asked::default(), Draft::default());
    Ok(page(state, visitor, &asked, &draft, Some(Refused::Change(&failure))).await)
}

pub(super) async fn change_role(
    State(state): State<ConsoleState>,
    visitor: Visitor,
    Path(id): Path<String>,
    form: Form,
) -> PageResult<Response> {
    let role = form.filled("role").unwrap_or_default();
    let call = visitor.call(Method::PATCH, path(["members", &id])).json(&json!({"role": role}))?;
    match call.read::<Member>().await {
        Ok(member) => {
            Ok(visitor.done(Tab::Members.path(), &format!("{} is {role} now.", member.email)))
        }
        Err(failure) => unchanged(&state, &visitor, failure).await,
    }
}

pub(super) async fn invite(
    State(state): State<ConsoleState>,
    visitor: Visitor,
    Path(id): Path<String>,
) -> PageResult<Response> {
    let member = find(&visitor, &id).await?;
    let call = visitor.call(Method::POST, path(["members", &id, "invitations"]));
    let page = match call.read().await {
        Ok(invitation) => link(&visitor, &member.email, &invitation),
        Err(failure) => return unchanged(&state, &visitor, failure).await,
    };
    let notice = format!(
        "A link for {} was made already, and was shown once. If it is lost, make a new one.",
        member.email
    );
    Ok(visitor.shown_once(page, Tab::Members.path(), &notice))
}

pub(super) async fn delete(
    State(state): State<ConsoleState>,
    visitor: Visitor,
    Path(id): Path<String>,
    form: Form,
) -> PageResult<Response> {
    let member = find(&visitor, &id).await?;
    let removed = async {
        let otherwise = "The address that was typed is not that of the member: nothing was removed";
        form.confirmed(&member.email, otherwise)?;
        visitor.call(Method::DELETE, path(["members", &id])).done().await
    };
    match removed.await {
        Ok(()) => Ok(visitor.done(Tab::Members.path(), &format!("{} was removed.", member.email))),
        Err(failure) => unchanged(&state, &visitor, failure).await,
    }
}

async fn find(visitor: &Visitor, id: &str) -> PageResult<Member> {
    visitor.get(path(["members", id])).read().await
}
