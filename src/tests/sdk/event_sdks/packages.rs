//! The official packages, unmodified, used as in the README. They are installed from their registries once;
//! where those are out of reach, the tests are skipped.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    sync::LazyLock,
    time::Duration,
};

use tokio::{process::Command, sync::OnceCell};

use super::{
    segment::{identities, properties},
    *,
};

/// Packages of Node and their versions.
const NODE: [&str; 3] =
    ["@segment/analytics-node@3.1.0", "@rudderstack/rudder-sdk-node@3.0.13", "posthog-node@5.70.0"];
/// Packages of Python and their versions.
const PYTHON: [&str; 3] =
    ["segment-analytics-python==2.4.0", "rudder-sdk-python==2.1.9", "posthog==7.91.1"];
/// The longest time for an installation.
const INSTALL_MAX: Duration = Duration::from_mins(5);
/// The longest time for a script.
const RUN_MAX: Duration = Duration::from_mins(1);
/// The address and the key of the README's examples.
const README_HOST: &str = "http://127.0.0.1:8080";
const README_KEY: &str = "WRITE_KEY";

static FOLDER: LazyLock<PathBuf> =
    LazyLock::new(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("event-sdk-packages"));

/// Runs a program to its end; what went wrong, where something did.
async fn run(command: &mut Command, time_max: Duration) -> Result<(), String> {
    let command = command.stdin(Stdio::null()).kill_on_drop(true);
    let ended = tokio::time::timeout(time_max, command.output()).await;
    let output = ended.map_err(|_| "it takes too long".to_owned())?.map_err(|it| it.to_string())?;
    let errors = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(errors.into_owned()) }
}

/// Where Node's packages are.
async fn node() -> Result<PathBuf, String> {
    static INSTALLED: OnceCell<Result<PathBuf, String>> = OnceCell::const_new();
    let install = async || {
        let folder = FOLDER.join("node");
        tokio::fs::create_dir_all(&folder).await.map_err(|it| it.to_string())?;
        let arguments = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", "."];
        let mut npm = Command::new("npm");
        run(npm.args(arguments).args(NODE).current_dir(&folder), INSTALL_MAX).await?;
        Ok(folder)
    };
    INSTALLED.get_or_init(install).await.clone()
}

/// The Python that has the packages.
async fn python() -> Result<PathBuf, String> {
    static INSTALLED: OnceCell<Result<PathBuf, String>> = OnceCell::const_new();
    let install = async || {
        let folder = FOLDER.join("python");
        let python = folder.join("bin/python");
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder), INSTALL_MAX).await?;
        let arguments = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        run(Command::new(&python).args(arguments).args(PYTHON), INSTALL_MAX).await?;
        Ok(python)
    };
    INSTALLED.get_or_init(install).await.clone()
}

/// The README's example for a package, in the block that names it.
fn example(package: &str) -> String {
    let readme = include_str!("../../../sdk/README.md");
    let end = format!(" install {package}");
    let line = readme.lines().find(|line| line.ends_with(&end));
    let start = readme.find(line.expect("an example")).unwrap();
    let (code, _) = readme[start..].split_once("```").unwrap();
    code.to_owned()
}

/// Runs the README's example against the server; false where the package cannot be had.
async fn runs(package: &str, key: &str) -> bool {
    let code = example(package).replace(README_HOST, &server().url).replace(README_KEY, key);
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
    run(&mut command, RUN_MAX).await.unwrap_or_else(|errors| panic!("{package}: {errors}"));
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
