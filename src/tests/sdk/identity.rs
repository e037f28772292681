//! `X-User-Token`: identity of an app's user, and what is refused without it.

use jsonwebtoken::{Algorithm, EncodingKey};
use kernel::Clock;
use millrace::app::App;
use reqwest::Method;
use sdk::ops::token_keys;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use super::{Device, now_s, person, signed};
use crate::{
    engines::command::millrace,
    kit::{Client, Workspace, data_dir, eventually, server, unique},
};

const P256: &str = include_str!("../../sdk/model/user_token/keys/p256.pem");
const P256_PRIVATE: &str = include_str!("../../sdk/model/user_token/keys/p256.private.pem");
const RSA: &str = include_str!("../../sdk/model/user_token/keys/rsa2048.pem");
const RSA_PRIVATE: &str = include_str!("../../sdk/model/user_token/keys/rsa2048.private.pem");

/// Every call about a person, with a body that would be taken.
fn calls(user: &str) -> [(Method, String, Value); 6] {
    let event = json!({"type": "dismiss", "messageId": "00000000-0000-7000-8000-0000000cdead", "userId": user, "platform": "web"});
    [
        (
            Method::POST,
            "/v1/devices".to_owned(),
            json!({"userId": user, "token": unique("t"), "platform": "ios"}),
        ),
        (Method::DELETE, "/v1/devices/a-token".to_owned(), Value::Null),
        (Method::GET, format!("/v1/in-app/messages?userId={user}&platform=web"), Value::Null),
        (Method::POST, "/v1/in-app/events".to_owned(), event),
        (
            Method::POST,
            "/v1/subscriptions/channel".to_owned(),
            json!({"userId": user, "channel": "push", "status": "optedIn"}),
        ),
        (
            Method::POST,
            "/v1/subscriptions/group".to_owned(),
            json!({"userId": user, "listId": "00000000-0000-7000-8000-00000000dead", "channel": "email", "status": "subscribed"}),
        ),
    ]
}

/// The refusals of all of them by this app.
async fn refused(device: &Device, user: &str, status: u16) -> Vec<String> {
    let mut messages = Vec::new();
    for (method, path, body) in calls(user) {
        if status == 403 && method == Method::DELETE {
            continue;
        }
        let request = device.request(method, &path).json(&body);
        let answer = device.http.send(request, status).await.json();
        messages.push(answer["message"].as_str().unwrap().to_owned());
    }
    messages.dedup();
    messages
}

#[tokio::test]
async fn calls_about_a_person_need_their_user_token() {
    let workspace = Workspace::new().await;
    let elsewhere = Device::of(&Workspace::new().await).await;
    let device = Device::of(&workspace).await;
    let (ann, ann_id) = person(&workspace, json!({})).await;
    let (bob, _) = person(&workspace, json!({})).await;
    assert_eq!(refused(&device, &ann, 401).await, ["user token is required"]);
    let expired = device.signed(&json!({"sub": ann, "exp": now_s() - 60}));
    let expired = refused(&device.with_token(&expired), &ann, 401).await;
    assert_eq!(expired, ["user token has expired"]);
    let long = device.signed(&json!({"sub": ann, "exp": now_s() + 86_400 + 120}));
    let long = refused(&device.with_token(&long), &ann, 401).await;
    assert_eq!(long, ["user token must expire within 24 hours"]);
    let foreign = elsewhere.signed(&json!({"sub": ann, "exp": now_s() + 60}));
    for wrong in ["", "a.b.c", &foreign] {
        let invalid = refused(&device.with_token(wrong), &ann, 401).await;
        assert_eq!(invalid, ["user token is invalid"], "{wrong}");
    }
    let twice = device.by(&ann).request(Method::DELETE, "/v1/devices/t");
    device.http.send(twice.header("x-user-token", "a.b.c"), 401).await;
    let another = ["the user token is another person's"];
    for user in [bob.as_str(), "unknown-user"] {
        assert_eq!(refused(&device.by(&ann), user, 403).await, another, "{user}");
    }
    // A user token whose subject is an internal id matches no profile.
    assert_eq!(refused(&device.by(&ann_id), &ann, 403).await, another);
    let own = json!({"userId": ann_id, "channel": "push", "status": "optedIn"});
    device.by(&ann_id).post("/v1/subscriptions/channel", &own, 404).await;
    for name in [&ann, &ann_id] {
        let own = json!({"userId": name, "channel": "push", "status": "optedIn"});
        device.by(&ann).post("/v1/subscriptions/channel", &own, 200).await;
    }
}

#[tokio::test]
async fn a_device_is_removed_only_by_its_owner() {
    let workspace = Workspace::new().await;
    let device = Device::of(&workspace).await;
    let (ann, _) = person(&workspace, json!({})).await;
    let (bob, _) = person(&workspace, json!({})).await;
    let token = unique("token");
    let body = json!({"userId": ann, "token": token, "platform": "ios"});
    device.by(&ann).post("/v1/devices", &body, 201).await;
    let path = format!("/v1/devices/{token}");
    for other in [bob.as_str(), "unknown-user"] {
        let refused = device.by(other).delete(&path, 403).await.json();
        assert_eq!(refused["message"], "the device is another person's");
    }
    device.by(&ann).delete(&path, 200).await;
    device.by(&bob).delete(&path, 404).await;
}

/// Whether a token opens a call about its person.
async fn status(device: &Device, token: &str, user: &str) -> u16 {
    let path = format!("/v1/in-app/messages?userId={user}&platform=web");
    let request = device.with_token(token).request(Method::GET, &path);
    request.send().await.unwrap().status().as_u16()
}

async fn until(device: &Device, token: &str, user: &str, expected: u16) {
    eventually("the change is known", || async {
        (status(device, token, user).await == expected).then_some(())
    })
    .await;
}

#[tokio::test]
async fn sdk_keys_are_created_and_revoked_while_the_server_runs() {
    let (workspace, other) = (Workspace::new().await, Workspace::new().await);
    let (device, elsewhere) = (Device::of(&workspace).await, Device::of(&other).await);
    let (ann, _) = person(&workspace, json!({})).await;
    other.api.post("/users", &json!({"externalId": ann}), 201).await;
    let claims = json!({"sub": ann, "exp": now_s() + 600});
    let rsa = EncodingKey::from_rsa_pem(RSA_PRIVATE.as_bytes()).unwrap();
    let p256 = EncodingKey::from_ec_pem(P256_PRIVATE.as_bytes()).unwrap();
    for (algorithm, key, pem) in [(Algorithm::ES256, p256, P256), (Algorithm::RS256, rsa, RSA)] {
        let token = signed(algorithm, &claims, &key);
        let confused = signed(Algorithm::HS256, &claims, &EncodingKey::from_secret(pem.as_bytes()));
        assert_eq!(status(&device, &token, &ann).await, 401);
        let id = workspace.id;
        let add = async move |app: App| {
            let now = Clock::system().now();
            let first = token_keys::add(app.db(), id, now, pem).await.unwrap();
            let again = token_keys::add(app.db(), id, now, pem).await.unwrap();
            assert_eq!(first, again);
            assert!(token_keys::list(app.db(), id).await.unwrap().iter().any(|it| it.key == first));
            first.id
        };
        let key = server().with(add).await;
        until(&device, &token, &ann, 200).await;
        assert_eq!(status(&device, &confused, &ann).await, 401, "a public key is no secret");
        assert_eq!(status(&elsewhere, &token, &ann).await, 401, "another workspace's");
        let remove = async move |app: App| {
            token_keys::remove(app.db(), &key).await.unwrap();
            token_keys::remove(app.db(), &key).await.unwrap_err().to_string()
        };
        assert_eq!(server().with(remove).await, "Key not found");
        until(&device, &token, &ann, 401).await;
    }
}

#[tokio::test]
async fn a_replaced_token_secret_is_valid_for_a_day_and_stored_encrypted() {
    let workspace = Workspace::new().await;
    let device = Device::of(&workspace).await;
    let (ann, _) = person(&workspace, json!({})).await;
    let claims = json!({"sub": ann, "exp": now_s() + 600});
    let old = device.signed(&claims);
    assert_eq!(status(&device, &old, &ann).await, 200);
    let id = workspace.id;
    let rotate = async move |app: App| {
        let now = Clock::system().now();
        let new = token_keys::rotate(app.db(), app.vault(), id, now).await.unwrap();
        let current = token_keys::secret(app.db(), app.vault(), id, now).await.unwrap();
        assert_eq!(new.expose_secret(), current.expose_secret());
        let rows: Vec<String> =
            sqlx::query_scalar("select s::text from sdk_secret s where workspace_id = $1")
                .bind(id.uuid())
                .fetch_all(app.db())
                .await
                .unwrap();
        assert_eq!(rows.len(), 2);
        assert!(!rows.concat().contains(new.expose_secret()));
        new.expose_secret().to_owned()
    };
    let secret = server().with(rotate).await;
    let new = signed(Algorithm::HS256, &claims, &EncodingKey::from_secret(secret.as_bytes()));
    until(&device, &new, &ann, 200).await;
    assert_eq!(status(&device, &old, &ann).await, 200);
    let retire = async move |app: App| {
        sqlx::query("update sdk_secret set retires_at = now() where workspace_id = $1 and retires_at is not null")
            .bind(id.uuid())
            .execute(app.db())
            .await
            .unwrap();
    };
    server().with(retire).await;
    until(&device, &old, &ann, 401).await;
    assert_eq!(status(&device, &new, &ann).await, 200);
    let rotate_often = async move |app: App| {
        let now = Clock::system().now();
        for _ in 1..token_keys::SECRETS_MAX {
            token_keys::rotate(app.db(), app.vault(), id, now).await.unwrap();
        }
        token_keys::rotate(app.db(), app.vault(), id, now).await.unwrap_err().to_string()
    };
    assert!(server().with(rotate_often).await.starts_with("5 secrets of this workspace"));
}

#[tokio::test]
async fn the_command_line_prints_token_secrets_and_keeps_keys() {
    let data_dir = data_dir("sdk-command");
    let run = async |arguments: &[&str]| millrace(&data_dir, arguments).await;
    run(&["keys", "create", "--workspace", "w", "--sdk"]).await;
    let secret = run(&["sdk", "secret", "--workspace", "w"]).await;
    assert_eq!(secret.status, 0, "{}", secret.stderr);
    assert!(secret.stdout.starts_with("mrt_") && secret.stdout.lines().count() == 1);
    assert_eq!(run(&["sdk", "secret", "--workspace", "w"]).await.stdout, secret.stdout);
    let rotated = run(&["sdk", "secret", "--workspace", "w", "--rotate"]).await.stdout;
    assert!(rotated.starts_with("mrt_") && rotated != secret.stdout);
    let file = data_dir.join("key.pem");
    let path = file.to_str().unwrap();
    let add = ["sdk", "keys", "add", "--workspace", "w", path];
    std::fs::write(&file, P256).unwrap();
    let id = run(&add).await.stdout.trim().to_owned();
    let list = run(&["sdk", "keys", "list", "--workspace", "w"]).await.stdout;
    assert!(list.contains(&id) && list.contains("ES256"), "{list}");
    for (wrong, words) in [
        (P256_PRIVATE, "is a private key"),
        ("nonsense", "must be one PEM block"),
        (&"x".repeat(16_385), "has more than 16384 bytes"),
    ] {
        std::fs::write(&file, wrong).unwrap();
        let refused = run(&add).await;
        assert_eq!(refused.status, 1, "{}", refused.stdout);
        assert!(refused.stderr.contains(words), "{}", refused.stderr);
        assert!(!refused.stderr.contains("BEGIN PRIVATE KEY"), "{}", refused.stderr);
    }
    assert_eq!(run(&["sdk", "keys", "remove", &id]).await.status, 0);
    assert_eq!(run(&["sdk", "keys", "remove", &id]).await.status, 1);
    for nowhere in [&["sdk", "secret", "--workspace", "x"][..], &add[..4]] {
        assert_ne!(run(nowhere).await.status, 0);
    }
    let session =
        run(&["sessions", "create", "--workspace", "w", "--actor", "ann", "--scopes", "*"]).await;
    let token = session.stdout.trim();
    assert_eq!(run(&["sessions", "revoke", "--workspace", "w", token]).await.status, 0);
    assert_eq!(run(&["sessions", "revoke", "--workspace", "w", "--actor", "ann"]).await.status, 0);
    assert_eq!(run(&["sessions", "revoke", "--workspace", "w"]).await.status, 2);
}

/// Signs `{"sub": …, "exp": …}` as the README of the SDK does it.
async fn token_made_by(program: &str, script: &str, secret: &str, user: &str) -> Option<String> {
    let output = tokio::process::Command::new(program)
        .args([if program == "node" { "-e" } else { "-c" }, script])
        .env("MILLRACE_SDK_SECRET", secret)
        .env("USER_ID", user)
        .output()
        .await
        .ok()?;
    if !output.status.success() {
        eprintln!("SKIPPED {program}: {}", String::from_utf8_lossy(&output.stderr));
        return None;
    }
    Some(String::from_utf8(output.stdout).unwrap().trim().to_owned())
}

/// The code of a language in the SDK's README.
fn example(language: &str) -> String {
    let readme = include_str!("../../sdk/README.md");
    let (_, rest) = readme.split_once(&format!("```{language}\n")).expect("an example");
    rest.split_once("```").unwrap().0.to_owned()
}

#[tokio::test]
async fn the_readme_examples_create_valid_user_tokens() {
    let workspace = Workspace::new().await;
    let device = Device::of(&workspace).await;
    let (ann, _) = person(&workspace, json!({})).await;
    let node = example("js") + "\nconsole.log(userToken(process.env.USER_ID))";
    let python = example("python") + "\nprint(user_token(os.environ[\"USER_ID\"]))";
    for (program, script) in [("node", node), ("python3", python)] {
        if let Some(token) = token_made_by(program, &script, &device.secret, &ann).await {
            assert_eq!(status(&device, &token, &ann).await, 200, "{program}: {token}");
        }
    }
    // What stands in the README, word for word but for where the secret comes from.
    let rust = example("rust");
    let secret = device.secret.clone();
    let user_token = |user_id: &str| {
        let claims = json!({"sub": user_id, "exp": jsonwebtoken::get_current_timestamp() + 3600});
        let key = EncodingKey::from_secret(secret.as_bytes());
        jsonwebtoken::encode(&jsonwebtoken::Header::default(), &claims, &key).unwrap()
    };
    for line in [
        r#"let claims = serde_json::json!({"sub": user_id, "exp": jsonwebtoken::get_current_timestamp() + 3600});"#,
        "jsonwebtoken::EncodingKey::from_secret(secret.as_bytes());",
        "jsonwebtoken::encode(&jsonwebtoken::Header::default(), &claims, &key).unwrap()",
    ] {
        assert!(rust.contains(line), "{line}");
    }
    assert_eq!(status(&device, &user_token(&ann), &ann).await, 200);
}

#[tokio::test]
async fn a_user_token_is_no_credential_by_itself() {
    let workspace = Workspace::new().await;
    let device = Device::of(&workspace).await;
    let (ann, _) = person(&workspace, json!({})).await;
    let token = device.signed(&json!({"sub": ann, "exp": now_s() + 60}));
    let client = Client::anonymous();
    for path in ["/users", "/subscriptions/contacts/000000000000000000000000"] {
        client.send(client.request(Method::GET, path).bearer_auth(&token), 401).await;
        client.send(client.request(Method::GET, path).header("x-user-token", &token), 401).await;
    }
    let alone = client.request(Method::DELETE, "/v1/devices/t").header("x-user-token", &token);
    assert_eq!(client.send(alone, 401).await.json()["message"], "Missing SDK key");
}
