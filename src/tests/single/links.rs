//! `/o/:token`, `/l/:token`, `/s/:code`.

use std::sync::Arc;

use futures_util::future::join_all;
use reqwest::{Client, Method, StatusCode, redirect::Policy};
use serde_json::{Value, json};
use tokio::sync::{Mutex, MutexGuard};

use super::fixture::{Sender, sender, start};
use crate::kit::{WhileUsed, eventually, unique};

/// A browser that does not follow.
fn browser(agent: &str) -> Client {
    Client::builder().redirect(Policy::none()).user_agent(agent).build().unwrap()
}

/// The first address in a text that begins so.
pub(crate) fn address(text: &str, begin: &str) -> String {
    let at = text.find(begin).unwrap_or_else(|| panic!("no {begin} in {text}"));
    let ends = |c: char| matches!(c, '"' | '\'' | '<' | ' ');
    text[at..].split(ends).next().unwrap().replace("&amp;", "&")
}

/// A campaign of one recipient that has arrived: its id, and the HTML.
pub(crate) async fn arrived(sender: &Sender) -> (String, String) {
    let Sender { api, .. } = sender;
    let person = sender.person().await;
    let body = json!({
        "name": unique("campaign"), "channel": "email", "targeting": {"userIds": [person.external_id]},
        "utmSettings": {"source": "news"},
        "variants": [{"id": "a", "name": "A", "weight": 100, "message": {"subject": "s",
            "html": "<body><a href=\"https://shop.test/a?b=1\">Shop</a><a href=\"{{ unsubscribe_url }}\">out</a></body>"}}],
    });
    let campaign = api.post("/campaigns", &body, 201).await.json();
    let id = campaign["id"].as_str().unwrap().to_owned();
    api.post(&format!("/campaigns/{id}/send"), &json!({}), 200).await;
    let mail =
        eventually("the mail arrives", async || sender.received_at(&person.email).pop()).await;
    (id, mail["message"]["html"].as_str().unwrap().to_owned())
}

async fn stats(id: &str) -> Value {
    sender().await.api.get(format!("/campaigns/{id}/stats"), 200).await.json()["stats"].clone()
}

#[tokio::test]
async fn opens_and_clicks_are_counted_separately_from_bots() {
    let Sender { url, .. } = &*sender().await;
    let (id, html) = arrived(&*sender().await).await;
    let (pixel, link) =
        (address(&html, &format!("{url}/o/")), address(&html, &format!("{url}/l/")));
    let person = browser("Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0");
    let machine = browser("Mozilla/5.0");

    // Asking is not looking.
    let asked = person.request(Method::HEAD, &link).send().await.unwrap();
    assert_eq!(asked.status(), StatusCode::FOUND);
    let prefetched = machine.get(&pixel).send().await.unwrap();
    assert_eq!(prefetched.headers()["content-type"], "image/gif");
    eventually("the bot's events are recorded", async || {
        let stats = stats(&id).await;
        (stats["machineOpened"] == 1).then_some(())
    })
    .await;
    let now = stats(&id).await;
    assert_eq!((&now["opened"], &now["clicked"]), (&json!(0), &json!(0)), "{now}");

    let opened = person.get(&pixel).send().await.unwrap();
    assert!(opened.headers()["cache-control"].to_str().unwrap().contains("no-store"));
    assert!(opened.bytes().await.unwrap().starts_with(b"GIF89a"));
    let followed = person.get(&link).send().await.unwrap();
    assert_eq!(followed.status(), StatusCode::FOUND);
    assert_eq!(followed.headers()["location"], "https://shop.test/a?b=1&utm_source=news");
    eventually("they are counted", async || {
        let stats = stats(&id).await;
        (stats["opened"] == 1 && stats["clicked"] == 1).then_some(())
    })
    .await;
}

#[tokio::test]
async fn unsigned_links_do_not_redirect() {
    let Sender { url, .. } = &*sender().await;
    let (_, html) = arrived(&*sender().await).await;
    let browser = browser("Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0");
    let (pixel, link) =
        (address(&html, &format!("{url}/o/")), address(&html, &format!("{url}/l/")));
    let out = address(&html, &format!("{url}/u/"));
    let (cut, longer) = (link[..link.len() - 1].to_owned(), format!("{link}A"));
    let mut forged = link.clone().into_bytes();
    let at = forged.len() - 30;
    forged[at] = if forged[at] == b'A' { b'B' } else { b'A' };
    for address in [
        cut,
        longer,
        String::from_utf8(forged).unwrap(),
        pixel.replace("/o/", "/l/"),
        link.replace("/l/", "/o/"),
        out.replace("/u/", "/l/"),
        format!("{url}/l/https:%2F%2Fevil.test"),
        format!("{url}/s/AAAAAAAAAA"),
        format!("{url}/s/{}", "A".repeat(5000)),
        format!("{url}/l/{}", "A".repeat(9000)),
    ] {
        let answer = browser.get(&address).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{address}");
        assert!(!answer.headers().contains_key("location"));
        let page = answer.text().await.unwrap();
        assert!(page.contains("does not work"), "{address}: {page}");
    }
    let answer = browser.get(format!("{url}/s/%00")).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::NOT_FOUND, "no route takes a NUL");
    let posted = browser.post(&link).send().await.unwrap();
    assert_eq!(posted.status(), StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test]
async fn a_short_link_redirects_like_the_long_one() {
    let Sender { api, url, .. } = &*sender().await;
    let person = sender().await.person().await;
    let body = json!({
        "name": unique("campaign"), "channel": "sms", "targeting": {"userIds": [person.external_id]},
        "variants": [{"id": "a", "name": "A", "weight": 100,
            "message": {"body": "See https://shop.test/a/very/long/way.", "shortenLinks": true}}],
    });
    let campaign = api.post("/campaigns", &body, 201).await.json();
    let id = campaign["id"].as_str().unwrap();
    api.post(&format!("/campaigns/{id}/send"), &json!({}), 200).await;
    let sms =
        eventually("the message arrives", async || sender().await.received_at(&person.phone).pop())
            .await;
    let text = sms["message"]["body"].as_str().unwrap();
    let short = address(text, &format!("{url}/s/"));
    let short = short.trim_end_matches('.');
    assert_eq!(text, format!("See {short}."));
    let followed = browser("Firefox/140.0").get(short).send().await.unwrap();
    assert_eq!(followed.headers()["location"], "https://shop.test/a/very/long/way");
    eventually("it is counted", async || (stats(id).await["clicked"] == 1).then_some(())).await;
}

/// Fetches one peer may have stored at once, on the server of the next tests.
const BURST: u64 = 20;
/// Fetches that the tests send at once. One of them is within the rate again each second, on a slow machine few more.
const AT_ONCE: u64 = 6 * BURST;

/// A server that stores few clicks of a peer and lets few look-ups fail, and believes what a proxy says of peers.
/// Its tests run one after the other, because all that it refuses is counted together.
async fn strict() -> (Arc<Sender>, MutexGuard<'static, ()>) {
    static TURN: Mutex<()> = Mutex::const_new(());
    static STRICT: WhileUsed<Sender> = WhileUsed::new();
    let settings = [
        ("MILLRACE_RATE_LIMITS__LINKS__PER_SECOND", "1".to_owned()),
        ("MILLRACE_RATE_LIMITS__LINKS__BURST", BURST.to_string()),
        ("MILLRACE_RATE_LIMITS__FAILED_LOOKUPS__PER_SECOND", "1".to_owned()),
        ("MILLRACE_RATE_LIMITS__FAILED_LOOKUPS__BURST", "20".to_owned()),
        ("MILLRACE_LIMITS__MESSAGE_ENGAGEMENTS_PER_MINUTE", "1000000".to_owned()),
        ("MILLRACE_HTTP__TRUSTED_PROXIES", "127.0.0.0/8".to_owned()),
    ];
    let turn = TURN.lock().await;
    (STRICT.get(async || start(&unique("single-strict"), &settings).await).await, turn)
}

/// The answer to a person at this address.
async fn fetched(url: &str, peer: &str) -> reqwest::Response {
    let browser = browser("Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0");
    browser.get(url).header("x-forwarded-for", peer).send().await.unwrap()
}

/// Requests over the rate of links so far.
async fn over_rate(sender: &Sender) -> u64 {
    let text = Client::new().get(format!("{}/metrics", sender.admin_url)).send().await;
    let text = text.unwrap().text().await.unwrap();
    let name = "millrace_http_requests_throttled_total{class=\"links\"} ";
    text.lines().find_map(|line| line.strip_prefix(name)).map_or(0, |count| count.parse().unwrap())
}

#[tokio::test]
async fn clicks_beyond_the_rate_of_an_address_redirect_without_being_stored() {
    let (sender, _turn) = strict().await;
    let sender = &*sender;
    let Sender { api, url, .. } = sender;
    let (id, html) = arrived(sender).await;
    let (pixel, link) =
        (address(&html, &format!("{url}/o/")), address(&html, &format!("{url}/l/")));
    let target = "https://shop.test/a?b=1&utm_source=news";
    // The server is shared with other tests.
    let before = over_rate(sender).await;
    let over_rate = async || over_rate(sender).await - before;
    let mut clicks = 0;
    while over_rate().await < 5 {
        assert!(clicks < 3 * AT_ONCE, "one peer's clicks are stored without end");
        for followed in join_all((0..AT_ONCE).map(|_| fetched(&link, "192.0.2.1"))).await {
            assert_eq!(followed.status(), StatusCode::FOUND);
            assert_eq!(followed.headers()["location"], target);
        }
        clicks += AT_ONCE;
    }
    let clicked = async || {
        let links = api.get(format!("/campaigns/{id}/links"), 200).await.json();
        links["totalClicks"].as_u64().unwrap()
    };
    let stored = clicks - over_rate().await;
    assert!(stored >= BURST, "{stored}");
    eventually("what was within the rate is counted", async || {
        (clicked().await == stored).then_some(())
    })
    .await;

    // Also over the rate nothing leads where this server did not sign.
    for forged in
        [format!("{link}A"), pixel.replace("/o/", "/l/"), format!("{url}/s/{}", "A".repeat(10))]
    {
        let answer = fetched(&forged, "192.0.2.1").await;
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{forged}");
        assert!(!answer.headers().contains_key("location"));
    }
    let before = over_rate().await;
    for opened in join_all((0..AT_ONCE).map(|_| fetched(&pixel, "192.0.2.1"))).await {
        assert_eq!(opened.status(), StatusCode::OK);
        assert!(opened.bytes().await.unwrap().starts_with(b"GIF89a"));
    }
    assert!(over_rate().await > before);

    fetched(&link, "192.0.2.2").await;
    eventually("another peer's click is counted", async || {
        (clicked().await == stored + 1).then_some(())
    })
    .await;
}

#[tokio::test]
async fn beyond_the_rate_short_links_redirect_and_unknown_codes_are_refused() {
    let (sender, _turn) = strict().await;
    let sender = &*sender;
    let Sender { api, url, .. } = sender;
    let person = sender.person().await;
    let body = json!({
        "name": unique("campaign"), "channel": "sms", "targeting": {"userIds": [person.external_id]},
        "variants": [{"id": "a", "name": "A", "weight": 100,
            "message": {"body": "See https://shop.test/a/very/long/way", "shortenLinks": true}}],
    });
    let campaign = api.post("/campaigns", &body, 201).await.json();
    let id = campaign["id"].as_str().unwrap();
    api.post(&format!("/campaigns/{id}/send"), &json!({}), 200).await;
    let sms =
        eventually("the message arrives", async || sender.received_at(&person.phone).pop()).await;
    let short = address(sms["message"]["body"].as_str().unwrap(), &format!("{url}/s/"));
    for _ in 0..3 * BURST {
        let followed = fetched(&short, "198.51.100.1").await;
        assert_eq!(followed.status(), StatusCode::FOUND);
        assert_eq!(followed.headers()["location"], "https://shop.test/a/very/long/way");
    }
    let unknown = |_: u64| {
        let code = &uuid::Uuid::new_v4().simple().to_string()[..10];
        let unknown = format!("{url}/s/{code}");
        async move { fetched(&unknown, "198.51.100.1").await }
    };
    let mut codes = 0;
    let refused = loop {
        let answers = join_all((0..AT_ONCE).map(unknown)).await;
        let is_unknown = |it: &reqwest::Response| it.status() == StatusCode::NOT_FOUND;
        let (looked_up, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(is_unknown);
        codes += looked_up.len();
        if let Some(refused) = refused.into_iter().next() {
            break refused;
        }
        assert!(codes < 1_000, "unknown codes are looked up without limit");
    };
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(refused.headers().contains_key("retry-after") && codes >= 20, "{codes}");
    let followed = fetched(&short, "198.51.100.2").await;
    assert_eq!(followed.status(), StatusCode::FOUND, "another peer has its own rate");
}
