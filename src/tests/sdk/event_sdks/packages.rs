//! The official packages for servers, used as in the README. Where their registries are out of reach, the tests are
//! skipped.

use std::path::PathBuf;

use tokio::{process::Command, sync::OnceCell};

use super::{
    examples::example,
    segment::{identities, properties},
    *,
};
use crate::kit::{self, RUN_MAX, npm, run_program};

/// Packages of Node and their versions.
const NODE: [&str; 3] =
    ["@segment/analytics-node@3.1.0", "@rudderstack/rudder-sdk-node@3.0.13", "posthog-node@5.70.0"];
/// Packages of Python and their versions.
const PYTHON: [&str; 3] =
    ["segment-analytics-python==2.4.0", "rudder-sdk-python==2.1.9", "posthog==7.91.1"];

/// Where Node's packages are.
pub(super) async fn node() -> Result<PathBuf, String> {
    static INSTALLED: OnceCell<Result<PathBuf, String>> = OnceCell::const_new();
    INSTALLED.get_or_init(|| npm("sdk-node", &NODE)).await.clone()
}

/// The Python that has the packages.
pub(super) async fn python() -> Result<PathBuf, String> {
    static INSTALLED: OnceCell<Result<PathBuf, String>> = OnceCell::const_new();
    INSTALLED.get_or_init(|| kit::python("sdk-python", &PYTHON)).await.clone()
}

/// Runs the README's example against the server; false where the package cannot be had.
async fn runs(package: &str, key: &str) -> bool {
    let code = example(package, key);
    let is_python = PYTHON.iter().any(|it| it.starts_with(package));
    let mut command = match if is_python { python().await } else { node().await } {
        Ok(python) if is_python => {
            let mut command = Command::new(python);
            command.arg("-c").arg(code);
            command
        }
        Ok(folder) => {
            let mut command = Command::new("node");
            command.arg("-e").arg(code).current_dir(folder);
            command
        }
        Err(reason) => {
            eprintln!("SKIPPED {package}: {reason}");
            return false;
        }
    };
    run_program(&mut command, RUN_MAX).await.unwrap_or_else(|errors| panic!("{package}: {errors}"));
    true
}

/// What every example does: it identifies ann and sends an event of hers.
async fn arrived(workspace: &Workspace, event_name: &str) -> Value {
    let user = profile(workspace, "ann", |it| it["attributes"]["plan"] == "pro").await;
    assert_eq!(user["email"], "ann@example.test");
    let events = events(workspace, "ann", 1).await;
    assert_eq!(events[0]["event_name"], event_name, "{events:?}");
    events[0].clone()
}

#[tokio::test]
async fn segments_and_rudderstacks_packages_work_with_a_change_of_host() {
    for package in [
        "@segment/analytics-node",
        "@rudderstack/rudder-sdk-node",
        "segment-analytics-python",
        "rudder-sdk-python",
    ] {
        let workspace = Workspace::new().await;
        let sender = Sender::of(&workspace, "events:write,users:write").await;
        if !runs(package, &sender.key).await {
            continue;
        }
        let event = arrived(&workspace, "Order Completed").await;
        let order = properties(&event);
        assert_eq!(
            (&order["orderId"], &order["total"]),
            (&json!("1001"), &json!(49.9)),
            "{package}"
        );
        assert!(order["context"]["library"]["name"].is_string(), "{package}: {order}");
        let ids = identities(&workspace, "ann", 3).await;
        assert_eq!(ids[2], ("anonymous".to_owned(), "anon-1".to_owned()), "{package}");
    }
}

#[tokio::test]
async fn posthogs_packages_work_with_a_change_of_host() {
    for package in ["posthog-node", "posthog"] {
        let workspace = Workspace::new().await;
        let sender = Sender::of(&workspace, "events:write,users:write").await;
        if !runs(package, &sender.key).await {
            continue;
        }
        let event = arrived(&workspace, "Signed Up").await;
        assert_eq!(properties(&event)["source"], "ad", "{package}");
    }
}
