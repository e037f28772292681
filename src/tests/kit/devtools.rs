//! A real browser that is driven: opens pages of the server under test, runs scripts in them, and reports what went
//! wrong in them. Speaks the protocol of Chromium's developer tools over its pipe.

use std::{
    collections::HashMap,
    os::unix::process::CommandExt as _,
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Instant,
};

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::unix::pipe,
    sync::{Mutex as Turn, oneshot},
};

use super::{EVENTUALLY_MAX, LOOK_AGAIN, browser::program, data_dir, eventually, unique};

const FLAGS: [&str; 10] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
];
/// The browser reads commands from descriptor 3 and writes to 4; it gets this process's ends of its standard ones.
const PIPES: &str = r#"exec "$@" 3<&0 4>&1 </dev/null >/dev/null"#;

/// Answers that are awaited, by the number of their command.
type Waiting = Arc<Mutex<HashMap<u64, oneshot::Sender<Value>>>>;

/// A page of a browser of its own, with cookies of its own. The browser ends when it is dropped.
#[derive(Debug)]
pub(crate) struct BrowserTab {
    child: Child,
    commands: Turn<pipe::Sender>,
    waiting: Waiting,
    events: Arc<Mutex<Vec<Value>>>,
    next: Mutex<u64>,
    session: String,
}

/// The size of the window, and the colours that the person prefers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Screen {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) is_dark: bool,
}

impl BrowserTab {
    /// An empty page; the reason where there is no browser.
    pub(crate) async fn open() -> Result<Self, String> {
        let program = program().ok_or("Chromium is not installed")?;
        let mut child = Command::new("sh")
            .args(["-c", PIPES, "sh"])
            .arg(program)
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", data_dir(&unique("browser")).display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        let commands = pipe::Sender::from_owned_fd(child.stdin.take().unwrap().into()).unwrap();
        let answers = pipe::Receiver::from_owned_fd(child.stdout.take().unwrap().into()).unwrap();
        let (waiting, events) = (Waiting::default(), Arc::new(Mutex::new(Vec::new())));
        tokio::spawn(listen(answers, Arc::clone(&waiting), Arc::clone(&events)));
        let mut tab = Self {
            child,
            commands: Turn::new(commands),
            waiting,
            events,
            next: Mutex::new(0),
            session: String::new(),
        };
        let target = tab.command("Target.createTarget", json!({"url": "about:blank"})).await;
        let of = json!({"targetId": target["targetId"], "flatten": true});
        let attached = tab.command("Target.attachToTarget", of).await;
        attached["sessionId"].as_str().unwrap().clone_into(&mut tab.session);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            tab.command(&format!("{domain}.enable"), json!({})).await;
        }
        Ok(tab)
    }

    /// Sends a command of the protocol and gives its result.
    pub(crate) async fn command(&self, method: &str, parameters: Value) -> Value {
        let answer = self.answer(method, parameters).await;
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// The answer to a command, which may be an error.
    async fn answer(&self, method: &str, parameters: Value) -> Value {
        let id = {
            let mut next = self.next.lock();
            *next += 1;
            *next
        };
        let mut message = json!({"id": id, "method": method, "params": parameters});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        let (send, answer) = oneshot::channel();
        self.waiting.lock().insert(id, send);
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.commands.lock().await.write_all(&bytes).await.unwrap();
        answer.await.expect("the browser answers")
    }

    /// Opens an address, and waits until the page with its scripts is there.
    pub(crate) async fn go(&self, url: &str) {
        let opened = self.command("Page.navigate", json!({"url": url})).await;
        assert!(opened["errorText"].is_null(), "{url}: {opened}");
        self.loaded().await;
    }

    /// Waits until the page that is being opened is there, with the parts that it loads.
    pub(crate) async fn loaded(&self) {
        let is_there = "document.readyState === 'complete' && \
                        !document.querySelector('[hx-trigger=load], .htmx-added, .htmx-settling')";
        eventually("the page is there", || async { self.is_true(is_there).await.then_some(()) })
            .await;
    }

    /// The value of an expression in the page; a promise is awaited.
    pub(crate) async fn value(&self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let answer = self.command("Runtime.evaluate", asked).await;
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Whether an expression is true now; it is not while another page is being opened.
    async fn is_true(&self, expression: &str) -> bool {
        let asked = json!({"expression": expression, "returnByValue": true});
        let answer = self.answer("Runtime.evaluate", asked).await;
        let fault = &answer["result"]["exceptionDetails"];
        assert!(fault.is_null(), "{expression}: {answer}");
        answer["result"]["result"]["value"] == true
    }

    /// Awaits an expression that is true in a page that listens.
    pub(crate) async fn until(&self, expression: &str) {
        // htmx shows a part some milliseconds before it listens to its events.
        let listens = "!document.querySelector('.htmx-added, .htmx-settling')";
        let expression = format!("{listens} && Boolean({expression})");
        let began = Instant::now();
        while !self.is_true(&expression).await {
            if began.elapsed() > EVENTUALLY_MAX {
                let (text, errors) = (self.text().await, self.errors());
                panic!("gave up waiting: {expression}; errors: {errors:?}; the page: {text}");
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// The path and the query of the page.
    pub(crate) async fn address(&self) -> String {
        self.value("location.pathname + location.search").await.as_str().unwrap().to_owned()
    }

    /// The text of the page as people read it.
    pub(crate) async fn text(&self) -> String {
        self.value("document.body.innerText").await.as_str().unwrap().to_owned()
    }

    /// Clicks on the first element of this selector.
    pub(crate) async fn click(&self, selector: &str) {
        let selector = json!(selector);
        self.value(&format!("document.querySelector({selector}).click()")).await;
    }

    /// The addresses of the sandboxed frames in the page; each has a process of its own.
    pub(crate) async fn frames(&self) -> Vec<String> {
        let found = self.command("Target.getTargets", json!({})).await;
        let targets = found["targetInfos"].as_array().unwrap();
        let frames = targets.iter().filter(|target| target["type"] == "iframe");
        frames.map(|frame| frame["url"].as_str().unwrap().to_owned()).collect()
    }

    /// Chooses a file of this machine in the field of this selector.
    pub(crate) async fn choose_file(&self, selector: &str, path: &str) {
        let document = self.command("DOM.getDocument", json!({})).await;
        let of = json!({"nodeId": document["root"]["nodeId"], "selector": selector});
        let field = self.command("DOM.querySelector", of).await;
        let of = json!({"nodeId": field["nodeId"], "files": [path]});
        self.command("DOM.setFileInputFiles", of).await;
    }

    pub(crate) async fn screen(&self, screen: Screen) {
        let size = json!({
            "width": screen.width, "height": screen.height, "deviceScaleFactor": 1, "mobile": false,
        });
        self.command("Emulation.setDeviceMetricsOverride", size).await;
        let scheme = if screen.is_dark { "dark" } else { "light" };
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.command("Emulation.setEmulatedMedia", features).await;
    }

    /// What the console of the pages reported as an error until now: exceptions, refused files, breaches of the policy.
    pub(crate) fn errors(&self) -> Vec<String> {
        let events = self.events.lock();
        let is_error = |event: &&Value| match event["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" => true,
            "Log.entryAdded" => event["params"]["entry"]["level"] == "error",
            "Runtime.consoleAPICalled" => event["params"]["type"] == "error",
            _ => false,
        };
        events.iter().filter(is_error).map(|event| event["params"].to_string()).collect()
    }
}

impl Drop for BrowserTab {
    fn drop(&mut self) {
        // The group is the browser with its children.
        let group = nix::unistd::Pid::from_raw(i32::try_from(self.child.id()).unwrap());
        nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGKILL).ok();
        self.child.wait().unwrap();
    }
}

/// Reads answers and events, which end with a NUL each.
async fn listen(answers: pipe::Receiver, waiting: Waiting, events: Arc<Mutex<Vec<Value>>>) {
    let mut answers = BufReader::new(answers);
    loop {
        let mut message = Vec::new();
        match answers.read_until(0, &mut message).await {
            Ok(bytes) if bytes > 0 => {}
            _ => return waiting.lock().clear(),
        }
        message.pop();
        let Ok(message) = serde_json::from_slice::<Value>(&message) else { continue };
        let Some(id) = message["id"].as_u64() else {
            events.lock().push(message);
            continue;
        };
        if let Some(send) = waiting.lock().remove(&id) {
            drop(send.send(message));
        }
    }
}
