//! `POST /campaigns/spam-check`: by the built-in rules over HTTP, and by a real SpamAssassin, whose
//! protocol nothing else proves.

use std::{
    path::Path,
    process::{Child, Command, Stdio},
};

use content::spam::{self, Engine, Mail, Spamd, Verdict};
use kernel::{Clock, Timestamp};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use super::{email, id, made};
use crate::kit::{Workspace, eventually};

fn now() -> Timestamp {
    Clock::system().now()
}

fn spam() -> Value {
    json!({
        "subject": "CONGRATULATIONS! YOU WON $1,000,000!!!",
        "from": "lottery@gmail.com",
        "text": "Dear winner, claim your prize: act now!!!",
    })
}

#[tokio::test]
async fn the_spam_check_scores_an_email_by_named_rules() {
    let workspace = Workspace::new().await;
    let report = workspace.api.post("/campaigns/spam-check", &spam(), 200).await.json();
    assert_eq!(report["engine"], "builtin");
    assert_eq!((&report["isSpam"], &report["verdict"]), (&json!(true), &json!("fail")));
    assert_eq!(report["threshold"], 5.0);
    let rules = report["rules"].as_array().unwrap();
    let scores: Vec<f64> = rules.iter().map(|rule| rule["score"].as_f64().unwrap()).collect();
    assert!(scores.is_sorted_by(|one, other| one >= other), "{scores:?}");
    assert!((scores.iter().sum::<f64>() - report["score"].as_f64().unwrap()).abs() < 1e-9);
    assert!(rules.iter().any(|rule| rule["name"] == "SUBJECT_ALL_CAPS"));
    assert!(rules.iter().all(|rule| rule["description"].is_string()));
    assert!(!report["suggestions"].as_array().unwrap().is_empty());
    let fine = json!({
        "subject": "Your order is on its way",
        "html": "<p>Hello {{ user.name }}, it will be with you on Friday, as you asked for when you ordered.</p>\
                 <a href=\"{{ unsubscribe_url }}\">Unsubscribe</a>",
        "text": "Hello, it will be with you on Friday. {{ unsubscribe_url }}",
    });
    let report = workspace.api.post("/campaigns/spam-check", &fine, 200).await.json();
    assert_eq!((&report["score"], &report["verdict"]), (&json!(0.0), &json!("pass")), "{report}");
}

#[tokio::test]
async fn the_spam_check_reads_an_email_from_its_campaign() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let mut body = email("checked");
    body["variants"][0]["weight"] = json!(50);
    let second = json!({"id": "b", "name": "B", "weight": 50, "message": spam()});
    body["variants"].as_array_mut().unwrap().push(second);
    let campaign = made(api, &body).await;
    let ask = |variant: Value, status| {
        let question = json!({"campaignId": id(&campaign), "variantId": variant});
        async move { api.post("/campaigns/spam-check", &question, status).await.json() }
    };
    assert_eq!(ask(json!("b"), 200).await["verdict"], "fail");
    assert_eq!(ask(json!("a"), 200).await["verdict"], "pass");
    assert_eq!(ask(json!(null), 200).await["verdict"], "pass", "the first where none is named");
    assert_eq!(ask(json!("c"), 404).await["message"], "Variant not found");
    let strangers = Workspace::new().await;
    let question = json!({"campaignId": id(&campaign), "variantId": "a"});
    strangers.api.post("/campaigns/spam-check", &question, 404).await;
    for unknown in ["00000000-0000-7000-8000-000000000000", "x", ""] {
        let answer = api.post("/campaigns/spam-check", &json!({"campaignId": unknown}), 404).await;
        assert_eq!(answer.json()["message"], "Campaign not found");
    }
    let variant = json!({"id": "a", "name": "A", "weight": 100, "message": {"body": "Hi"}});
    let sms = made(api, &json!({"name": "s", "channel": "sms", "variants": [variant]})).await;
    let question = json!({"campaignId": id(&sms)});
    let answer = api.post("/campaigns/spam-check", &question, 400).await.json();
    assert_eq!(answer["errors"], json!(["variantId must be a variant with an email"]));
}

#[tokio::test]
async fn the_spam_check_refuses_other_messages_by_field() {
    let workspace = Workspace::new().await;
    for (body, errors) in [
        (json!({}), json!(["subject is required", "html is required, or text"])),
        (json!({"subject": "s"}), json!(["html is required, or text"])),
        (
            json!({"subject": "a\nb", "html": 5, "from": "x"}),
            json!([
                "subject must be one line without control characters",
                "from must be an email address, or a name and one in <>",
                "html must be a string",
            ]),
        ),
        (json!({"campaignId": 5}), Value::Null),
    ] {
        let answer = workspace.api.post("/campaigns/spam-check", &body, 400).await.json();
        if !errors.is_null() {
            assert_eq!(answer["errors"], errors, "{body}");
        }
    }
}

/// A daemon that takes one question and answers it like this.
async fn scripted(answer: &'static [u8]) -> Spamd {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let spamd = Spamd::at(listener.local_addr().unwrap().to_string());
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut question = Vec::new();
        stream.read_to_end(&mut question).await.unwrap();
        stream.write_all(answer).await.unwrap();
    });
    spamd
}

fn sample_email() -> Mail {
    Mail {
        subject: "Your order".to_owned(),
        text: Some("It is on its way. unsubscribe".to_owned()),
        ..Mail::default()
    }
}

#[tokio::test]
async fn the_built_in_rules_apply_and_the_answer_says_so_while_spamassassin_is_down() {
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let away = Spamd::at(gone.to_string());
    let faulty = [
        away,
        scripted(b"").await,
        scripted(b"SPAMD/1.1 76 Bad header line\r\n\r\n").await,
        scripted(b"\xff\xfe\0\r\n\r\n").await,
        scripted(b"SPAMD/1.1 0 EX_OK\r\nContent-length: 900\r\nSpam: True ; 9 / 5\r\n\r\n").await,
    ];
    for spamd in faulty {
        let report = spam::check(Some(&spamd), sample_email(), now()).await.unwrap();
        assert_eq!(report.engine, Engine::Builtin);
        assert!(report.suggestions[0].contains("SpamAssassin could not be asked"), "{report:?}");
    }
    let answers = scripted(b"SPAMD/1.1 0 EX_OK\r\nSpam: False ; -0.5 / 6.0\r\n\r\n").await;
    let report = spam::check(Some(&answers), sample_email(), now()).await.unwrap();
    assert_eq!((report.engine, report.score, report.threshold), (Engine::Spamassassin, -0.5, 6.0));
}

/// The daemon of the system's package `spamd`, on a port of its own; stopped with this value.
struct Daemon {
    child: Child,
    address: String,
    _home: tempfile::TempDir,
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.child.id()).unwrap());
        // It takes its children with it only when it may.
        let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM);
        drop(self.child.wait());
    }
}

async fn daemon() -> Option<Daemon> {
    let program = ["/usr/sbin/spamd", "/usr/bin/spamd", "/usr/local/bin/spamd"]
        .into_iter()
        .find(|path| Path::new(path).exists())?;
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let home = tempfile::tempdir().unwrap();
    let child = Command::new(program)
        .args(["--local", "--max-children=1", "--nouser-config", "--syslog=null"])
        .arg(format!("--listen={free}"))
        .arg(format!("--helper-home-dir={}", home.path().display()))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let daemon = Daemon { child, address: free.to_string(), _home: home };
    eventually("spamd listens", || async { TcpStream::connect(&daemon.address).await.ok() }).await;
    Some(daemon)
}

#[tokio::test]
async fn a_real_spamassassin_answer_is_parsed() {
    let Some(daemon) = daemon().await else {
        eprintln!(
            "SKIPPED a_real_spamassassin_answer_is_parsed: install the system's package `spamd` to run it"
        );
        return;
    };
    let spamd = Spamd::at(&daemon.address);
    // SpamAssassin's own test string, which is spam by definition.
    let gtube = "XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X";
    let test = Mail { text: Some(gtube.to_owned()), ..sample_email() };
    let report = spam::check(Some(&spamd), test, now()).await.unwrap();
    assert_eq!(
        (report.engine, report.verdict),
        (Engine::Spamassassin, Verdict::Fail),
        "{report:?}"
    );
    assert!((report.threshold - 5.0).abs() < 1e-9);
    assert_eq!(report.rules[0].name, "GTUBE");
    assert!(report.rules[0].score >= 1000.0 && !report.rules[0].description.is_empty());
    let advert = Mail {
        subject: "CHEAP VIAGRA!!!".to_owned(),
        html: Some("<a href='http://203.0.113.9/'>Viagra click here</a>".to_owned()),
        ..sample_email()
    };
    let advert = spam::check(Some(&spamd), advert, now()).await.unwrap();
    assert_eq!(advert.engine, Engine::Spamassassin);
    assert!(advert.score > 3.0, "{advert:?}");
    let sum: f64 = advert.rules.iter().map(|rule| rule.score).sum();
    assert!((sum - advert.score).abs() < 0.25, "rules are rounded: {sum} {advert:?}");
    let fine = spam::check(Some(&spamd), sample_email(), now()).await.unwrap();
    assert_eq!((fine.engine, fine.is_spam), (Engine::Spamassassin, false), "{fine:?}");
}
