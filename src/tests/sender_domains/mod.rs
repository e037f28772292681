//! Sender domains of a workspace: verification, and sending without it.

mod sending;

use std::sync::{Arc, mpsc};

use kernel::Clock;
use serde_json::{Value, json};

use crate::kit::{
    Answered, Client, DnsServer, MailServer, TestServer, WhileUsed, data_dir, run, settings, unique,
};

/// A server that sends by SMTP, signs, and asks a DNS server of the tests' own.
struct Shared {
    server: TestServer,
    dns: DnsServer,
    mail: MailServer,
}

fn start() -> Shared {
    let (dns, mail) = (DnsServer::start(), mail_server());
    let pem = "src/tests/delivery/providers/dkim-ed25519.pem";
    let pem = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(pem);
    let settings = settings(
        &data_dir(&unique("sender_domains")),
        &[
            ("channels.email.url", format!("smtp://{}", mail.address)),
            ("channels.email.from", "Shop <hello@example.test>".to_owned()),
            ("channels.email.from_domains", "Letters.test, press.example.org".to_owned()),
            ("channels.email.dkim.domain", "example.test".to_owned()),
            ("channels.email.dkim.selector", "s1".to_owned()),
            ("channels.email.dkim.key_file", pem.display().to_string()),
            ("security.resolver", dns.address.to_string()),
        ],
    );
    Shared { server: run(settings, Clock::system()), dns, mail }
}

/// A mail server for as long as the process lives.
fn mail_server() -> MailServer {
    let (send, receive) = mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            send.send(MailServer::start().await).unwrap();
            std::future::pending::<()>().await;
        });
    });
    receive.recv().unwrap()
}

async fn shared() -> Arc<Shared> {
    static SHARED: WhileUsed<Shared> = WhileUsed::new();
    // Its start blocks.
    SHARED.get(async || tokio::task::spawn_blocking(start).await.unwrap()).await
}

impl Shared {
    /// A client of a workspace of its own.
    async fn workspace(&self) -> Client {
        let (token, _) = self.server.key(&unique("senders"), "*").await;
        Client::new(&self.server.url, Some(&token))
    }

    /// Adds a domain to a workspace and verifies it.
    async fn verified(&self, api: &Client, domain: &str) -> Value {
        let added = added(api, domain).await;
        let (name, value) = record(&added, "ownership");
        self.dns.set_texts(&name, &[&value]);
        let checked = verify(api, &added).await;
        assert_eq!(checked["status"], "verified", "{checked}");
        checked
    }
}

/// A domain that no other test uses.
fn new_domain() -> String {
    format!("{}.test", unique("acme"))
}

async fn added(api: &Client, domain: &str) -> Value {
    api.post("/sender-domains", &json!({"domain": domain}), 201).await.json()
}

fn path(domain: &Value) -> String {
    format!("/sender-domains/{}", domain["id"].as_str().unwrap())
}

async fn verify(api: &Client, domain: &Value) -> Value {
    let path = format!("{}/verify", path(domain));
    api.send(api.request(reqwest::Method::POST, &path), 200).await.json()
}

/// Name and value of a domain's record.
fn record(domain: &Value, purpose: &str) -> (String, String) {
    let records = domain["records"].as_array().unwrap();
    let record = records.iter().find(|record| record["purpose"] == purpose).unwrap();
    assert_eq!(record["type"], "TXT");
    let text = |name: &str| record[name].as_str().unwrap().to_owned();
    (text("name"), text("value"))
}

fn found(domain: &Value) -> Vec<(&str, &str)> {
    let records = domain["records"].as_array().unwrap().iter();
    records.map(|it| (it["purpose"].as_str().unwrap(), it["status"].as_str().unwrap())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_domain_is_verified_by_its_ownership_record() {
    let (shared, domain) = (shared().await, new_domain());
    let api = &shared.workspace().await;
    let added = added(api, &format!("{}.", domain.to_uppercase())).await;
    assert_eq!((&added["domain"], &added["status"]), (&json!(domain), &json!("pending")));
    let names: Vec<String> =
        ["ownership", "dkim", "spf", "dmarc"].map(|purpose| record(&added, purpose).0).to_vec();
    let expected = ["_millrace.", "s1._domainkey.", "", "_dmarc."];
    assert_eq!(names, expected.map(|prefix| format!("{prefix}{domain}")));
    assert!(found(&added).iter().all(|(_, status)| *status == "unchecked"), "{added}");

    let checked = verify(api, &added).await;
    assert_eq!(checked["status"], "failed");
    let (name, value) = record(&added, "ownership");
    let problem = format!("there is no TXT record \"{value}\" at {name}");
    assert_eq!(checked["problem"], problem);
    // Another text is another's.
    shared.dns.set_texts(&name, &["millrace-verification=x", "v=spf1 -all"]);
    assert_eq!(verify(api, &added).await["status"], "failed");
    shared.dns.set_texts(&name, &["other", &value]);
    let checked = verify(api, &added).await;
    assert_eq!((&checked["status"], &checked["problem"]), (&json!("verified"), &Value::Null));
    let missing =
        [("ownership", "found"), ("dkim", "missing"), ("spf", "missing"), ("dmarc", "missing")];
    assert_eq!(found(&checked), missing);

    for purpose in ["dkim", "spf", "dmarc"] {
        let (name, value) = record(&added, purpose);
        shared.dns.set_texts(&name, &[&value]);
    }
    let checked = verify(api, &added).await;
    assert!(found(&checked).iter().all(|(_, status)| *status == "found"), "{checked}");
    assert_eq!(api.get(path(&added), 200).await.json(), checked);
    assert_eq!(api.get("/sender-domains", 200).await.json(), json!({"data": [checked]}));

    // A record that is gone is a domain that is given away.
    shared.dns.remove(&name);
    let checked = verify(api, &added).await;
    assert_eq!((&checked["status"], &checked["verifiedAt"]), (&json!("failed"), &Value::Null));
    api.send(api.request(reqwest::Method::DELETE, &path(&added)), 204).await;
    api.get(path(&added), 404).await;
    let again = format!("{}/verify", path(&added));
    api.send(api.request(reqwest::Method::POST, &again), 404).await;
    api.send(api.request(reqwest::Method::DELETE, &path(&added)), 404).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verified_domain_belongs_to_one_workspace() {
    let (shared, domain) = (shared().await, new_domain());
    let (one, two) = (&shared.workspace().await, &shared.workspace().await);
    let first = shared.verified(one, &domain).await;
    let second = added(two, &domain).await;
    assert_eq!(verify(two, &second).await["status"], "failed");
    let (name, value) = record(&second, "ownership");
    shared.dns.set_texts(&name, &[&record(&first, "ownership").1, &value]);
    assert_eq!(verify(two, &second).await["status"], "verified");
    assert_eq!(verify(one, &first).await["status"], "verified");
    two.get(path(&first), 404).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dns_timeout_changes_no_status() {
    let (shared, domain) = (shared().await, new_domain());
    let api = &shared.workspace().await;
    let verified = shared.verified(api, &domain).await;
    let (name, _) = record(&verified, "ownership");
    for answered in [Answered::Failure, Answered::Silence] {
        shared.dns.set(&name, answered.clone());
        let checked = verify(api, &verified).await;
        assert_eq!(checked["status"], "verified", "{answered:?}");
        let problem = checked["problem"].as_str().unwrap();
        assert!(problem.starts_with(&format!("DNS gave no answer for {name}: ")), "{problem}");
        assert_eq!(found(&checked)[0], ("ownership", "no_answer"));
        assert_eq!(checked["verifiedAt"], verified["verifiedAt"]);
    }
    let other = added(api, &new_domain()).await;
    shared.dns.set(&record(&other, "ownership").0, Answered::Failure);
    assert_eq!(verify(api, &other).await["status"], "pending");
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_domains_and_one_too_many_are_refused() {
    let shared = shared().await;
    let api = &shared.workspace().await;
    let not_a_domain = "domain must be a domain name such as example.com";
    for (body, problem) in [
        (json!({}), "domain is required"),
        (json!({"domain": null}), "domain is required"),
        (json!({"domain": 5}), "domain must be a string"),
        (json!({"domain": ""}), not_a_domain),
        (json!({"domain": "localhost"}), not_a_domain),
        (json!({"domain": "https://acme.test/"}), not_a_domain),
        (json!({"domain": "ann@acme.test"}), not_a_domain),
        (json!({"domain": "a\0.test"}), "domain must not contain NUL characters"),
        (json!({"domain": "192.0.2.7"}), not_a_domain),
        (
            json!({"domain": "co.uk"}),
            "domain must not be a public suffix: names under co.uk belong to others",
        ),
    ] {
        let answer = api.post("/sender-domains", &body, 400).await;
        assert_eq!(answer.errors(), [problem], "{body}");
    }
    let domain = new_domain();
    added(api, &domain).await;
    let again = api.post("/sender-domains", &json!({"domain": domain}), 409).await.json();
    assert_eq!(again["message"], format!("The domain {domain} was added before"));
    for at in 1..100 {
        added(api, &format!("n{at}.{domain}")).await;
    }
    let answer = api.post("/sender-domains", &json!({"domain": new_domain()}), 400).await;
    assert_eq!(answer.errors(), ["domain must be one of at most 100 of a workspace"]);
    assert_eq!(api.get("/sender-domains", 200).await.json()["data"].as_array().unwrap().len(), 100);
    api.get("/sender-domains/no-id", 404).await;
}
