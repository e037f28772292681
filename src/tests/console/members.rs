//! Members: made over the API and in the console, with a link that sets a password, and a role.

use std::{net::IpAddr, time::Instant};

use console::sign_in::LINK_ACTOR;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use url::Url;

use super::kit::{Person, Seen, link_for};
use crate::kit::{BrowserTab, Client, Workspace, server, unique};

const PASSWORD: &str = "correct horse battery";

/// Adds a member, and returns it with its link.
async fn member(workspace: &Workspace, email: &str, role: &str) -> (Value, Url) {
    let body = json!({"email": email, "role": role});
    let made = workspace.api.post("/members", &body, 201).await.json();
    let url = made["invitation"]["url"].as_str().unwrap().parse().unwrap();
    (made, url)
}

fn token(url: &Url) -> String {
    url.query_pairs().find(|(name, _)| name == "token").unwrap().1.into_owned()
}

/// Sets a password by a link, which signs in.
async fn set_password(person: &Person, url: &Url, password: &str) -> Seen {
    let token = token(url);
    person.post_bare("/console/password", &[("token", &token), ("password", password)]).await
}

async fn sign_in(person: &Person, email: &str, password: &str) -> Seen {
    person.post_bare("/console/login", &[("email", email), ("password", password)]).await
}

/// A person at an address of their own: all that fail from one address are limited together.
fn at(last: u8) -> Person {
    Person::at(&server().url, Some(IpAddr::from([127, 0, 2, last])))
}

fn address_of(name: &str) -> String {
    format!("{}@example.test", unique(name))
}

async fn patch(client: &Client, member: &Value, body: &Value, status: u16) -> Value {
    let path = format!("/members/{}", member["id"].as_str().unwrap());
    client.send(client.request(Method::PATCH, &path).json(body), status).await.json()
}

async fn delete(client: &Client, member: &Value, status: u16) {
    let path = format!("/members/{}", member["id"].as_str().unwrap());
    client.send(client.request(Method::DELETE, &path), status).await;
}

#[tokio::test]
async fn an_invited_member_sets_a_password_and_signs_in_with_it() {
    let workspace = Workspace::new().await;
    let email = address_of("ann");
    let (made, url) = member(&workspace, &email, "analyst").await;
    assert_eq!((&made["role"], &made["hasPassword"]), (&json!("analyst"), &json!(false)));
    let person = at(1);
    let page = person.open(&url).await;
    assert_eq!(page.status, 200, "{}", page.text);
    assert!(page.text.contains(&email) && page.text.contains(&workspace.name), "{}", page.text);
    for refused in ["short", &email, &"x".repeat(257)] {
        let seen = set_password(&person, &url, refused).await;
        assert_eq!(seen.status, 400, "{refused}");
        assert!(seen.text.contains("id=\"password-fault\""), "{}", seen.text);
        assert!(!seen.text.contains(&format!("value=\"{refused}\" required")), "{}", seen.text);
    }
    let seen = set_password(&person, &url, PASSWORD).await;
    assert_eq!((seen.status.as_u16(), seen.location()), (303, "/console"), "{}", seen.text);
    assert_eq!(person.get("/console/explore").await.status, 200);
    assert_eq!(person.get("/console/suppressions").await.status, 403);
    // The link is used up.
    assert_eq!(person.open(&url).await.status, 401);
    assert_eq!(set_password(&person, &url, PASSWORD).await.status, 401);

    let again = at(2);
    let wrong = sign_in(&again, &email, "correct horse batterY").await;
    assert_eq!(wrong.status, 401);
    assert!(wrong.text.contains(&format!("value=\"{email}\"")), "{}", wrong.text);
    assert!(!wrong.text.contains("batterY") && wrong.set_cookie("millrace_session").is_none());
    let unknown = sign_in(&again, &address_of("unknown"), PASSWORD).await;
    assert_eq!(
        (unknown.status, unknown.between("role=\"alert\">", "<")),
        (wrong.status, wrong.between("role=\"alert\">", "<"))
    );
    assert_eq!(sign_in(&again, &email.to_uppercase(), PASSWORD).await.status, 303);
    let found = workspace.api.get(format!("/members/{}", made["id"].as_str().unwrap()), 200).await;
    let found = found.json();
    assert_eq!((&found["hasPassword"], &found["hasAccount"]), (&json!(true), &json!(false)));
    assert!(found["signedInAt"].is_string(), "{found}");
}

#[tokio::test]
async fn a_role_holds_at_once_and_a_removed_member_is_signed_out() {
    let workspace = Workspace::new().await;
    let email = address_of("ann");
    let (made, url) = member(&workspace, &email, "operator").await;
    let person = at(3);
    assert_eq!(set_password(&person, &url, PASSWORD).await.status, 303);
    assert_eq!(person.get("/console/campaigns").await.status, 403);
    let changed = patch(&workspace.api, &made, &json!({"role": "marketer"}), 200).await;
    assert_eq!(changed["role"], "marketer");
    assert_eq!(person.get("/console/campaigns").await.status, 200);
    // A new password ends the sessions of the old one.
    let path = format!("/members/{}/invitations", made["id"].as_str().unwrap());
    let first: Url = url_of(&workspace.api.post(&path, &json!({}), 201).await.json());
    let second: Url = url_of(&workspace.api.post(&path, &json!({}), 201).await.json());
    let other = at(4);
    assert_eq!(other.open(&first).await.status, 401, "the newest link alone holds");
    assert_eq!(set_password(&other, &second, "another long password").await.status, 303);
    assert_eq!(person.get("/console").await.status, 303);
    assert_eq!(other.get("/console").await.status, 200);
    delete(&workspace.api, &made, 204).await;
    assert_eq!(other.get("/console").await.status, 303);
    assert_eq!(sign_in(&other, &email, "another long password").await.status, 401);
    delete(&workspace.api, &made, 404).await;
    let log = workspace.api.get("/audit", 200).await.json();
    let actions: Vec<&str> =
        log["data"].as_array().unwrap().iter().map(|it| it["action"].as_str().unwrap()).collect();
    let expected =
        ["member.deleted", "member.invited", "member.invited", "member.changed", "member.created"];
    assert_eq!(actions[..5], expected);
    assert_eq!(log["data"][4]["object"]["name"], json!(email));
    assert_eq!(log["data"][3]["object"]["kind"], "member");
}

fn url_of(invitation: &Value) -> Url {
    invitation["url"].as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_link_holds_for_three_days() {
    let workspace = Workspace::new().await;
    let (made, url) = member(&workspace, &address_of("ann"), "support").await;
    let expires = made["invitation"]["expiresAt"].as_str().unwrap();
    let created = made["createdAt"].as_str().unwrap();
    let at_time = |text: &str| chrono::DateTime::parse_from_rfc3339(text).unwrap();
    assert_eq!(at_time(expires) - at_time(created), chrono::TimeDelta::days(3));
    sqlx::query("update member_invitation set expires_at = now() where workspace_id = $1")
        .bind(workspace.id.uuid())
        .execute(&server().db())
        .await
        .unwrap();
    let person = at(5);
    let seen = person.open(&url).await;
    assert_eq!(seen.status, 401);
    assert!(seen.text.contains("older than three days"), "{}", seen.text);
    assert_eq!(set_password(&person, &url, PASSWORD).await.status, 401);
}

#[tokio::test]
async fn a_person_of_several_workspaces_signs_in_to_the_one_that_fits() {
    let (one, other) = (Workspace::new().await, Workspace::new().await);
    let email = address_of("ann");
    let person = at(6);
    let (_, url) = member(&one, &email, "owner").await;
    assert_eq!(set_password(&person, &url, PASSWORD).await.status, 303);
    let (_, url) = member(&other, &email, "owner").await;
    assert_eq!(set_password(&person, &url, "another long password").await.status, 303);
    for (password, workspace) in [(PASSWORD, &one), ("another long password", &other)] {
        assert_eq!(sign_in(&person, &email, password).await.status, 303);
        let home = person.get("/console").await;
        assert!(home.text.contains(&workspace.name), "{}", home.text);
    }
    let fields = [("email", email.as_str()), ("password", PASSWORD), ("workspace", &other.name)];
    assert_eq!(person.post_bare("/console/login", &fields).await.status, 401);
    let fields = [("email", email.as_str()), ("password", PASSWORD), ("workspace", &one.name)];
    assert_eq!(person.post_bare("/console/login", &fields).await.status, 303);
}

#[tokio::test]
async fn a_peer_has_five_wrong_passwords() {
    let workspace = Workspace::new().await;
    let email = address_of("ann");
    let (_, url) = member(&workspace, &email, "owner").await;
    let person = at(7);
    assert_eq!(set_password(&person, &url, PASSWORD).await.status, 303);
    for attempt in 0..5 {
        assert_eq!(sign_in(&person, &email, "wrong").await.status, 401, "attempt {attempt}");
    }
    let seen = sign_in(&person, &email, PASSWORD).await;
    assert_eq!(seen.status, 429, "{}", seen.text);
    assert!(seen.headers.contains_key("retry-after"));
    assert_eq!(sign_in(&at(8), &email, PASSWORD).await.status, 303);
    let request = at(9)
        .request(Method::POST, "/console/login")
        .header("sec-fetch-site", "cross-site")
        .header("content-type", "application/x-www-form-urlencoded")
        .body(format!("email={email}&password={PASSWORD}"));
    assert_eq!(at(9).send(request).await.status, 403, "of another site");
}

#[tokio::test]
async fn a_peer_has_five_wrong_passwords_also_where_they_come_at_once() {
    let workspace = Workspace::new().await;
    let email = address_of("ann");
    let (_, url) = member(&workspace, &email, "owner").await;
    let person = at(11);
    assert_eq!(set_password(&person, &url, PASSWORD).await.status, 303);
    // Those that succeed are given back.
    for _ in 0..7 {
        assert_eq!(sign_in(&person, &email, PASSWORD).await.status, 303);
    }
    let began = Instant::now();
    let seen = join_all((0..50).map(|_| sign_in(&person, &email, "wrong"))).await;
    let with = |status: u16| seen.iter().filter(|it| it.status.as_u16() == status).count();
    // One returns every 12 seconds. On a busy machine some wait too long for a turn, and have not tried.
    let most = 5 + usize::try_from(began.elapsed().as_secs() / 12).unwrap();
    assert!(with(401) <= most, "{} of {most}", with(401));
    assert!(with(401) + with(503) > 0, "some have tried");
    assert_eq!(with(401) + with(429) + with(503), 50);
    assert!(with(429) > 0, "{} had to wait", with(503));
}

#[tokio::test]
async fn sessions_are_listed_page_by_page() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    sqlx::query(
        "insert into console_session (workspace_id, id, token_sha256, actor, scopes, created_at,
             last_used_at, expires_at)
         select $1, 'past' || n, sha256(($1::text || n)::bytea), 'past-' || n, '{users:read}',
             now() - n * interval '1 minute', now(), now() + interval '1 day'
         from generate_series(1, 60) n",
    )
    .bind(workspace.id.uuid())
    .execute(&server().db())
    .await
    .unwrap();
    let page = "/console/settings/members";
    let (first, next) = (person.get(page).await, format!("{page}?offset=0&sessions=50"));
    for (text, is_there) in [
        ("this session", true),
        ("<bdi>past-1</bdi>", true),
        ("<bdi>past-49</bdi>", true),
        ("<bdi>past-50</bdi>", false),
        (&next.replace('&', "&amp;"), true),
    ] {
        assert_eq!(first.text.contains(text), is_there, "{text}: {}", first.text);
    }
    let second = person.get(&next).await;
    for (text, is_there) in [
        ("this session", false),
        ("<bdi>past-49</bdi>", false),
        ("<bdi>past-50</bdi>", true),
        ("<bdi>past-60</bdi>", true),
        ("sessions=0", true),
        ("sessions=100", false),
    ] {
        assert_eq!(second.text.contains(text), is_there, "{text}: {}", second.text);
    }
}

/// The sessions that a person sees and may end, but for the person's own.
async fn to_end(person: &Person) -> Vec<String> {
    let seen = person.get("/console/settings/members").await;
    let forms = seen.text.split("/console/settings/sessions/").skip(1);
    forms.map(|form| form.split('/').next().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_session_that_may_do_more_is_ended_by_no_one_else() {
    let workspace = Workspace::new().await;
    let owner = Person::signed_in(&workspace, "*").await;
    let email = address_of("bob");
    let (_, url) = member(&workspace, &email, "operator").await;
    let operator = at(12);
    assert_eq!(set_password(&operator, &url, PASSWORD).await.status, 303);
    let seen = operator.get("/console/settings/members").await;
    assert!(seen.text.contains("may do more than you"), "{}", seen.text);
    assert!(to_end(&operator).await.is_empty());
    let [theirs]: [String; 1] = to_end(&owner).await.try_into().unwrap();
    // The one of the owner, whose id the operator may know from elsewhere.
    let own: String = sqlx::query_scalar(
        "select id from console_session where workspace_id = $1 and member_id is null",
    )
    .bind(workspace.id.uuid())
    .fetch_one(&server().db())
    .await
    .unwrap();
    let revoke = |id: &str| format!("/console/settings/sessions/{id}/revoke");
    assert_eq!(operator.post(&revoke(&own), &[]).await.status, 403);
    assert_eq!(owner.get("/console").await.status, 200);
    // Another session of the operator's own, and by the owner the first.
    let again = at(13);
    assert_eq!(sign_in(&again, &email, PASSWORD).await.status, 303);
    let others = to_end(&operator).await;
    assert_eq!(others.len(), 1);
    assert_eq!(operator.post(&revoke(&others[0]), &[]).await.status, 303);
    assert_eq!(again.get("/console").await.status, 303);
    assert_eq!(owner.post(&revoke(&theirs), &[]).await.status, 303);
    assert_eq!(operator.get("/console").await.status, 303);
    assert_eq!(owner.post(&revoke(&theirs), &[]).await.status, 404, "it has ended");
    let log = workspace.api.get("/audit?action=session.revoked", 200).await.json();
    let by: Vec<&Value> = log["data"].as_array().unwrap().iter().map(|it| &it["actor"]).collect();
    assert_eq!(by, [&json!("user:ann@example.test"), &json!(format!("user:{email}"))]);
    let entry = &log["data"][0];
    assert_eq!(entry["object"], json!({"kind": "session", "id": theirs, "name": email}));
    assert_eq!(
        entry["details"]["scopes"],
        json!(["events:read", "settings:read", "settings:write"])
    );
    assert!(entry["ipAddress"].is_string(), "{entry}");
}

#[tokio::test]
async fn a_person_ends_their_own_sessions_whatever_those_may_do() {
    let workspace = Workspace::new().await;
    for (actor, status) in [("ann@example.test", 303), (LINK_ACTOR, 403)] {
        let (all, few) = (Person::new(), Person::new());
        let links = [(&all, "*"), (&few, "settings:read,settings:write")];
        for (person, scopes) in links {
            assert_eq!(person.open(&link_for(&workspace, actor, scopes).await).await.status, 303);
        }
        let id: String = sqlx::query_scalar(
            "select id from console_session
             where workspace_id = $1 and actor = $2 and scopes = '{*}' and revoked_at is null",
        )
        .bind(workspace.id.uuid())
        .bind(actor)
        .fetch_one(&server().db())
        .await
        .unwrap();
        // Links for no one in particular are of different people.
        assert_eq!(to_end(&few).await.contains(&id), status == 303, "{actor}");
        let seen = few.post(&format!("/console/settings/sessions/{id}/revoke"), &[]).await;
        assert_eq!(seen.status, status, "{actor}: {}", seen.text);
        let expected = if status == 303 { 303 } else { 200 };
        assert_eq!(all.get("/console").await.status, expected, "{actor}");
    }
}

#[tokio::test]
async fn a_session_is_offered_to_those_alone_who_may_end_it() {
    let workspace = Workspace::new().await;
    let email = address_of("ann");
    let (_, url) = member(&workspace, &email, "operator").await;
    let operator = at(14);
    assert_eq!(set_password(&operator, &url, PASSWORD).await.status, 303);
    // A link for the name of a member is not the member.
    let linked = Person::new();
    assert_eq!(linked.open(&link_for(&workspace, &email, "*").await).await.status, 303);
    assert!(to_end(&operator).await.is_empty());
    let [theirs]: [String; 1] = to_end(&linked).await.try_into().unwrap();
    let both = to_end(&Person::signed_in(&workspace, "*").await).await;
    let linked_id = both.iter().find(|id| **id != theirs).unwrap();
    let revoke = |id: &str| format!("/console/settings/sessions/{id}/revoke");
    assert_eq!(operator.post(&revoke(linked_id), &[]).await.status, 403);
    assert_eq!(linked.post(&revoke(&theirs), &[]).await.status, 303);
    assert_eq!(operator.get("/console").await.status, 303);
}

#[tokio::test]
async fn changes_of_members_are_offered_as_far_as_the_session_may_make_them() {
    let workspace = Workspace::new().await;
    let (owner, _) = member(&workspace, &address_of("ann"), "owner").await;
    let (below, _) = member(&workspace, &address_of("bob"), "operator").await;
    let page = "/console/settings/members";
    let form = |member: &Value, does: &str| {
        format!("action=\"{page}/{}/{does}\"", member["id"].as_str().unwrap())
    };
    let operator = Person::signed_in(&workspace, "settings:read,settings:write,events:read").await;
    let seen = operator.get(page).await;
    for does in ["role", "invite", "delete"] {
        assert!(seen.text.contains(&form(&below, does)), "{does}: {}", seen.text);
        assert!(!seen.text.contains(&form(&owner, does)), "{does}: {}", seen.text);
    }
    assert!(seen.text.contains("may do more than you"), "{}", seen.text);
    let roles = |seen: &Seen| seen.text.matches("<option value=\"owner\"").count();
    assert_eq!(roles(&seen), 0, "{}", seen.text);
    assert!(seen.text.contains("<option value=\"operator\" selected>"), "{}", seen.text);
    let few = Person::signed_in(&workspace, "settings:read,settings:write").await;
    let seen = few.get(page).await;
    assert!(seen.text.contains("Every role has a scope that this session lacks."));
    // What is refused is shown with what was typed all the same.
    let fields = [("email", "cy@example.test"), ("name", "Cy"), ("role", "owner")];
    let seen = few.post(&format!("{page}/new"), &fields).await;
    assert_eq!(seen.status, 403);
    assert!(seen.text.contains("value=\"Cy\"") && roles(&seen) == 1, "{}", seen.text);
    let all = Person::signed_in(&workspace, "*").await;
    assert_eq!(roles(&all.get(page).await), 3, "of both members and of the form");
}

#[tokio::test]
async fn what_is_refused_stands_where_it_was_asked_for() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    let email = address_of("ann");
    let (made, _) = member(&workspace, &email, "analyst").await;
    let page = "/console/settings/members";
    let of = |does: &str| format!("{page}/{}/{does}", made["id"].as_str().unwrap());
    for (does, fields, reason) in [
        ("delete", ("confirm", "other"), "nothing was removed"),
        ("role", ("role", ""), "role"),
        ("role", ("role", "king"), "role must be one of"),
    ] {
        let seen = person.post(&of(does), &[fields]).await;
        assert_eq!(seen.status, 400, "{does}: {}", seen.text);
        let (above, form) = seen.text.split_once("<h2>New member</h2>").unwrap();
        assert!(above.contains("role=\"alert\"") && above.contains(reason), "{}", seen.text);
        assert!(!form.contains("role=\"alert\""), "{}", seen.text);
    }
    // An address that is taken is a fault of its field.
    let fields = [("email", email.as_str()), ("name", "Ann"), ("role", "analyst")];
    let seen = person.post(&format!("{page}/new"), &fields).await;
    assert_eq!(seen.status, 409);
    let fault = seen.between("id=\"email-fault\">", "<");
    assert!(fault.contains("another member"), "{}", seen.text);
    assert!(seen.text.contains("value=\"Ann\""), "{}", seen.text);
}

#[tokio::test]
async fn bad_members_are_refused_field_by_field() {
    let workspace = Workspace::new().await;
    let email = address_of("ann");
    let (made, _) = member(&workspace, &email, "owner").await;
    for (body, field) in [
        (json!({"role": "owner"}), "email"),
        (json!({"email": "ann", "role": "owner"}), "email"),
        (json!({"email": "a@example.test"}), "role"),
        (json!({"email": "a@example.test", "role": "king"}), "role"),
        (json!({"email": "a@example.test", "scopes": []}), "scopes"),
        (json!({"email": "a@example.test", "scopes": ["none"]}), "scopes[0]"),
        (json!({"email": "a@example.test", "role": "owner", "scopes": ["*"]}), "scopes"),
        (json!({"email": "a@example.test", "role": "owner", "name": "a\u{7}b"}), "name"),
        (json!({"email": "a@example.test", "role": "owner", "name": "n".repeat(201)}), "name"),
        (json!({"email": "a@example.test", "role": "owner", "name": ""}), "name"),
    ] {
        let errors = workspace.api.post("/members", &body, 400).await.errors();
        assert!(errors.iter().any(|it| it.starts_with(field)), "{body}: {errors:?}");
    }
    let body = json!({"email": email.to_uppercase(), "role": "owner"});
    workspace.api.post("/members", &body, 409).await;
    let long =
        json!({"email": address_of("bob"), "scopes": ["campaigns:*"], "name": "n".repeat(200)});
    let long = workspace.api.post("/members", &long, 201).await.json();
    assert_eq!((&long["role"], long["scopes"].as_array().unwrap().len()), (&Value::Null, 4));
    for body in [json!({}), json!({"name": 1}), json!({"role": null}), json!([])] {
        patch(&workspace.api, &made, &body, 400).await;
    }
    assert_eq!(
        patch(&workspace.api, &long, &json!({"name": null}), 200).await["name"],
        Value::Null
    );
    let page = workspace.api.get("/members?limit=1&offset=1", 200).await.json();
    assert_eq!((&page["pagination"]["total"], &page["data"][0]["id"]), (&json!(2), &long["id"]));
    let page = workspace.api.get("/members?limit=201", 200).await.json();
    assert_eq!(page["pagination"]["limit"], 200);
    workspace.api.get("/members/none", 404).await;
    let roles = workspace.api.get("/roles", 200).await.json();
    assert_eq!(roles["data"][0], json!({"role": "owner", "scopes": ["*"]}));
}

#[tokio::test]
async fn members_are_their_workspace_s_and_no_one_grants_more_than_they_have() {
    let (workspace, other) = (Workspace::new().await, Workspace::new().await);
    let (owner, _) = member(&workspace, &address_of("ann"), "owner").await;
    let body = json!({"name": "few", "scopes": ["settings:*", "events:read"]});
    let key = workspace.api.post("/keys", &body, 201).await.json();
    let few = Client::new(&server().url, key["key"].as_str());
    few.post("/members", &json!({"email": address_of("bob"), "role": "owner"}), 403).await;
    let operator = json!({"email": address_of("bob"), "role": "operator"});
    let operator = few.post("/members", &operator, 201).await.json();
    patch(&few, &operator, &json!({"role": "analyst"}), 403).await;
    // Neither the role of a member who may do more, nor their password, is theirs to change.
    patch(&few, &owner, &json!({"role": "operator"}), 403).await;
    delete(&few, &owner, 403).await;
    let invite = format!("/members/{}/invitations", owner["id"].as_str().unwrap());
    few.post(&invite, &json!({}), 403).await;
    // Of another workspace there is none.
    patch(&other.api, &owner, &json!({"role": "operator"}), 404).await;
    delete(&other.api, &owner, 404).await;
    other.api.post(&invite, &json!({}), 404).await;
    assert_eq!(other.api.get("/members", 200).await.json()["data"], json!([]));
    let body = json!({"name": "reader", "scopes": ["settings:read"]});
    let key = workspace.api.post("/keys", &body, 201).await.json();
    let reader = Client::new(&server().url, key["key"].as_str());
    reader.get("/members", 200).await;
    reader.post("/members", &operator, 403).await;
    delete(&reader, &owner, 403).await;
}

#[tokio::test]
async fn the_page_adds_changes_and_removes_members() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    let page = "/console/settings/members";
    let empty = person.get(page).await;
    assert!(
        empty.text.contains("No members yet") && empty.text.contains("Choose…"),
        "{}",
        empty.text
    );
    let (email, name) = (address_of("ann"), "<b>Ann</b> مرحبا");
    let new = format!("{page}/new");
    let fields = [("email", "ann"), ("name", name), ("role", "analyst")];
    let seen = person.post(&new, &fields).await;
    assert_eq!(seen.status, 400);
    assert!(
        seen.text.contains("email-fault") && seen.text.contains("&lt;b&gt;Ann"),
        "{}",
        seen.text
    );
    // No role is chosen beforehand: the first one may do everything.
    let fields = [("email", email.as_str()), ("name", name), ("role", "")];
    let seen = person.post(&new, &fields).await;
    assert!(seen.status == 400 && seen.text.contains("role-fault"), "{}", seen.text);
    let fields = [("email", email.as_str()), ("name", name), ("role", "analyst")];
    let seen = person.post(&new, &fields).await;
    assert_eq!(seen.status, 200);
    let url: Url =
        format!("{}?token={}", seen.between("<code>", "?token="), seen.between("?token=", "<"))
            .parse()
            .unwrap();
    let taken = person.post(&new, &fields).await;
    assert_eq!(taken.status, 409);
    assert!(taken.text.contains("another member"), "{}", taken.text);
    let member = workspace.api.get("/members", 200).await.json()["data"][0].clone();
    let of = |does: &str| format!("{page}/{}/{does}", member["id"].as_str().unwrap());
    let invited = at(10);
    assert_eq!(set_password(&invited, &url, PASSWORD).await.status, 303);

    assert_eq!(person.post(&of("role"), &[("role", "support")]).await.status, 303);
    let seen = person.get(page).await;
    assert!(seen.text.contains("is support now") && !seen.text.contains("<b>Ann"), "{}", seen.text);
    // Support reads settings, and does not change them.
    let seen = invited.get(page).await;
    assert!(seen.status == 200 && !seen.text.contains("Add the member"), "{}", seen.text);
    for (action, fields) in [("role", [("role", "owner")]), ("delete", [("confirm", &*email)])] {
        assert_eq!(invited.post(&of(action), &fields).await.status, 403, "{action}");
    }
    let seen = person.post(&of("invite"), &[]).await;
    assert!(seen.status == 200 && seen.text.contains("shown once"), "{}", seen.text);
    assert_eq!(person.post(&of("delete"), &[("confirm", "other")]).await.status, 400);
    assert_eq!(person.post(&of("delete"), &[("confirm", &email)]).await.status, 303);
    assert_eq!(invited.get("/console").await.status, 303);
    assert_eq!(person.post(&of("delete"), &[("confirm", &email)]).await.status, 404);
}

#[tokio::test]
async fn a_member_sets_a_password_and_signs_in_in_a_browser() {
    let tab = match BrowserTab::open().await {
        Ok(tab) => tab,
        Err(reason) => {
            return eprintln!(
                "SKIPPED a_member_sets_a_password_and_signs_in_in_a_browser: {reason}"
            );
        }
    };
    let workspace = Workspace::new().await;
    let email = address_of("ann");
    let (_, url) = member(&workspace, &email, "marketer").await;
    let fill = async |fields: &[(&str, &str)]| {
        for (id, value) in fields {
            let (id, value) = (json!(id), json!(value));
            tab.value(&format!("document.getElementById({id}).value = {value}; null")).await;
        }
        tab.click("main button[type=submit]").await;
    };
    tab.go(url.as_str()).await;
    fill(&[("password", PASSWORD)]).await;
    tab.until("document.title.startsWith('Home')").await;
    tab.click("form[action='/console/logout'] button").await;
    tab.until("document.title.startsWith('Sign in')").await;
    fill(&[("email", &email), ("password", PASSWORD)]).await;
    tab.until("document.title.startsWith('Home')").await;
    tab.go(&format!("{}/console/campaigns", server().url)).await;
    assert!(tab.text().await.contains("No campaigns yet"));
    assert_eq!(tab.errors(), [""; 0]);
}
