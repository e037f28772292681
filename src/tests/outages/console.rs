//! The console while a store is frozen: each page comes, and names the store that is away.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Frozen, until_readiness};
use crate::{
    campaigns::email_with,
    console::kit::{Person, Seen},
    kit::{Client, Process, data_dir, eventually},
};

/// Longest wait for a page.
const PAGE_MAX: Duration = Duration::from_secs(20);
const SQL: &str = "/console/explore?tab=sql&sql=SELECT+1&answer=on";
const CLICKHOUSE: &str = "ClickHouse is unavailable";
const POSTGRES: &str = "PostgreSQL is unavailable";

/// A server with things to show, and a person who is signed in with all scopes.
struct Shop {
    process: Process,
    person: Person,
    ann: String,
    segment: String,
    campaign: String,
    list: String,
}

async fn shop(folder: &std::path::Path) -> Shop {
    let environment = [
        ("MILLRACE_ENGINES__CLICKHOUSE_QUERY_SECONDS", "6".to_owned()),
        ("MILLRACE_SQL_LISTEN", "127.0.0.1:0".to_owned()),
    ];
    let (process, key) = Process::first_start(folder, &environment).await;
    let api = process.client(&key.unwrap());
    let ann = made(&api, "/users", json!({"externalId": "ann", "email": "ann@example.test"})).await;
    let filter = json!({"type": "attribute", "field": "email", "operator": "exists"});
    let targeting = json!({"filterGroups": [{"filters": [filter]}]});
    let segment = made(&api, "/segments", json!({"name": "All", "targeting": targeting})).await;
    let campaign = made(&api, "/campaigns", email_with("Spring", json!({}))).await;
    let list = made(&api, "/lists", json!({"name": "News"})).await;
    api.post("/events/track", &json!({"userId": "ann", "eventName": "Seen"}), 200).await;
    eventually("the event is stored", || async {
        api.get("/events/query?eventName=Seen", 200).await.text.contains("ann").then_some(())
    })
    .await;
    let person = Person::at(&process.url, None);
    let link = process.startup_output.lines().find(|line| line.contains("/console/login?"));
    let link = url::Url::parse(link.unwrap().trim()).unwrap();
    assert_eq!(person.open(&link).await.status, 303);
    eventually("SQL is ready", || async {
        let seen = person.get(SQL).await;
        (!seen.text.contains("DB::Exception")).then_some(())
    })
    .await;
    Shop { process, person, ann, segment, campaign, list }
}

async fn made(api: &Client, path: &str, body: Value) -> String {
    let made = api.post(path, &body, 201).await.json();
    made["id"].as_str().unwrap().to_owned()
}

impl Shop {
    /// Asks for a page, which comes in time and has its frame.
    async fn page(&self, path: &str) -> Seen {
        let began = Instant::now();
        let seen = self.person.get(path).await;
        assert!(began.elapsed() < PAGE_MAX, "{path} took {:?}", began.elapsed());
        assert!(!seen.text.contains("Internal Server Error"), "{path}: {}", seen.text);
        seen
    }

    /// Asks for pages at one time.
    async fn pages(&self, paths: Vec<String>) -> Vec<(String, Seen)> {
        let asked = paths.into_iter().map(|path| async {
            let seen = self.page(&path).await;
            (path, seen)
        });
        futures_util::future::join_all(asked).await
    }

    /// Pages whose content is in ClickHouse, and parts of pages that are loaded afterwards.
    fn of_clickhouse(&self) -> Vec<String> {
        let Self { ann, campaign, .. } = self;
        vec![
            "/console?events=on".to_owned(),
            "/console/explore?tab=trends&event=Seen&last=7d&answer=on".to_owned(),
            "/console/explore?tab=funnels&event=Seen&event=Seen&last=7d&answer=on".to_owned(),
            SQL.to_owned(),
            format!("/console/people/{ann}"),
            format!("/console/campaigns/{campaign}/report?numbers=on"),
        ]
    }

    /// Pages whose content is in PostgreSQL.
    fn of_postgres(&self) -> Vec<String> {
        let Self { ann, segment, campaign, list, .. } = self;
        vec![
            "/console".to_owned(),
            "/console/live".to_owned(),
            "/console/people".to_owned(),
            format!("/console/people/{ann}?tab=attributes"),
            format!("/console/people/{ann}?tab=consent"),
            format!("/console/people/{ann}?tab=identifiers"),
            format!("/console/people/{ann}?tab=edit"),
            format!("/console/people/{ann}?tab=privacy"),
            "/console/segments".to_owned(),
            format!("/console/segments/{segment}"),
            "/console/lists".to_owned(),
            format!("/console/lists/{list}"),
            "/console/campaigns".to_owned(),
            "/console/campaigns?rates=on".to_owned(),
            "/console/campaigns/new".to_owned(),
            format!("/console/campaigns/{campaign}"),
            format!("/console/campaigns/{campaign}/launch"),
            format!("/console/campaigns/{campaign}/test"),
            format!("/console/campaigns/{campaign}/versions"),
            format!("/console/campaigns/{campaign}/report"),
            "/console/suppressions".to_owned(),
            "/console/health".to_owned(),
            "/console/health/dead-letters".to_owned(),
            "/console/privacy".to_owned(),
            "/console/settings/keys".to_owned(),
            "/console/settings/channels".to_owned(),
            "/console/settings/domains".to_owned(),
            "/console/settings/members".to_owned(),
            "/console/settings/audit".to_owned(),
        ]
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_clickhouse_pages_show_what_is_elsewhere() {
    let folder = data_dir("console-clickhouse");
    let shop = shop(&folder).await;
    let frozen = Frozen::clickhouse(&folder);
    until_readiness(&shop.process.admin_url, "", 503).await;
    for (path, seen) in shop.pages(shop.of_clickhouse()).await {
        assert!(seen.text.contains(CLICKHOUSE), "{path}: {}", seen.text);
    }
    for (path, seen) in shop.pages(shop.of_postgres()).await {
        assert_eq!(seen.status, 200, "{path}: {}", seen.text);
        assert!(seen.text.contains("<h1"), "{path}: {}", seen.text);
    }
    assert!(shop.page("/console/campaigns?rates=on").await.text.contains("Spring"));
    drop(frozen);
    until_readiness(&shop.process.admin_url, "", 200).await;
    eventually("the timeline is there again", || async {
        let seen = shop.page(&format!("/console/people/{}", shop.ann)).await;
        (seen.status == 200 && seen.text.contains("Seen")).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_postgresql_pages_name_it() {
    let folder = data_dir("console-postgresql");
    let shop = shop(&folder).await;
    let frozen = Frozen::postgres(&folder);
    until_readiness(&shop.process.admin_url, "", 503).await;
    for (path, seen) in shop.pages(shop.of_postgres()).await {
        assert!(seen.text.contains(POSTGRES), "{path}: {}", seen.text);
    }
    drop(frozen);
    until_readiness(&shop.process.admin_url, "", 200).await;
    eventually("pages are there again", || async {
        (shop.page("/console/people").await.status == 200).then_some(())
    })
    .await;
}
