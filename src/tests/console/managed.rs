//! Segments, lists, suppressions, settings and health in a browser: they fit every screen, and rows come and go.

use serde_json::{Value, json};

use super::kit::link;
use crate::kit::{BrowserTab, Screen, Workspace, server};

const OVER: &str = "document.documentElement.scrollWidth - document.documentElement.clientWidth";

/// A workspace with long and hostile names in everything that the pages show, and the paths of the pages.
pub(super) async fn filled() -> (Workspace, Vec<String>) {
    let workspace = Workspace::new().await;
    let long = format!("<b>{}", "w".repeat(196));
    let right_to_left = "مرحبا بالعالم ".repeat(12);
    let ann = json!({"externalId": "ann", "email": "ann@example.test"});
    workspace.api.post("/users", &ann, 201).await;
    let filter =
        json!({"type": "attribute", "field": long, "operator": "in", "value": [long, "pro"]});
    let event = json!({"type": "event", "field": "Order Completed", "operator": "performed",
                       "value": {"count": {"op": "gte", "n": 2}, "withinDays": 30}});
    let body = json!({"name": long, "description": right_to_left,
                      "targeting": {"filterGroups": [{"filters": [filter, event]}]}});
    let segment = workspace.api.post("/segments", &body, 201).await.json();
    let body = json!({"name": right_to_left.trim(), "description": long});
    let list = workspace.api.post("/lists", &body, 201).await.json();
    let row = json!({"channel": "email", "identifier": format!("{}@example.test", "a".repeat(60))});
    workspace.api.post("/suppressions", &row, 201).await;
    workspace.api.post("/keys", &json!({"name": long, "scopes": ["*"]}), 201).await;
    let member =
        json!({"email": format!("{}@example.test", "m".repeat(60)), "name": long, "role": "owner"});
    let member = workspace.api.post("/members", &member, 201).await.json();
    let invitation = member["invitation"]["url"].as_str().unwrap();
    let domain = json!({"domain": format!("{}.example-of-{}.test", "d".repeat(60), workspace.id)});
    workspace.api.post("/sender-domains", &domain, 201).await;
    let of = |thing: &Value| thing["id"].as_str().unwrap().to_owned();
    let (segment, list) = (of(&segment), of(&list));
    let mut paths: Vec<String> = [
        "segments",
        "segments/new",
        "lists",
        "suppressions",
        "suppressions/import",
        "health",
        "settings/keys",
        "settings/channels",
        "settings/domains",
        "settings/members",
        "settings/audit",
    ]
    .map(str::to_owned)
    .to_vec();
    paths.extend([
        format!("segments/{segment}"),
        format!("segments/{segment}?tab=members"),
        format!("lists/{list}"),
        format!("lists/{list}?tab=settings"),
        "login".to_owned(),
        invitation.split("/console/").nth(1).unwrap().to_owned(),
    ]);
    (workspace, paths)
}

#[tokio::test]
async fn managed_pages_fit_every_screen() {
    let tab = match BrowserTab::open().await {
        Ok(tab) => tab,
        Err(reason) => return eprintln!("SKIPPED managed_pages_fit_every_screen: {reason}"),
    };
    let (workspace, paths) = filled().await;
    tab.go(link(&workspace, "*").await.as_str()).await;
    for path in paths {
        for (width, is_dark) in [(390, false), (768, true), (1440, false)] {
            tab.screen(Screen { width, height: 900, is_dark }).await;
            tab.go(&format!("{}/console/{path}", server().url)).await;
            assert_eq!(tab.value(OVER).await, json!(0), "{path} at {width}");
            let ids = "(() => { const all = [...document.querySelectorAll('[id]')].map((it) => it.id); \
                       return all.filter((id, at) => all.indexOf(id) !== at); })()";
            assert_eq!(tab.value(ids).await, json!([]), "{path}: an id is there twice");
            let unnamed = "[...document.querySelectorAll('main input:not([type=hidden]), main select, main textarea')]\
                           .filter((it) => !it.labels.length).map((it) => it.name)";
            assert_eq!(tab.value(unnamed).await, json!([]), "{path}: a field has no label");
        }
    }
    assert_eq!(tab.errors(), [""; 0]);
}

#[tokio::test]
async fn rows_of_a_segment_come_and_go_without_a_reload() {
    let tab = match BrowserTab::open().await {
        Ok(tab) => tab,
        Err(reason) => {
            return eprintln!("SKIPPED rows_of_a_segment_come_and_go_without_a_reload: {reason}");
        }
    };
    let workspace = Workspace::new().await;
    for (name, plan) in [("ann", "pro"), ("bob", "free")] {
        let body = json!({"externalId": name, "attributes": {"plan": plan}});
        workspace.api.post("/users", &body, 201).await;
    }
    tab.go(link(&workspace, "*").await.as_str()).await;
    tab.go(&format!("{}/console/segments/new", server().url)).await;
    tab.value("window.kept = true").await;
    // The number follows what is typed.
    tab.value(
        "(() => { for (const [name, text] of [['g0.r0.field', 'plan'], ['g0.r0.value', 'pro']]) {\
         const field = document.getElementById(name); field.value = text;\
         field.dispatchEvent(new Event('change', {bubbles: true})); } return true; })()",
    )
    .await;
    tab.until("document.getElementById('segment-count').textContent.includes('1 people match')")
        .await;
    tab.click("button.button[value='add-row 0']").await;
    tab.until("!!document.getElementById('g0.r1.type') && document.getElementById('g0.r0.value').value === 'pro'").await;
    // Another type brings its own fields.
    tab.value(
        "(() => { const type = document.getElementById('g0.r1.type'); type.value = 'event';\
         type.dispatchEvent(new Event('change', {bubbles: true})); return true; })()",
    )
    .await;
    tab.until("!!document.getElementById('g0.r1.times')").await;
    tab.click("button.button[value='remove-row 0 1']").await;
    tab.until("!document.getElementById('g0.r1.type')").await;
    assert_eq!(tab.value("window.kept").await, json!(true), "the page was not loaded anew");
    tab.value(
        "(() => { document.getElementById('name').value = 'Paying';\
         document.querySelector('button.primary[value=save]').click(); return true; })()",
    )
    .await;
    tab.until("document.title.startsWith('Paying')").await;
    let saved = workspace.api.get("/segments", 200).await.json();
    let filters = &saved["data"][0]["targeting"]["filterGroups"][0]["filters"];
    let filter =
        json!({"type": "attribute", "field": "plan", "operator": "equals", "value": "pro"});
    assert_eq!(*filters, json!([filter]));
    assert_eq!(tab.errors(), [""; 0]);
}
