//! A real browser, on pages of an origin of their own, which report what happens in them.

use std::{
    os::unix::process::CommandExt as _,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::Arc,
};

use axum::{
    Json, Router,
    extract::State,
    http::Uri,
    response::{Html, IntoResponse as _, Response},
    routing::post,
};
use parking_lot::Mutex;
use reqwest::{StatusCode, header::CONTENT_TYPE};
use serde::Deserialize;
use serde_json::Value;

use super::{data_dir, eventually, unique};

/// The names that Chromium is installed under.
const PROGRAMS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// It calls no one but the pages' servers, and looks as it does to a person: SDKs ignore robots.
const FLAGS: [&str; 11] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-blink-features=AutomationControlled",
    "--user-agent=Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/148.0.0.0 Safari/537.36",
];
/// Kills the browser with its children when this process is gone: the end of its side of the pipe is waited for.
const UNTIL_CLOSED: &str = r#""$@" & read -r _; kill -9 0"#;
/// What each page does before its own script: `report(name, value)` is for that script, too.
const PRELUDE: &str = r#"
const report = (name, value) =>
  fetch("/reports", { method: "POST", keepalive: true, headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ name, value }) });
addEventListener("error", (it) => report("error", it.message ?? it.target.src), true);
addEventListener("unhandledrejection", (it) => report("error", String(it.reason)));
new PerformanceObserver((list) => {
  for (const { name: url, responseStatus: status, startTime: at } of list.getEntries())
    if (!url.startsWith(location.origin)) report("request", { page: location.pathname, url, status, at });
}).observe({ type: "resource", buffered: true });
"#;

/// A page: its path, and its script, which is a module.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    pub(crate) path: &'static str,
    pub(crate) script: String,
}

/// What a page reported.
#[derive(Debug, Clone, Deserialize)]
struct Report {
    name: String,
    value: Value,
}

#[derive(Debug, Clone)]
struct Site {
    pages: Arc<[Page]>,
    reports: Arc<Mutex<Vec<Report>>>,
}

/// A browser that shows pages; it ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Browser {
    child: Child,
    site: Site,
}

impl Browser {
    /// Shows the first of the pages; the reason where there is no browser.
    pub(crate) async fn open(pages: Vec<Page>) -> Result<Self, String> {
        let program = program().ok_or("Chromium is not installed")?;
        let path = pages[0].path;
        let site = Site { pages: pages.into(), reports: Arc::default() };
        let router = Router::new()
            .route("/reports", post(reported))
            .fallback(served)
            .with_state(site.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await });
        let child = Command::new("sh")
            .args(["-c", UNTIL_CLOSED, "sh"])
            .arg(program)
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", data_dir(&unique("browser")).display()))
            .arg(format!("http://{address}{path}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        Ok(Self { child, site })
    }

    /// Awaits what a page reports under a name.
    pub(crate) async fn report(&self, name: &str) -> Value {
        eventually("the page reports", || async { self.reports(name).pop() }).await
    }

    /// What pages reported under a name, until now.
    pub(crate) fn reports(&self, name: &str) -> Vec<Value> {
        let reports = self.site.reports.lock();
        reports.iter().filter(|it| it.name == name).map(|it| it.value.clone()).collect()
    }

    /// The requests of a page to a server that were answered, as they began: status and path. Those that a page sends
    /// while it is left are not known.
    pub(crate) fn requests(&self, page: &str, server: &str) -> Vec<String> {
        let mut requests = self.reports("request");
        requests.retain(|it| it["page"] == page);
        let began = |request: &Value| request["at"].as_f64().unwrap();
        requests.sort_by(|one, other| began(one).total_cmp(&began(other)));
        let of = |request: &Value| {
            let path = request["url"].as_str()?.strip_prefix(server)?;
            Some(format!("{} {}", request["status"], path.split('?').next()?))
        };
        requests.iter().filter_map(of).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("reports of the pages: {:#?}", self.site.reports.lock());
        }
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }
}

/// The browser that is installed.
pub(crate) fn program() -> Option<PathBuf> {
    let folders: Vec<_> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    let mut programs =
        PROGRAMS.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    programs.find(|program| program.is_file())
}

async fn reported(State(site): State<Site>, Json(report): Json<Report>) -> StatusCode {
    site.reports.lock().push(report);
    StatusCode::NO_CONTENT
}

/// A page, or the script of one.
async fn served(State(site): State<Site>, uri: Uri) -> Response {
    let path = uri.path();
    for page in site.pages.iter() {
        if path == page.path {
            let tags = format!(
                "<!doctype html><title>Shop</title><script>{PRELUDE}</script><script type=module src={path}.js></script>"
            );
            return Html(tags).into_response();
        }
        if path.strip_suffix(".js") == Some(page.path) {
            return ([(CONTENT_TYPE, "text/javascript")], page.script.clone()).into_response();
        }
    }
    StatusCode::NOT_FOUND.into_response()
}
