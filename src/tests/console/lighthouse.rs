//! Pages under Lighthouse: accessibility and best practices. Its performance is a time, so it is measured by hand (see
//! `src/console/README.md`).

use serde_json::{Value, json};
use tokio::process::Command;

use super::{explore, kit::Person};
use crate::kit::{RUN_MAX, browser_program, npm, run_program, server};

const LIGHTHOUSE: &str = "lighthouse@12.8.2";
/// The least score of a category, of 1.
const SCORE_MIN: f64 = 0.95;

#[tokio::test]
async fn pages_score_95_in_accessibility_and_best_practices() {
    let name = "pages_score_95_in_accessibility_and_best_practices";
    let Some(browser) = browser_program() else {
        return eprintln!("SKIPPED {name}: Chromium is not installed");
    };
    let folder = match npm("lighthouse", &[LIGHTHOUSE]).await {
        Ok(folder) => folder,
        Err(reason) => return eprintln!("SKIPPED {name}: {reason}"),
    };
    let workspace = explore::with_events().await;
    let person = Person::signed_in(&workspace, "*").await;
    let headers = json!({"cookie": person.cookies()}).to_string();
    let question = "event=Bought&metric=sum&field=total&breakdown=country";
    for path in [
        "/console".to_owned(),
        format!("/console/explore?{question}&{}", explore::RANGE),
        "/console/campaigns/new".to_owned(),
        "/console/settings/members".to_owned(),
        "/console/login".to_owned(),
    ] {
        let mut lighthouse = Command::new(folder.join("node_modules/.bin/lighthouse"));
        lighthouse
            .arg(format!("{}{path}", server().url))
            .args(["--quiet", "--output=json", "--output-path=stdout"])
            .arg("--only-categories=accessibility,best-practices")
            .arg("--chrome-flags=--headless --no-sandbox --disable-dev-shm-usage")
            .arg(format!("--extra-headers={headers}"))
            .env("CHROME_PATH", &browser);
        let report = run_program(&mut lighthouse, RUN_MAX * 2).await.unwrap();
        let report: Value = serde_json::from_str(&report).unwrap();
        for category in ["accessibility", "best-practices"] {
            let score = report["categories"][category]["score"].as_f64().unwrap();
            assert!(score >= SCORE_MIN, "{path}: {category} {score}: {}", faults(&report));
        }
    }
}

/// The audits that a page does not pass.
fn faults(report: &Value) -> String {
    let audits = report["audits"].as_object().unwrap();
    let failed =
        audits.iter().filter(|(_, audit)| audit["score"].as_f64().is_some_and(|it| it < 1.0));
    let lines: Vec<String> =
        failed.map(|(id, audit)| format!("{id}: {}", audit["details"]["items"])).collect();
    lines.join("\n")
}
