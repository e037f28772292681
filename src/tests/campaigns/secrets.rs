//! Credentials of webhooks: encrypted at rest and never shown.

use campaigns::model::message::SecretPlace;
use serde_json::{Value, json};

use super::{call, id, made, put, read};
use crate::kit::{Client, Workspace, server};

const HIDDEN: &str = "********";

fn webhook(auth: &Value) -> Value {
    json!({"name": "Hook", "channel": "webhook", "variants": [
        {"id": "a", "name": "A", "weight": 100, "message": {"url": "https://example.com/h", "auth": auth}},
    ]})
}

fn bearer(token: &str) -> Value {
    json!({"type": "bearer", "token": token})
}

/// What the stores keep of a workspace's campaigns, all of it as one text.
async fn stored_text(workspace: &Workspace) -> String {
    let (db, workspace) = (server().db(), workspace.id.uuid());
    let rows = async move {
        sqlx::query_scalar::<_, String>(
            "select concat(definition, pending_draft) from campaign where workspace_id = $1
             union all select snapshot::text from campaign_version where workspace_id = $1
             union all select changes::text from campaign_history where workspace_id = $1",
        )
        .bind(workspace)
        .fetch_all(&db)
        .await
        .unwrap()
    };
    server().on(rows).await.join("\n")
}

/// The secret of a campaign's first variant as a call would be made with it.
async fn opened(workspace: &Workspace, campaign: &Value) -> String {
    opened_at(workspace, campaign, SecretPlace::Auth("token")).await
}

async fn opened_at(workspace: &Workspace, campaign: &Value, place: SecretPlace) -> String {
    let (workspace, id) = (workspace.id, id(campaign).parse().unwrap());
    server()
        .with(move |app| async move {
            let found = campaigns::ops::find(&app, workspace, id).await.unwrap();
            let webhook = found.definition.variants[0].webhook().unwrap();
            let secret = webhook.secret(&place).unwrap();
            let opened = app.vault().open(workspace, secret).unwrap().unwrap();
            secrecy::ExposeSecret::expose_secret(&opened).to_owned()
        })
        .await
}

async fn everything_shown(api: &Client, campaign: &Value) -> String {
    let path = format!("/campaigns/{}", id(campaign));
    let mut shown = String::new();
    let versions = api.get(format!("{path}/versions"), 200).await.json();
    for version in versions["data"].as_array().unwrap() {
        let number = &version["version"];
        shown += &api.get(format!("{path}/versions/{number}"), 200).await.text;
        shown += &api.get(format!("{path}/versions/compare?v1=1&v2={number}"), 200).await.text;
    }
    for part in [path.clone(), format!("{path}/history"), "/campaigns".to_owned()] {
        shown += &api.get(part, 200).await.text;
    }
    shown
}

#[tokio::test]
async fn a_secret_is_encrypted_at_rest_and_masked_in_answers() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let campaign = made(api, &webhook(&bearer("s3cret-one"))).await;
    let token = "/variants/0/message/auth/token";
    assert_eq!(campaign.pointer(token), Some(&json!(HIDDEN)));
    assert_eq!(opened(&workspace, &campaign).await, "s3cret-one");

    // Sent back as it was shown, it stays; nothing changed, so there is no version of it.
    let variants = read(api, &campaign).await["variants"].clone();
    let same = put(api, &campaign, json!({"variants": variants}), 200).await.json();
    assert_eq!((&same["version"], same.pointer(token)), (&json!(1), Some(&json!(HIDDEN))));
    let again = webhook(&bearer("s3cret-one"))["variants"].clone();
    let same = put(api, &campaign, json!({"variants": again}), 200).await.json();
    assert_eq!(same["version"], 1, "the same secret is no change");
    let renamed = put(api, &campaign, json!({"name": "Other"}), 200).await.json();
    assert_eq!(renamed["version"], 2);
    assert_eq!(opened(&workspace, &campaign).await, "s3cret-one");

    // Another one is another one, and an old version brings the old one back.
    let other = webhook(&bearer("s3cret-two"))["variants"].clone();
    put(api, &campaign, json!({"variants": other}), 200).await;
    assert_eq!(opened(&workspace, &campaign).await, "s3cret-two");
    let compared = api
        .get(format!("/campaigns/{}/versions/compare?v1=2&v2=3", id(&campaign)), 200)
        .await
        .json();
    let expected = json!([{"path": token, "op": "replace", "before": HIDDEN, "after": HIDDEN}]);
    assert_eq!(compared["changes"], expected, "the change is shown without the value");
    let path = format!("/campaigns/{}/versions/2/rollback", id(&campaign));
    api.send(api.request(reqwest::Method::POST, &path), 200).await;
    assert_eq!(opened(&workspace, &campaign).await, "s3cret-one");
    let copy = call(api, &campaign, "duplicate", 201).await.json();
    assert_eq!(copy.pointer(token), Some(&json!(HIDDEN)));
    assert_eq!(opened(&workspace, &copy).await, "s3cret-one");

    let shown = everything_shown(api, &campaign).await;
    assert!(!shown.contains("s3cret") && !shown.contains("sealed:"), "{shown}");
    assert!(!stored_text(&workspace).await.contains("s3cret"));
}

#[tokio::test]
async fn a_masked_secret_without_a_stored_one_is_refused() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let problem =
        |field: &str, text: &str| json!([format!("variants[0].message.auth.{field} {text}")]);
    for (auth, expected) in [
        (bearer(HIDDEN), problem("token", "must be given: no secret is stored")),
        (
            json!({"type": "basic", "username": "a", "password": HIDDEN}),
            problem("password", "must be given: no secret is stored"),
        ),
        (bearer("sealed:1:made-up"), problem("token", "must not begin with sealed:1:")),
    ] {
        let answer = api.post("/campaigns", &webhook(&auth), 400).await.json();
        assert_eq!(answer["errors"], expected);
    }
    let header = json!({"type": "header", "name": "X-Key", "value": "s3cret"});
    let campaign = made(api, &webhook(&header)).await;
    let mut moved = webhook(&bearer(HIDDEN));
    moved["variants"][0]["id"] = json!("b");
    let answer = put(api, &campaign, json!({"variants": moved["variants"]}), 400).await.json();
    assert_eq!(answer["errors"], problem("token", "must be given: no secret is stored"));
}

#[tokio::test]
async fn a_secret_of_the_maximum_length_is_stored_and_a_longer_one_refused() {
    let workspace = Workspace::new().await;
    let longest = "€".repeat(4096);
    let campaign = made(&workspace.api, &webhook(&bearer(&longest))).await;
    put(&workspace.api, &campaign, json!({"name": "Other"}), 200).await;
    assert_eq!(opened(&workspace, &campaign).await, longest);
    let longer = webhook(&bearer(&"x".repeat(4097)));
    workspace.api.post("/campaigns", &longer, 400).await;
}

/// A webhook campaign of one variant `a` with this message.
fn hook(message: &Value) -> Value {
    json!({"name": "Hook", "channel": "webhook", "variants": [
        {"id": "a", "name": "A", "weight": 100, "message": message},
    ]})
}

/// Puts another message into a campaign's variant `a`.
async fn put_message(api: &Client, campaign: &Value, message: &Value, status: u16) -> Value {
    let variants = hook(message)["variants"].clone();
    put(api, campaign, json!({"variants": variants}), status).await.json()
}

const MOVED: &str =
    "must be given again: the stored secret is for another scheme, host or port of the URL";

#[tokio::test]
async fn a_masked_secret_is_not_reused_for_another_host() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let message = |url: &str, token: &str, key: &str| json!({"url": url, "auth": bearer(token), "headers": {"X-Api-Key": key, "X-Plan": "pro"}});
    let stored_text = message("https://example.com/h", "s3cret-one", "s3cret-key");
    let campaign = made(api, &hook(&stored_text)).await;
    // The same server: another path, its port by its number, its name in other letters.
    for url in ["https://example.com/other?q={{ user.id }}", "https://EXAMPLE.com:443/h"] {
        put_message(api, &campaign, &message(url, HIDDEN, HIDDEN), 200).await;
        assert_eq!(opened(&workspace, &campaign).await, "s3cret-one");
    }
    // Another server.
    let refused = json!([
        format!("variants[0].message.auth.token {MOVED}"),
        format!("variants[0].message.headers.X-Api-Key {MOVED}"),
    ]);
    for url in [
        "https://evil.test/h",
        "http://example.com/h",
        "https://example.com:8443/h",
        "https://example.com.evil.test/h",
        "",
    ] {
        let answer = put_message(api, &campaign, &message(url, HIDDEN, HIDDEN), 400).await;
        assert_eq!(answer["errors"], refused, "{url}");
    }
    let without = json!({"auth": bearer(HIDDEN)});
    let answer = put_message(api, &campaign, &without, 400).await;
    assert_eq!(answer["errors"], json!([refused[0]]));
    // Liquid that decides where the secret goes, given again or not.
    for (url, token) in
        [("https://{{ user.host }}/h", HIDDEN), ("https://{{ user.host }}/h", "s3cret-new")]
    {
        let answer =
            put_message(api, &campaign, &json!({"url": url, "auth": bearer(token)}), 400).await;
        let problem = "variants[0].message.url must not have Liquid before its path, because the message \
             carries credentials";
        assert_eq!(answer["errors"], json!([problem]));
    }
    put_message(api, &campaign, &json!({"url": "https://{{ user.host }}/h"}), 200).await;
    // Both given again.
    put_message(api, &campaign, &message("https://b.test/h", "s3cret-two", "s3cret-2"), 200).await;
    assert_eq!(opened(&workspace, &campaign).await, "s3cret-two");

    // An older version brings its own URL and secret, which stay together.
    let path = format!("/campaigns/{}/versions/1/rollback", id(&campaign));
    api.send(api.request(reqwest::Method::POST, &path), 200).await;
    assert_eq!(opened(&workspace, &campaign).await, "s3cret-one");
    let answer =
        put_message(api, &campaign, &message("https://b.test/h", HIDDEN, HIDDEN), 400).await;
    assert_eq!(answer["errors"], refused);
    // Secrets of one kind are none of another.
    let basic = json!({"url": "https://example.com/h",
        "auth": {"type": "basic", "username": "ann", "password": HIDDEN}});
    let answer = put_message(api, &campaign, &basic, 400).await;
    let problem = "variants[0].message.auth.password must be given: no secret is stored";
    assert_eq!(answer["errors"], json!([problem]));
}

#[tokio::test]
async fn credential_headers_are_encrypted_and_masked() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let headers = |key: &str, cookie: &str| {
        json!({"url": "https://example.com/h",
        "headers": {"X-Api-Key": key, "cookie": cookie, "X-Plan": "{{ plan }}"}})
    };
    let campaign = made(api, &hook(&headers("s3cret-{{ user.id }}", "sid=s3cret"))).await;
    let shown = "/variants/0/message/headers";
    let hidden = json!({"X-Api-Key": HIDDEN, "cookie": HIDDEN, "X-Plan": "{{ plan }}"});
    assert_eq!(campaign.pointer(shown), Some(&hidden));
    let place = || SecretPlace::Header("x-api-key".to_owned());
    assert_eq!(opened_at(&workspace, &campaign, place()).await, "s3cret-{{ user.id }}");

    let variants = read(api, &campaign).await["variants"].clone();
    let same = put(api, &campaign, json!({"variants": variants}), 200).await.json();
    assert_eq!(same["version"], 1, "sending back the masked form changes nothing");
    // A header's name has no case.
    let mut lower = headers(HIDDEN, HIDDEN);
    let key = lower["headers"].as_object_mut().unwrap().remove("X-Api-Key").unwrap();
    lower["headers"]["x-api-key"] = key;
    put_message(api, &campaign, &lower, 200).await;
    assert_eq!(opened_at(&workspace, &campaign, place()).await, "s3cret-{{ user.id }}");
    let other = put_message(api, &campaign, &headers("s3cret-two", HIDDEN), 200).await;
    assert_eq!(other.pointer(shown), Some(&hidden));
    assert_eq!(opened_at(&workspace, &campaign, place()).await, "s3cret-two");

    for (key, problem) in [
        ("{{ user", "headers.X-Api-Key is not valid Liquid"),
        ("sealed:1:made-up", "headers.X-Api-Key must not begin with sealed:1:"),
    ] {
        let answer = put_message(api, &campaign, &headers(key, HIDDEN), 400).await;
        let first = answer["errors"][0].as_str().unwrap();
        assert!(first.starts_with(&format!("variants[0].message.{problem}")), "{first}");
    }
    let answer = api.post("/campaigns", &hook(&headers(HIDDEN, "x")), 400).await.json();
    let problem = "variants[0].message.headers.X-Api-Key must be given: no secret is stored";
    assert_eq!(answer["errors"], json!([problem]));

    let shown = everything_shown(api, &campaign).await;
    assert!(!shown.contains("s3cret") && !shown.contains("sealed:"), "{shown}");
    assert!(!stored_text(&workspace).await.contains("s3cret"));
}

#[tokio::test]
async fn a_callers_ciphertext_is_treated_as_plain_text() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let campaign = made(api, &webhook(&bearer("s3cret-one"))).await;
    let rows = stored_text(&workspace).await;
    let sealed = rows.split('"').find(|text| text.starts_with("sealed:1:")).unwrap();
    let message = json!({"url": "https://evil.test/h", "auth": bearer(sealed)});
    let problem = json!(["variants[0].message.auth.token must not begin with sealed:1:"]);
    assert_eq!(put_message(api, &campaign, &message, 400).await["errors"], problem);
    assert_eq!(api.post("/campaigns", &hook(&message), 400).await.json()["errors"], problem);
}

/// Writes a text into the message of a campaign's first variant and of its first version, past every check, as an
/// older version of the program may have stored it.
async fn store_in_message(workspace: &Workspace, campaign: &Value, pointer: &str, text: &str) {
    let (db, tenant, row) = (server().db(), workspace.id.uuid(), id(campaign).to_owned());
    let (pointer, text) = (format!("/variants/0/message{pointer}"), json!(text));
    let store = async move {
        let definition = sqlx::query_scalar::<_, String>(
            "select definition::text from campaign where workspace_id = $1 and id = $2::uuid",
        )
        .bind(tenant)
        .bind(&row)
        .fetch_one(&db)
        .await
        .unwrap();
        let mut definition: Value = serde_json::from_str(&definition).unwrap();
        *definition.pointer_mut(&pointer).unwrap() = text;
        for statement in [
            "update campaign set definition = $3 where workspace_id = $1 and id = $2::uuid",
            "update campaign_version set snapshot = $3 where workspace_id = $1 and campaign_id = $2::uuid",
        ] {
            let done = sqlx::query(statement).bind(tenant).bind(&row).bind(&definition);
            assert_eq!(done.execute(&db).await.unwrap().rows_affected(), 1);
        }
    };
    server().on(store).await;
}

#[tokio::test]
async fn headers_stored_in_plain_text_are_masked_and_encrypted_on_the_next_change() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let headers = json!({"url": "https://example.com/h", "headers": {"X-Api-Key": "s3cret-old"}});
    let campaign = made(api, &hook(&headers)).await;
    store_in_message(&workspace, &campaign, "/headers/X-Api-Key", "s3cret-old").await;
    assert!(stored_text(&workspace).await.contains("s3cret-old"));
    let shown = everything_shown(api, &campaign).await;
    assert!(!shown.contains("s3cret"), "{shown}");

    let renamed = put(api, &campaign, json!({"name": "Other"}), 200).await.json();
    assert_eq!(renamed["version"], 2);
    let place = SecretPlace::Header("X-Api-Key".to_owned());
    assert_eq!(opened_at(&workspace, &campaign, place).await, "s3cret-old");
    let path = format!("/campaigns/{}", id(&campaign));
    let compared = api.get(format!("{path}/versions/compare?v1=1&v2=2"), 200).await.json();
    let entries = api.get(format!("{path}/history"), 200).await.json();
    assert_eq!(entries["items"][0]["changes"].as_array().unwrap().len(), 1, "{entries}");
    assert!(!compared.to_string().contains("s3cret"), "{compared}");
}

const IN_URL: &str = "variants[0].message.url must not have a user name or password before its host: send them in auth";

#[tokio::test]
async fn credentials_in_a_url_are_refused() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let refused = json!([IN_URL]);
    let campaign = made(api, &hook(&json!({"url": "https://example.com/h"}))).await;
    for url in [
        "https://ann:s3cret@example.com/h",
        "https://s3cret@example.com/h",
        "https:///ann:s3cret@example.com/h",
        "https://ann:{{ user.key }}@example.com/h",
        "https://********@example.com/h",
    ] {
        let message = json!({"url": url});
        assert_eq!(api.post("/campaigns", &hook(&message), 400).await.json()["errors"], refused);
        assert_eq!(put_message(api, &campaign, &message, 400).await["errors"], refused, "{url}");
    }
    for url in ["https://example.com/@ann", "https://example.com/h?to={{ user.email }}@x"] {
        let written = put_message(api, &campaign, &json!({"url": url}), 200).await;
        assert_eq!(written["variants"][0]["message"]["url"], url);
    }
    assert!(!stored_text(&workspace).await.contains("s3cret"));
}

#[tokio::test]
async fn credentials_stored_in_a_url_are_masked_and_kept_for_the_same_host() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let campaign = made(api, &hook(&json!({"url": "https://example.com/h"}))).await;
    let url = |credentials: &str| format!("https://{credentials}@example.com/h");
    store_in_message(&workspace, &campaign, "/url", &url("ann:s3cret")).await;
    let stored = async || {
        let (workspace, id) = (workspace.id, id(&campaign).parse().unwrap());
        let found = server().with(move |app| async move {
            campaigns::ops::find(&app, workspace, id).await.unwrap()
        });
        found.await.definition.variants[0].webhook().unwrap().url.clone().unwrap()
    };
    let shown = read(api, &campaign).await;
    assert_eq!(shown["variants"][0]["message"]["url"], url(HIDDEN));

    // Sent back as it was shown, it stays.
    let same = put(api, &campaign, json!({"variants": shown["variants"]}), 200).await.json();
    assert_eq!((&same["version"], stored().await), (&json!(1), url("ann:s3cret")));
    put(api, &campaign, json!({"name": "Other"}), 200).await;
    assert_eq!(stored().await, url("ann:s3cret"));
    // Another path of the same server keeps it, another server does not, and other credentials go into `auth`.
    let moved = format!("https://{HIDDEN}@EXAMPLE.com:443/other");
    put_message(api, &campaign, &json!({"url": moved}), 200).await;
    assert_eq!(stored().await, "https://ann:s3cret@EXAMPLE.com:443/other");
    for url in [
        format!("https://{HIDDEN}@evil.test/h"),
        format!("http://{HIDDEN}@example.com/h"),
        format!("https://{HIDDEN}@example.com:8443/h"),
        format!("https://{HIDDEN}@{{{{ user.host }}}}/h"),
        url("ann:another"),
    ] {
        let answer = put_message(api, &campaign, &json!({"url": url}), 400).await;
        assert_eq!(answer["errors"], json!([IN_URL]), "{url}");
    }
    let path = format!("/campaigns/{}/versions/1/rollback", id(&campaign));
    api.send(api.request(reqwest::Method::POST, &path), 200).await;
    assert_eq!(stored().await, url("ann:s3cret"));
    let copy = call(api, &campaign, "duplicate", 201).await.json();
    assert_eq!(copy["variants"][0]["message"]["url"], url(HIDDEN));

    let shown = everything_shown(api, &campaign).await;
    assert!(shown.contains(HIDDEN) && !shown.contains("s3cret"), "{shown}");
    let without = json!({"url": "https://example.com/h", "auth": bearer("s3cret")});
    put_message(api, &campaign, &without, 200).await;
    assert_eq!(stored().await, "https://example.com/h");
}
