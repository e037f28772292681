//! The page's template over the API: modes, sizes, the form slot, permissions.

use reqwest::Method;
use serde_json::{Value, json};

use super::fixture::Fixture;
use crate::kit::{Client, MILLRACE, Workspace, server};

const PATH: &str = "/subscriptions/hosted-page/preference-center";
const PREVIEW: &str = "/subscriptions/hosted-page/preview";
const SLOT: &str = "{{ preferences_form }}";

fn html(bytes: usize) -> String {
    format!("{SLOT}{}", "x".repeat(bytes - SLOT.len()))
}

#[tokio::test]
async fn before_the_first_save_the_template_is_the_built_in_page() {
    let workspace = Workspace::new().await;
    assert_eq!(
        workspace.api.get(PATH, 200).await.json(),
        json!({"type": "preference_center", "mode": "default", "html": "", "redirectUrl": "",
               "designJson": null, "updatedAt": null})
    );
}

#[tokio::test]
async fn a_patch_keeps_fields_it_does_not_name() {
    let page = Fixture::new().await;
    let saved = page.template(json!({"mode": "custom", "html": SLOT}), 200).await;
    assert_eq!((&saved["mode"], &saved["html"]), (&json!("custom"), &json!(SLOT)));
    assert!(saved["updatedAt"].is_string());
    assert_eq!(page.api().get(PATH, 200).await.json(), saved);
    assert_eq!(page.template(json!({}), 200).await, saved);
    let saved = page.template(json!({"redirectUrl": "https://example.test/bye"}), 200).await;
    assert_eq!((&saved["mode"], &saved["html"]), (&json!("custom"), &json!(SLOT)));
    // Another mode keeps the html, and clears the editor's document unless it is the editor's mode.
    let saved = page.template(json!({"mode": "dnd", "designJson": {"rows": [1]}}), 200).await;
    assert_eq!((&saved["html"], &saved["designJson"]), (&json!(SLOT), &json!({"rows": [1]})));
    let saved = page.template(json!({"html": format!("a{SLOT}")}), 200).await;
    assert_eq!(saved["designJson"], json!({"rows": [1]}));
    let saved = page.template(json!({"mode": "redirect"}), 200).await;
    assert_eq!(saved["designJson"], Value::Null);
    assert_eq!(saved["redirectUrl"], "https://example.test/bye");
    for mode in ["default", "custom", "redirect"] {
        let saved = page.template(json!({"mode": mode, "designJson": {"a": 1}}), 200).await;
        assert_eq!(saved["designJson"], Value::Null, "{mode}");
    }
    let saved =
        page.template(json!({"mode": "default", "html": null, "redirectUrl": null}), 200).await;
    assert_eq!((&saved["html"], &saved["redirectUrl"]), (&json!(""), &json!("")));
}

#[tokio::test]
async fn template_modes_need_the_form_slot_and_valid_liquid() {
    let page = Fixture::new().await;
    let missing = "html must include the {{ preferences_form }} slot";
    for mode in ["custom", "dnd"] {
        for slot in ["{{preferences_form}}", "{{-  preferences_form\n-}}", SLOT] {
            page.template(json!({"mode": mode, "html": format!("<p>{slot}</p>")}), 200).await;
        }
        for no_slot in [
            "",
            "<p>x</p>",
            "{% comment %}{{ preferences_form }}{% endcomment %}",
            "preferences_form",
        ] {
            let refused = page.template(json!({"mode": mode, "html": no_slot}), 400).await;
            assert_eq!(refused["errors"], json!([missing]), "{no_slot}");
        }
        let wrong = format!("{SLOT}\n\n{{% if x %}}");
        let refused = page.template(json!({"mode": mode, "html": wrong}), 400).await;
        let error = refused["errors"][0].as_str().unwrap();
        assert!(
            error.starts_with("html is not valid Liquid: ") && error.contains("line 3"),
            "{error}"
        );
    }
    // In a mode that does not show it, html may be anything; going over to a mode that shows it may not.
    let page = Fixture::new().await;
    page.template(json!({"html": "draft"}), 200).await;
    let refused = page.template(json!({"mode": "custom"}), 400).await;
    assert_eq!(refused["errors"], json!([missing]));
    assert_eq!(page.api().get(PATH, 200).await.json()["mode"], "default");
}

#[tokio::test]
async fn sizes_are_accepted_at_the_limit_and_refused_beyond() {
    let page = Fixture::new().await;
    page.template(json!({"mode": "custom", "html": html(102_400)}), 200).await;
    let refused = page.template(json!({"html": html(102_401)}), 400).await;
    assert_eq!(refused["errors"], json!(["html must be at most 102400 bytes, received 102401"]));
    // Bytes, not characters.
    let refused =
        page.template(json!({"html": format!("{SLOT}{}", "ä".repeat(51_200))}), 400).await;
    assert_eq!(refused["errors"], json!(["html must be at most 102400 bytes, received 102422"]));

    let url = |chars: usize| format!("https://example.test/{}", "a".repeat(chars - 21));
    page.template(json!({"redirectUrl": url(2048)}), 200).await;
    let refused = page.template(json!({"redirectUrl": url(2049)}), 400).await;
    assert_eq!(refused["errors"], json!(["redirectUrl must be at most 2048 characters"]));

    let design = |bytes: usize| json!({"a": "x".repeat(bytes - 8)});
    page.template(json!({"mode": "dnd", "designJson": design(1 << 20)}), 200).await;
    let refused = page.template(json!({"designJson": design((1 << 20) + 1)}), 400).await;
    assert_eq!(
        refused["errors"],
        json!(["designJson must be at most 1048576 bytes, received 1048577"])
    );
}

#[tokio::test]
async fn redirect_mode_needs_an_http_url() {
    let page = Fixture::new().await;
    let refused = page.template(json!({"mode": "redirect"}), 400).await;
    let needed = "redirectUrl must be an http:// or https:// URL for the mode redirect";
    assert_eq!(refused["errors"], json!([needed]));
    for bad in
        ["javascript:alert(1)", "//example.test", "/bye", "ftp://example.test", "https://", "x"]
    {
        let refused = page.template(json!({"redirectUrl": bad}), 400).await;
        assert_eq!(
            refused["errors"],
            json!(["redirectUrl must be an http:// or https:// URL"]),
            "{bad}"
        );
    }
    for good in ["http://example.test", "https://example.test/a?b#c"] {
        page.template(json!({"mode": "redirect", "redirectUrl": good}), 200).await;
    }
    let refused = page.template(json!({"redirectUrl": ""}), 400).await;
    assert_eq!(refused["errors"], json!([needed]));
}

#[tokio::test]
async fn every_field_of_every_wrong_type_is_named_once_and_in_order() {
    let page = Fixture::new().await;
    let fields = ["mode", "html", "redirectUrl", "designJson"];
    for wrong in [json!(7), json!(true), json!([1])] {
        let body: Value = fields.iter().map(|field| ((*field).to_owned(), wrong.clone())).collect();
        let errors = page.template(body, 400).await["errors"].clone();
        let named: Vec<&str> = errors
            .as_array()
            .unwrap()
            .iter()
            .map(|e| e.as_str().unwrap().split(' ').next().unwrap())
            .collect();
        assert_eq!(named, fields, "{wrong}");
    }
    for (body, error) in [
        (json!({"mode": "other"}), "mode must be one of: default, custom, dnd, redirect"),
        (json!({"html": "a\0"}), "html must not contain NUL characters"),
        (json!({"designJson": {"a": ["\0"]}}), "designJson must not contain NUL characters"),
        (json!({"designJson": "{}"}), "designJson must be an object"),
    ] {
        assert_eq!(page.template(body, 400).await["errors"], json!([error]));
    }
    for body in [json!({}), json!({"html": null}), json!({"html": 7})] {
        let errors = page.api().post(PREVIEW, &body, 400).await.errors();
        assert!(errors[0].starts_with("html "), "{errors:?}");
    }
    page.api().post_bytes(PREVIEW, "nonsense", 400).await;
    assert_eq!(page.api().get(PATH, 200).await.json()["updatedAt"], Value::Null);
}

async fn preview(workspace: &Workspace, html: &str) -> String {
    let answer = workspace.api.post(PREVIEW, &json!({"html": html}), 200).await.json();
    answer["html"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_preview_is_rendered_with_sample_data_and_the_form() {
    let workspace = Workspace::new().await;
    let html = preview(
        &workspace,
        "<h1>Hi {{ user.firstName }} {{ nope }}</h1>{{ preferences_form }}<p>end</p>",
    )
    .await;
    assert!(html.starts_with("<h1>Hi Ann </h1>"), "{html}");
    assert!(html.ends_with("<p>end</p>"), "{html}");
    assert!(html.contains("<form method=\"post\"") && html.contains("Unsubscribe from everything"));
    assert!(!html.contains("{{"), "{html}");
    // Without the slot the form is appended.
    let html = preview(&workspace, "<p>only this</p>").await;
    assert!(html.starts_with("<p>only this</p>") && html.contains("<form"), "{html}");
    for source in ["{{ firstName }}", "{{ user.attributes.firstName }}"] {
        assert!(preview(&workspace, source).await.starts_with("Ann"), "{source}");
    }
    let lists =
        preview(&workspace, "{% for l in lists %}[{{ l.name }}:{{ l.subscribed }}]{% endfor %}")
            .await;
    assert!(lists.starts_with("[News:true][Offers:true]"), "{lists}");
}

#[tokio::test]
async fn a_preview_is_sanitized() {
    let workspace = Workspace::new().await;
    for attack in [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "<a href=\"javascript:alert(1)\">x</a>",
        "<iframe srcdoc=\"alert(1)\"></iframe>",
        "<form action=\"https://evil.test\"><input name=alert(1)></form>",
        "<svg><style><img src=x onerror=alert(1)></style></svg>",
        "<style>@import 'https://alert(1)'</style>",
        "{{ '<script>alert(1)</script>' }}<b title=\"{{ preferences_form }}\">x</b>",
        "{% raw %}<script>alert(1)</script>{% endraw %}",
        "{% assign a = '<scr' %}{{ a }}ipt>alert(1)</script>",
    ] {
        let html = preview(&workspace, attack).await;
        let plain = html
            .replace("&lt;script&gt;alert(1)&lt;/script&gt;", "")
            .replace("&lt;script&gt;alert(1)", "")
            .replace("&lt;script&gt;alert(1)", "")
            .replace("&lt;script&gt;", "")
            .replace("&lt;scr", "")
            .replace("ipt&gt;alert(1)", "");
        assert!(!plain.contains("alert(1)"), "{attack}\n{html}");
        assert!(!html.contains("evil.test") && !html.contains("<script"), "{attack}\n{html}");
        assert_eq!(html.matches("class=\"mp-form\"").count(), 1, "{attack}");
    }
}

#[tokio::test]
async fn a_failed_preview_has_a_reason() {
    let workspace = Workspace::new().await;
    for (html, word) in [
        ("a\n{{ b", "line 2"),
        ("{% if %}", "line 1"),
        ("{{ x | nope }}", "line 1"),
        ("{% include 'x' %}", "line 1"),
        ("{% for i in (1..10000000000) %}x{% endfor %}", "turn more than"),
        (
            "{% assign a = 'xxxxxxxxxx' %}{% for i in (1..40) %}{% assign a = a | append: a %}{% endfor %}",
            "value of more than",
        ),
        ("{{ 1 | divided_by: 0 }}", "cannot be rendered"),
    ] {
        let errors = workspace.api.post(PREVIEW, &json!({"html": html}), 400).await.errors();
        assert_eq!(errors.len(), 1);
        assert!(errors[0].starts_with("html ") && errors[0].contains(word), "{html}: {errors:?}");
    }
    workspace.api.post(PREVIEW, &json!({"html": html(102_400)}), 200).await;
    workspace.api.post(PREVIEW, &json!({"html": html(102_401)}), 400).await;
    workspace.api.post(PREVIEW, &json!({"html": ""}), 200).await;
}

#[tokio::test]
async fn page_settings_check_scopes_workspaces_and_sessions() {
    let (page, other) = (Fixture::new().await, Workspace::new().await);
    page.template(json!({"mode": "custom", "html": SLOT}), 200).await;
    assert_eq!(other.api.get(PATH, 200).await.json()["mode"], "default");
    let reader = page.workspace.with_scopes("settings:read").await;
    let writer = page.workspace.with_scopes("settings:write").await;
    let outsider = page.workspace.with_scopes("users:*,compliance:*,campaigns:*").await;
    let put = |client: &Client| client.request(Method::PUT, PATH).json(&json!({}));
    reader.get(PATH, 200).await;
    reader.post(PREVIEW, &json!({"html": "x"}), 200).await;
    assert_eq!(
        reader.send(put(&reader), 403).await.json()["message"],
        "Missing required scope: settings:write"
    );
    writer.send(put(&writer), 200).await;
    writer.get(PATH, 403).await;
    writer.post(PREVIEW, &json!({"html": "x"}), 403).await;
    outsider.get(PATH, 403).await;
    outsider.send(put(&outsider), 403).await;
    for anonymous in
        [Client::anonymous(), Client::new(&server().url, Some("mr_abcdefghijkl_nonsense"))]
    {
        anonymous.get(PATH, 401).await;
        anonymous.send(put(&anonymous), 401).await;
        anonymous.post(PREVIEW, &json!({"html": "x"}), 401).await;
    }
    // A dashboard session is as good as a key here, and not on /lists.
    let session = session(&page.workspace.name).await;
    assert_eq!(session.get(PATH, 200).await.json()["mode"], "custom");
    session.send(put(&session), 200).await;
    session.post(PREVIEW, &json!({"html": "x"}), 200).await;
    session.get("/lists", 401).await;
}

/// A client with a session token, made by the command.
async fn session(workspace: &str) -> Client {
    let output = tokio::process::Command::new(MILLRACE)
        .args([
            "sessions",
            "create",
            "--workspace",
            workspace,
            "--actor",
            "ann",
            "--scopes",
            "settings:*",
        ])
        .env("MILLRACE_DATA_DIR", &server().data_dir)
        .env_remove("DATABASE_URL")
        .output()
        .await
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Client::new(&server().url, Some(String::from_utf8(output.stdout).unwrap().trim()))
}

#[tokio::test]
async fn concurrent_saves_of_page_settings_keep_both_changes() {
    let page = Fixture::new().await;
    let url = json!({"redirectUrl": "https://example.test"});
    let html = json!({"html": "x"});
    tokio::join!(page.template(url, 200), page.template(html, 200));
    let saved = page.api().get(PATH, 200).await.json();
    assert_eq!(
        (&saved["redirectUrl"], &saved["html"]),
        (&json!("https://example.test"), &json!("x"))
    );
}
