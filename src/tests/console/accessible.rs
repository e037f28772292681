//! Every page in a browser under axe-core: no violation, light and dark; and its HTML is valid.

use serde_json::json;
use tokio::sync::OnceCell;

use super::{explore, kit::link, managed, pages, valid_html};
use crate::kit::{BrowserTab, Screen, Workspace, npm, server};

const AXE: &str = "axe-core@4.11.0";

/// The script of axe-core.
async fn axe() -> Result<String, String> {
    static INSTALLED: OnceCell<Result<String, String>> = OnceCell::const_new();
    let install = async || {
        let folder = npm("axe", &[AXE]).await?;
        let script = folder.join("node_modules/axe-core/axe.min.js");
        tokio::fs::read_to_string(script).await.map_err(|it| it.to_string())
    };
    INSTALLED.get_or_init(install).await.clone()
}

const VIOLATIONS: &str = "axe.run(document, {resultTypes: ['violations']}).then((found) => \
    found.violations.flatMap((rule) => rule.nodes.map((node) => `${rule.id}: ${node.html} ${node.failureSummary}`)))";

/// Checks pages of a workspace.
pub(super) async fn check(workspace: &Workspace, paths: &[String]) {
    valid_html::check(workspace, paths).await;
    let script = match axe().await {
        Ok(script) => script,
        Err(reason) => return eprintln!("SKIPPED {AXE}: {reason}"),
    };
    let tab = match BrowserTab::open().await {
        Ok(tab) => tab,
        Err(reason) => return eprintln!("SKIPPED {AXE}: {reason}"),
    };
    tab.go(link(workspace, "*").await.as_str()).await;
    let mut found = Vec::new();
    for path in paths {
        for (width, is_dark) in [(1440, false), (390, true)] {
            tab.screen(Screen { width, height: 900, is_dark }).await;
            tab.go(&format!("{}{path}", server().url)).await;
            tab.value(&format!("{script}; null")).await;
            let violations = tab.value(VIOLATIONS).await;
            if violations != json!([]) {
                found.push(format!("{path} at {width}: {violations:#}"));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    // It would have found something.
    tab.value("document.documentElement.removeAttribute('lang')").await;
    let violations = tab.value(VIOLATIONS).await;
    assert!(violations[0].as_str().unwrap().starts_with("html-has-lang"), "{violations:#}");
}

#[tokio::test]
async fn empty_pages_break_no_rule_of_axe() {
    let workspace = Workspace::new().await;
    let mut paths = pages::of(&workspace).await;
    if cfg!(debug_assertions) {
        paths.push("/console/design".to_owned());
    }
    paths.extend(
        ["?tab=funnels", "?tab=retention", "?tab=sql"].map(|tab| format!("/console/explore{tab}")),
    );
    paths.push("/console/none/such".to_owned());
    check(&workspace, &paths).await;
}

#[tokio::test]
async fn filled_pages_break_no_rule_of_axe() {
    let (workspace, paths) = managed::filled().await;
    let mut paths: Vec<String> = paths.iter().map(|path| format!("/console/{path}")).collect();
    let ann = workspace.api.get("/users/by-user-id/ann", 200).await.json();
    let profile = format!("/console/people/{}", ann["id"].as_str().unwrap());
    paths.push("/console/people".to_owned());
    let tabs = ["", "?tab=attributes", "?tab=identifiers", "?tab=consent"];
    paths.extend(tabs.map(|tab| format!("{profile}{tab}")));
    check(&workspace, &paths).await;
}

#[tokio::test]
async fn answers_of_explore_break_no_rule_of_axe() {
    let workspace = explore::with_events().await;
    let of = |rest: &str| format!("/console/explore?{rest}&{}&answer=on", explore::RANGE);
    let paths = [
        of("tab=trends&event=Bought&metric=sum&field=total&breakdown=country"),
        of("tab=funnels&event=Signed%20Up&event=Bought"),
        of("tab=retention&event=Bought&interval=day&intervals=2"),
        of("tab=trends&event=Bought&metric=sum"),
        "/console/live".to_owned(),
        "/console".to_owned(),
    ];
    check(&workspace, &paths).await;
}
