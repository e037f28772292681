//! A workspace's template as recipients see it.

use serde_json::json;

use super::fixture::{Fixture, open, submit};

#[tokio::test]
async fn the_workspaces_template_contains_the_form() {
    let page = Fixture::new().await;
    let list = page.list(json!({"name": "News & <more>"})).await;
    let html = "<style>h1{color:#333}</style><h1>Hi {{ user.firstName | default: 'there' }}</h1>\
                <p>{{ user.email }} {{ nope }}</p>{% for l in lists %}<i>{{ l.name }}</i>{% endfor %}\
                <div>{{ preferences_form }}</div><footer>{{ workspace.name }}</footer>{% if saved %}thanks{% endif %}";
    for mode in ["custom", "dnd"] {
        page.template(json!({"mode": mode, "html": html}), 200).await;
        let path = page.preferences().await;
        let shown = open(&path).await;
        assert_eq!(shown.status, 200);
        for part in [
            "<style>h1{color:#333}</style><h1>Hi Ann</h1><p>ann@example.test </p>",
            "<i>Marketing</i><i>News &amp; &lt;more&gt;</i>",
            &format!("<footer>{}</footer>", page.workspace.name),
        ] {
            assert!(shown.html.contains(part), "{part}\n{}", shown.html);
        }
        let name = format!("list.{list}.email");
        assert!(shown.boxes().contains_key(&name), "{:?}", shown.boxes());
        assert!(!shown.html.contains("thanks"));
        let saved = submit(&path, &shown.form(&["channel.email", &name])).await;
        assert!(saved.html.contains("thanks") && saved.html.contains("Saved."), "{}", saved.html);
        assert_eq!(page.membership(list, "email").await, "subscribed");
    }
}

#[tokio::test]
async fn scripts_in_profiles_and_templates_cannot_run() {
    let attack = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>";
    let page = Fixture::with(
        Some("ann@example.test"),
        None,
        json!({"firstName": attack, "site": "javascript:alert(1)", "user": attack, "preferences_form": attack,
               "color": "red}</style><script>alert(1)</script>"}),
    )
    .await;
    page.list(json!({"name": attack, "description": attack})).await;
    let html = "<script>alert(1)</script><p title=\"{{ firstName }}\">{{ firstName }}</p>\
                <a href=\"{{ site }}\">a</a><a href={{ site }}>b</a><style>p{color:{{ color }}}</style>\
                <p onclick=\"{{ firstName }}\" style=\"color:{{ color }}\">{{ user.firstName }}</p>\
                {% for l in lists %}{{ l.name }}{{ l.description }}{% endfor %}\
                <form action=\"https://evil.test\">{{ preferences_form }}</form>\
                <textarea>{{ firstName }}</textarea><!-- {{ firstName }} -->";
    page.template(json!({"mode": "custom", "html": html}), 200).await;
    let shown = open(&page.preferences().await).await.html;
    for bad in ["<script", "<img", "javascript:", "evil.test", "onclick", "<textarea"] {
        assert!(!shown.contains(bad), "{bad}: {shown}");
    }
    assert_eq!(shown.matches("class=\"mp-form\"").count(), 1);
}

#[tokio::test]
async fn a_failing_template_falls_back_to_the_built_in_page() {
    let page =
        Fixture::with(Some("ann@example.test"), None, json!({"zero": 0, "many": 10_000_000})).await;
    for html in [
        "{{ preferences_form }}{{ 1 | divided_by: user.zero }}",
        "{{ preferences_form }}{% for i in (1..user.many) %}x{% endfor %}",
    ] {
        page.template(json!({"mode": "custom", "html": html}), 200).await;
        let shown = open(&page.preferences().await).await;
        assert_eq!(shown.status, 200);
        assert!(shown.html.contains("Your preferences"), "{}", shown.html);
        assert!(!shown.boxes().is_empty());
    }
}
