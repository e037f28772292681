//! Pages under the W3C's checker of HTML.

use serde_json::Value;
use tokio::process::Command;

use super::kit::Person;
use crate::kit::{RUN_MAX, Workspace, npm, run_program, unique};

const CHECKER: &str = "vnu-jar@26.9.27";
/// What the checker does not know yet: `hx-` attributes are htmx's.
const FILTER: &str = r"Attribute “hx-[a-z-]+” not allowed on element .*";

/// Checks pages of a workspace as they leave the server.
pub(super) async fn check(workspace: &Workspace, paths: &[String]) {
    let folder = match npm("html-checker", &[CHECKER]).await {
        Ok(folder) => folder,
        Err(reason) => return eprintln!("SKIPPED {CHECKER}: {reason}"),
    };
    if let Err(reason) = run_program(Command::new("java").arg("-version"), RUN_MAX).await {
        return eprintln!("SKIPPED {CHECKER}: Java does not run: {reason}");
    }
    let pages = folder.join(unique("pages"));
    tokio::fs::create_dir_all(&pages).await.unwrap();
    let person = Person::signed_in(workspace, "*").await;
    for (number, path) in paths.iter().enumerate() {
        let page = person.get(path).await;
        tokio::fs::write(pages.join(format!("{number}.html")), page.text).await.unwrap();
    }
    // It would have found something.
    let faulty = "<!DOCTYPE html><html lang=en><title>x</title><ul><p>x</p></ul>";
    tokio::fs::write(pages.join("faulty.html"), faulty).await.unwrap();
    let mut checker = Command::new("java");
    checker
        .args(["-jar".as_ref(), folder.join("node_modules/vnu-jar/build/dist/vnu.jar").as_os_str()])
        .args(["--format", "json", "--stdout", "--exit-zero-always", "--errors-only"])
        .args(["--filterpattern", FILTER])
        .arg(&pages);
    let report = run_program(&mut checker, RUN_MAX * 4).await.unwrap();
    let report: Value = serde_json::from_str(&report).unwrap();
    tokio::fs::remove_dir_all(&pages).await.unwrap();
    let found: Vec<String> =
        report["messages"].as_array().unwrap().iter().map(|fault| named(fault, paths)).collect();
    assert!(found.iter().any(|fault| fault.starts_with("faulty:")), "{report:#}");
    let found: Vec<String> =
        found.into_iter().filter(|fault| !fault.starts_with("faulty:")).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// A fault with the address of its page.
fn named(fault: &Value, paths: &[String]) -> String {
    let file = fault["url"].as_str().unwrap().rsplit('/').next().unwrap();
    let name = file.trim_end_matches(".html");
    let path = name.parse().ok().and_then(|number: usize| paths.get(number));
    let (message, extract) = (&fault["message"], &fault["extract"]);
    format!("{}: {message} in {extract}", path.map_or(name, String::as_str))
}
