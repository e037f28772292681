//! Forms that are refused for another reason than their fields keep what was typed.

use std::sync::Arc;

use kernel::Clock;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::{
    campaigns::{made, webhook},
    kit::{Person, Seen},
};
use crate::kit::{TestServer, Workspace, data_dir, run, settings};

const POSTGRES: &str = "PostgreSQL is unavailable";
/// What is in the form that is shown again.
const TYPED: &str = "Typed with care";

/// A form, where it is sent, and the scopes with which its page can be opened and not saved.
struct SentForm {
    path: String,
    fields: Vec<(&'static str, &'static str)>,
    scopes: &'static str,
    /// The scope that is missing.
    missing: &'static str,
}

fn form(
    path: impl Into<String>,
    scopes: &'static str,
    missing: &'static str,
    fields: &[(&'static str, &'static str)],
) -> SentForm {
    SentForm { path: path.into(), fields: fields.to_vec(), scopes, missing }
}

async fn id(workspace: &Workspace, path: &str, body: &Value) -> String {
    let made = workspace.api.post(path, body, 201).await.json();
    made["id"].as_str().unwrap().to_owned()
}

/// Every form whose content takes work to type, of what is new and of what is there.
async fn forms(workspace: &Workspace) -> Vec<SentForm> {
    let campaign = made(workspace, &webhook("Spring")).await;
    let segment = id(workspace, "/segments", &json!({"name": "All", "targeting": {}})).await;
    let list = id(workspace, "/lists", &json!({"name": "News"})).await;
    let ann = id(workspace, "/users", &json!({"externalId": "ann"})).await;
    let of_campaign = [
        ("name", TYPED),
        ("channel", "webhook"),
        ("audience", "everyone"),
        ("sendType", "immediate"),
        ("variants[0].id", "a"),
        ("variants[0].name", "A"),
        ("variants[0].weight", "100"),
        ("variants[0].message.url", "https://hook.test/in"),
        ("do", "save"),
    ];
    let of_segment = [("name", TYPED), ("targeting", "{}"), ("do", "save")];
    let of_list = [("name", TYPED), ("channels", "email"), ("type", "marketing")];
    let attributes = "{\"note\": \"Typed with care\"}";
    let of_person = [("shown", "{}"), ("attributes", attributes)];
    let of_question = [("question", "tab=trends&event=A&last=7d"), ("name", TYPED)];
    let of_key = [("name", TYPED), ("kind", "api"), ("scopes", "settings:read")];
    let of_member = [("name", TYPED), ("email", "bob@example.test"), ("role", "analyst")];
    let of_members = [("people", "ann\nTyped with care"), ("onChannel", "email"), ("do", "add")];
    let segments = format!("/console/segments/{segment}");
    let lists = format!("/console/lists/{list}");
    vec![
        form("/console/campaigns", "campaigns:read", "campaigns:write", &of_campaign),
        form(campaign, "campaigns:read", "campaigns:write", &of_campaign),
        form("/console/segments", "users:read", "users:write", &of_segment),
        form(segments, "users:read", "users:write", &of_segment),
        form(format!("/console/people/{ann}/edit"), "users:read", "users:write", &of_person),
        form("/console/lists", "settings:read", "settings:write", &of_list),
        form(&lists, "settings:read", "settings:write", &of_list),
        form(format!("{lists}/members"), "settings:read", "users:read", &of_members),
        form("/console/explore/save", "events:read", "events:write", &of_question),
        form("/console/settings/keys", "settings:read", "settings:write", &of_key),
        form("/console/settings/members/new", "settings:read", "settings:write", &of_member),
    ]
}

/// The page has the text that was typed, in a field, and the reason.
fn has_form(seen: &Seen, path: &str, reason: &str) {
    assert!(seen.text.contains(reason), "no {reason} at {path}: {}", seen.text);
    let main = seen.text.split("<main").nth(1).unwrap();
    let is_typed = main.contains(&format!("value=\"{TYPED}\""))
        || main
            .split("<textarea")
            .skip(1)
            .any(|field| field.split("</textarea>").next().unwrap().contains(TYPED));
    assert!(is_typed, "what was typed is gone at {path}: {}", seen.text);
    assert!(main.contains(&format!("action=\"{}", path.trim_end_matches("/save"))), "{path}");
}

#[tokio::test]
async fn a_form_without_its_scope_comes_back_with_what_was_typed() {
    let workspace = Workspace::new().await;
    for SentForm { path, fields, scopes, missing } in forms(&workspace).await {
        let person = Person::signed_in(&workspace, scopes).await;
        let seen = person.post(&path, &fields).await;
        assert_eq!(seen.status, 403, "{path}: {}", seen.text);
        has_form(&seen, &path, missing);
    }
}

async fn started() -> Arc<TestServer> {
    let mut settings = settings(&data_dir("refused-forms"), &[]);
    settings.engines.postgres_lock_seconds = 1;
    Arc::new(tokio::task::spawn_blocking(|| run(settings, Clock::system())).await.unwrap())
}

/// Does something while tables are locked by another, so that PostgreSQL does not answer in time.
async fn while_locked<T>(
    server: &Arc<TestServer>,
    lock: &'static str,
    work: impl Future<Output = T>,
) -> T {
    let db = server.db();
    let (locked, is_locked) = oneshot::channel();
    let (release, released) = oneshot::channel::<()>();
    let holder = server.on(async move {
        let mut tx = db.begin().await.unwrap();
        sqlx::query("set local lock_timeout = '60s'").execute(&mut *tx).await.unwrap();
        sqlx::query(lock).execute(&mut *tx).await.unwrap();
        locked.send(()).unwrap();
        drop(released.await);
    });
    let work = async {
        is_locked.await.unwrap();
        let done = work.await;
        release.send(()).unwrap();
        done
    };
    tokio::join!(holder, work).1
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_comes_back_with_what_was_typed_while_postgresql_does_not_answer() {
    const WRITES: &str = "lock table campaign, segment, segment_use, users, subscription_list, insight, api_key, \
                          member in exclusive mode";
    // Then what the form is about cannot be read, either.
    const READS: &str =
        "lock table campaign, segment, users, subscription_list, insight in access exclusive mode";
    let server = started().await;
    let workspace = Workspace::on(&server).await;
    let forms = forms(&workspace).await;
    let person = Person::signed_in(&workspace, "*").await;
    while_locked(&server, WRITES, async {
        for SentForm { path, fields, .. } in &forms {
            // Naming people of a list only reads.
            if path.ends_with("/members") {
                continue;
            }
            let seen = person.post(path, fields).await;
            assert_eq!(seen.status, 503, "{path}: {}", seen.text);
            has_form(&seen, path, POSTGRES);
        }
    })
    .await;
    while_locked(&server, READS, async {
        for SentForm { path, fields, .. } in
            forms.iter().filter(|form| !form.path.starts_with("/console/settings"))
        {
            let seen = person.post(path, fields).await;
            assert_eq!(seen.status, 503, "{path}: {}", seen.text);
            has_form(&seen, path, POSTGRES);
        }
    })
    .await;
    // Sent once more, it is saved.
    let SentForm { path, fields, .. } = &forms[0];
    assert_eq!(person.post(path, fields).await.status, 303);
}

#[tokio::test]
async fn a_form_of_what_is_not_there_any_more_is_not_shown() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    let fields = [("name", TYPED), ("targeting", "{}"), ("do", "save")];
    for path in ["/console/segments/none", "/console/campaigns/none", "/console/lists/none"] {
        let seen = person.post(path, &fields).await;
        assert_eq!(seen.status, 404, "{path}: {}", seen.text);
    }
}
