//! What a newcomer does, from the first start to the report of a campaign, in a real browser.

use std::{path::Path, process::Command};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use crate::kit::{BrowserTab, Client, MailServer, Process, Screen, data_dir, eventually};

/// A browser at a server, and what it does there.
struct Newcomer {
    tab: BrowserTab,
    url: String,
}

impl Newcomer {
    async fn go(&self, path: &str) {
        self.tab.go(&format!("{}{path}", self.url)).await;
    }

    /// Types into fields of a form, by their names, as a person does.
    async fn fill(&self, fields: &[(&str, &str)]) {
        for (name, value) in fields {
            let (name, value) = (json!(name), json!(value));
            self.tab
                .value(&format!(
                    "(() => {{ const field = document.getElementsByName({name})[0]; field.value = {value};\
                     field.dispatchEvent(new Event('change', {{bubbles: true}})); return true; }})()"
                ))
                .await;
        }
    }

    /// Presses a button or a link by its text, and waits for the page that it leads to.
    async fn press(&self, text: &str) {
        let text = json!(text);
        self.tab.value("window.isBefore = true").await;
        self.tab
            .value(&format!(
                "[...document.querySelectorAll('main button, main a')]\
                 .filter((it) => it.textContent.trim() === {text} && !it.classList.contains('unseen')).at(-1).click()"
            ))
            .await;
        self.tab.until("!window.isBefore && document.readyState === 'complete'").await;
    }

    /// Keeps what is seen for the README, when documents are written anew.
    async fn picture(&self, name: &str) {
        if std::env::var_os("UPDATE_DOCS").is_none() {
            return;
        }
        let format = json!({"format": "webp", "quality": 70});
        let shot = self.tab.command("Page.captureScreenshot", format).await;
        let bytes = BASE64_STANDARD.decode(shot["data"].as_str().unwrap()).unwrap();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/console/screenshots");
        tokio::fs::create_dir_all(&folder).await.unwrap();
        tokio::fs::write(folder.join(format!("{name}.webp")), bytes).await.unwrap();
    }
}

/// The command on the page, with a key and the address of this server.
fn run_as_shown(command: &str, url: &str, key: &str) {
    let shown = command.split_whitespace().find(|word| word.ends_with("/events/track")).unwrap();
    let command = command
        .replace(shown, &format!("{url}/events/track"))
        .replace("Bearer KEY", &format!("Bearer {key}"));
    let out = Command::new("sh").args(["-c", &command]).output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(text.contains("eventId"), "{command}: {text}");
}

/// The year of a shop, as a file to import.
struct Year {
    /// Given by the environment; else a small one is made.
    file: Option<String>,
    /// What the page says when all of it is imported.
    imported: &'static str,
    /// An event that comes before an order.
    before: &'static str,
    range: &'static str,
    /// What a funnel from this event to an order says.
    funnel: &'static str,
}

impl Year {
    /// That of [Online Retail](https://doi.org/10.1057/dbm.2012.17) where the environment names its file.
    fn get() -> Self {
        match std::env::var("MILLRACE_BENCH_EVENTS") {
            Ok(file) => Self {
                file: Some(file),
                imported: "Done: 558,518 events accepted, 0 refused",
                before: "Product Purchased",
                range: "from=2010-12-01&to=2011-12-09",
                funnel: "7,864 people entered",
            },
            Err(_) => Self {
                file: None,
                imported: "Done: 2,800 events accepted, 0 refused",
                before: "Product Viewed",
                range: "from=2026-01-01&to=2026-12-31",
                funnel: "400 people entered",
            },
        }
    }

    /// A line an event: most who look buy later.
    fn lines() -> String {
        let mut lines = Vec::new();
        let begins = chrono::DateTime::parse_from_rfc3339("2026-01-05T09:00:00Z").unwrap();
        for number in 0..2_000_i64 {
            let person = format!("customer-{}", number % 400);
            let at = begins + chrono::Duration::minutes(number * 220);
            let country = ["GB", "FR", "DE", "IE"][usize::try_from(number % 4).unwrap()];
            let event = |name: &str, minutes: i64, properties: Value| {
                let at = (at + chrono::Duration::minutes(minutes)).to_rfc3339();
                json!({"userId": person, "eventName": name, "timestamp": at,
                       "clientEventId": format!("{name}-{number}"), "properties": properties})
                .to_string()
            };
            lines.push(event("Product Viewed", 0, json!({"country": country})));
            if number % 5 < 2 {
                let order = json!({"orderId": format!("o-{number}"), "total": 20 + number % 90,
                                   "currency": "GBP", "country": country});
                lines.push(event("Order Completed", 30, order));
            }
        }
        lines.join("\n")
    }
}

async fn import(newcomer: &Newcomer, year: &Year) {
    newcomer.go("/console/live/import").await;
    if let Some(file) = &year.file {
        newcomer.tab.choose_file("#file", file).await;
    } else {
        let lines = json!(Year::lines());
        newcomer
            .tab
            .value(&format!(
                "(() => {{ const files = new DataTransfer(); files.items.add(new File([{lines}], 'year.ndjson'));\
                 document.getElementById('file').files = files.files; return true; }})()"
            ))
            .await;
    }
    newcomer.tab.value("document.getElementById('import').requestSubmit()").await;
    let imported = json!(year.imported);
    let done = format!("document.getElementById('import-counts').textContent === {imported}");
    newcomer.tab.until(&done).await;
}

/// A funnel and the revenue by country, each under an address that can be sent to others.
async fn explore(newcomer: &Newcomer, year: &Year) {
    let (range, before) = (year.range, year.before.replace(' ', "%20"));
    let path =
        format!("/console/explore?tab=funnels&event={before}&event=Order%20Completed&{range}");
    eventually("the year is visible", || async {
        newcomer.go(&path).await;
        newcomer.tab.until("!document.querySelector('#explore-answer[hx-get]')").await;
        newcomer.tab.text().await.contains(year.funnel).then_some(())
    })
    .await;
    newcomer.picture("funnel").await;
    newcomer
        .go(&format!(
            "/console/explore?event=Order%20Completed&metric=sum&field=total&interval=month&breakdown=country&{range}"
        ))
        .await;
    newcomer.tab.until("document.querySelector('.chart-canvas canvas')").await;
    newcomer.picture("revenue").await;
}

/// Sends a test of the channel to Ann.
async fn test_email(newcomer: &Newcomer, mail: &MailServer) {
    newcomer.go("/console/settings/channels").await;
    newcomer.fill(&[("to", "ann@example.org")]).await;
    newcomer.press("Send a test").await;
    let text = newcomer.tab.text().await;
    assert!(text.contains("The provider accepted a test to ann@example.org."), "{text}");
    assert!(mail.taken().iter().any(|taken| taken.mail.contains("Subject: Test message")));
}

async fn segment(newcomer: &Newcomer) {
    newcomer.go("/console/segments/new").await;
    newcomer.fill(&[("name", "Paying"), ("g0.r0.field", "plan"), ("g0.r0.value", "pro")]).await;
    newcomer
        .tab
        .until("document.getElementById('segment-count').textContent.includes('1 people match')")
        .await;
    newcomer.press("Save").await;
    assert!(newcomer.tab.text().await.contains("Paying"));
}

/// Writes a campaign to the segment, and looks at it as Ann will.
async fn campaign(newcomer: &Newcomer) {
    newcomer.go("/console/campaigns/new").await;
    newcomer.fill(&[("audience", "segment")]).await;
    newcomer.tab.until("document.getElementsByName('audience.id').length === 1").await;
    let segment = newcomer
        .tab
        .value("[...document.getElementsByName('audience.id')[0].options].find((it) => it.text === 'Paying').value")
        .await;
    newcomer
        .fill(&[
            ("name", "Spring"),
            ("audience.id", segment.as_str().unwrap()),
            ("variants[0].message.subject", "Hello {{ user.firstName }}"),
            ("variants[0].message.html", "<h1>Spring is here</h1><p><a href=\"https://shop.test/\">Look</a></p><p><a href=\"{{ unsubscribe_url }}\">Unsubscribe</a></p>"),
        ])
        .await;
    newcomer.press("Save").await;
    newcomer.picture("campaign").await;
    let address = newcomer.tab.address().await;
    newcomer.go(&format!("{address}/test?person=ann")).await;
    assert!(newcomer.tab.text().await.contains("Hello Ann"), "{}", newcomer.tab.text().await);
    newcomer.go(&format!("{address}/launch")).await;
    newcomer.press("Send now to 1 people…").await;
    newcomer.press("Send now to 1 people").await;
    newcomer.go(&format!("{address}/report")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newcomer_comes_from_the_first_start_to_the_report_of_a_campaign() {
    let tab = match BrowserTab::open().await {
        Ok(tab) => tab,
        Err(reason) => return eprintln!("SKIPPED a_newcomer_comes_from_the_first_start: {reason}"),
    };
    let mail = MailServer::start().await;
    let settings = [
        ("MILLRACE_SQL_LISTEN", "127.0.0.1:0".to_owned()),
        ("MILLRACE_CHANNELS__EMAIL__PROVIDER", "smtp".to_owned()),
        ("MILLRACE_CHANNELS__EMAIL__URL", format!("smtp://{}", mail.address)),
        ("MILLRACE_CHANNELS__EMAIL__FROM", "Shop <hello@example.test>".to_owned()),
    ];
    let (process, key) = Process::first_start(&data_dir("journey"), &settings).await;
    let (key, url) = (key.unwrap(), process.url.clone());
    tab.screen(Screen { width: 1280, height: 800, is_dark: false }).await;
    let newcomer = Newcomer { tab, url };

    // The link that the first start prints signs in.
    let link = process.startup_output.lines().find(|line| line.contains("/console/login")).unwrap();
    let path = link.trim().split_once("/console/").unwrap().1;
    newcomer.go(&format!("/console/{path}")).await;
    assert_eq!(newcomer.tab.address().await, "/console");
    let shown = newcomer.tab.value("document.querySelector('.copyable code').textContent").await;

    // The event of the line on the page arrives while one watches.
    newcomer.go("/console/live").await;
    newcomer.tab.until("document.getElementById('live-state').textContent === 'Listening'").await;
    tokio::task::block_in_place(|| run_as_shown(shown.as_str().unwrap(), &newcomer.url, &key));
    newcomer
        .tab
        .until("document.querySelector('#live strong')?.textContent === 'Order Completed'")
        .await;
    newcomer.picture("live").await;

    let year = Year::get();
    import(&newcomer, &year).await;
    explore(&newcomer, &year).await;
    let api = Client::new(&newcomer.url, Some(&key));
    let ann = json!({"externalId": "ann", "email": "ann@example.org",
                     "attributes": {"firstName": "Ann", "plan": "pro"}});
    api.post("/users", &ann, 201).await;
    test_email(&newcomer, &mail).await;
    segment(&newcomer).await;
    campaign(&newcomer).await;
    eventually("the mail is there", || async {
        mail.taken().iter().any(|taken| taken.mail.contains("Subject: Hello Ann")).then_some(())
    })
    .await;
    let report = newcomer.tab.address().await;
    eventually("the report counts it", || async {
        newcomer.go(&report).await;
        let id = report.split('/').nth(3).unwrap();
        let stats = api.get(format!("/campaigns/{id}/stats"), 200).await.json();
        (stats["stats"]["sent"] == 1 && newcomer.tab.text().await.contains("Delivery"))
            .then_some(())
    })
    .await;
    newcomer.picture("report").await;
    newcomer.go("/console").await;
    newcomer.picture("home").await;
    assert_eq!(newcomer.tab.errors(), [""; 0]);
    assert!(process.stop().await.success());
}
