//! Signing in by a link, and what a session may not do.

use std::sync::Arc;

use futures_util::future::join_all;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::kit::{Person, link};
use crate::kit::{
    BrowserTab, Client, MILLRACE, Workspace, data_dir, eventually, run, server, settings, unique,
};

#[tokio::test]
async fn a_link_signs_in_once() {
    let workspace = Workspace::new().await;
    let url = link(&workspace, "*").await;
    let person = Person::new();
    let seen = person.open(&url).await;
    assert_eq!((seen.status.as_u16(), seen.location()), (303, "/console"));
    let cookie = seen.set_cookie("millrace_session").unwrap();
    for flag in ["HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=604800"] {
        assert!(cookie.contains(flag), "{flag}: {cookie}");
    }
    assert!(!cookie.contains("Secure"), "the server is reached by HTTP: {cookie}");
    let home = person.get("/console").await;
    assert_eq!(home.status, 200, "{}", home.text);
    assert!(home.text.contains(&workspace.name) && home.text.contains("<title>Home · Millrace"));
    // Another person has no use for it.
    let peer = "127.0.1.1".parse().unwrap();
    let late = Person::at(&server().url, Some(peer));
    let seen = late.open(&url).await;
    assert_eq!(seen.status, 401);
    assert!(seen.text.contains("has been used"), "{}", seen.text);
    assert_eq!(late.get("/console").await.status, 303);
}

#[tokio::test]
async fn previews_do_not_use_up_a_link() {
    let workspace = Workspace::new().await;
    let url = link(&workspace, "*").await;
    let path = format!("{}?{}", url.path(), url.query().unwrap());
    let person = Person::new();
    let head = person.send(person.request(Method::HEAD, &path)).await;
    assert_eq!(head.status, 200);
    for (name, value) in [
        ("user-agent", "Slackbot-LinkExpanding 1.0"),
        ("sec-purpose", "prefetch"),
        ("sec-fetch-mode", "no-cors"),
    ] {
        let seen = person.send(person.request(Method::GET, &path).header(name, value)).await;
        assert_eq!(seen.status, 200, "{name}");
        assert!(seen.set_cookie("millrace_session").is_none(), "{name}");
        assert!(seen.text.contains("type=\"submit\""), "{name}: {}", seen.text);
    }
    // The button of that page does.
    let (_, token) = url.query_pairs().next().unwrap();
    let seen = person.post_bare("/console/login", &[("token", &token)]).await;
    assert_eq!(seen.status, 303, "{}", seen.text);
    assert_eq!(person.get("/console").await.status, 200);
}

#[tokio::test]
async fn another_site_cannot_sign_a_person_in() {
    let workspace = Workspace::new().await;
    let url = link(&workspace, "*").await;
    let (_, token) = url.query_pairs().next().unwrap();
    let person = Person::new();
    let request = person
        .request(Method::POST, "/console/login")
        .header("sec-fetch-site", "cross-site")
        .header("content-type", "application/x-www-form-urlencoded")
        .body(format!("token={token}"));
    assert_eq!(person.send(request).await.status, 403);
    assert_eq!(person.open(&url).await.status, 303, "the link is still good");
}

#[tokio::test]
async fn signing_in_leads_to_the_address_that_was_wanted() {
    let workspace = Workspace::new().await;
    let person = Person::new();
    let opened = person.request(Method::GET, "/console/anything?tab=a%20b");
    let seen = person.send(opened.header("accept", "text/html,*/*;q=0.8")).await;
    assert_eq!((seen.status.as_u16(), seen.location()), (303, "/console/login"));
    let login = person.get("/console/login").await;
    assert_eq!(login.status, 200);
    assert!(login.text.contains("millrace console link"), "{}", login.text);
    let seen = person.open(&link(&workspace, "*").await).await;
    assert_eq!(seen.location(), "/console/anything?tab=a%20b");
    // Once.
    let seen = person.open(&link(&workspace, "*").await).await;
    assert_eq!(seen.location(), "/console");
}

#[tokio::test]
async fn what_no_person_opens_is_not_wanted() {
    let person = Person::new();
    let get = |path: &str| person.request(Method::GET, path);
    let streamed = get("/console/live/stream").header("accept", "text/event-stream");
    let fetched = get("/console/people").header("accept", "text/html");
    let framed = get("/console/campaigns/x/typed").header("sec-fetch-dest", "iframe");
    for (request, status) in [
        (get("/console/people"), 303),
        (streamed.header("sec-fetch-mode", "cors"), 303),
        (fetched.header("sec-fetch-mode", "cors"), 303),
        (framed.header("sec-fetch-mode", "navigate"), 303),
        (person.request(Method::POST, "/console/lists").header("accept", "text/html"), 303),
        (get("/console/health/panels").header("hx-request", "true"), 286),
    ] {
        let seen = person.send(request).await;
        assert_eq!(seen.status, status);
        assert!(seen.set_cookie("millrace_wanted").is_none(), "{:?}", seen.headers);
    }
}

#[tokio::test]
async fn signing_in_leads_to_the_page_on_which_the_session_ended() {
    let workspace = Workspace::new().await;
    let of_page = |person: &Person, method: Method, page: &str| -> RequestBuilder {
        let request = person.request(method, "/console/health/panels");
        request.header("hx-request", "true").header("hx-current-url", page)
    };
    let own = format!("{}/console/segments/new?name=a%20b#rows", server().url);
    for (method, status) in [(Method::GET, 286), (Method::POST, 401)] {
        let person = Person::new();
        let seen = person.send(of_page(&person, method.clone(), &own)).await;
        assert_eq!(seen.status, status, "{method}");
        assert_eq!(seen.headers["hx-retarget"], "#toasts", "{method}");
        assert_eq!(seen.text.matches("class=\"toast\"").count(), 1, "{}", seen.text);
        assert!(seen.text.contains("href=\"/console/login\""), "{}", seen.text);
        let seen = person.open(&link(&workspace, "*").await).await;
        assert_eq!(seen.location(), "/console/segments/new?name=a%20b", "{method}");
    }
    for page in ["https://evil.test/console/live", "/console/live", &server().url, "no address"] {
        let person = Person::new();
        let seen = person.send(of_page(&person, Method::GET, page)).await;
        assert!(seen.set_cookie("millrace_wanted").is_none(), "{page}: {:?}", seen.headers);
    }
}

#[tokio::test]
async fn a_form_whose_session_ended_leads_back_to_its_page() {
    let workspace = Workspace::new().await;
    let sent = |person: &Person, page: &str| -> RequestBuilder {
        let request = person.request(Method::POST, "/console/lists");
        request.header("sec-fetch-mode", "navigate").header("referer", page)
    };
    let person = Person::new();
    let page = format!("{}/console/lists?page=2", server().url);
    let seen = person.send(sent(&person, &page)).await;
    assert_eq!((seen.status.as_u16(), seen.location()), (303, "/console/login"));
    // The page that signs in names itself to no one: links have their secret in the address.
    let login = person.get("/console/login").await;
    assert_eq!(login.headers["referrer-policy"], "no-referrer");
    let seen = person.open(&link(&workspace, "*").await).await;
    assert_eq!(seen.location(), "/console/lists?page=2");
    let secret = format!("{}/console/login?token=x", server().url);
    for page in ["https://evil.test/console/lists", &secret, "no address"] {
        let person = Person::new();
        let seen = person.send(sent(&person, page)).await;
        assert!(seen.set_cookie("millrace_wanted").is_none(), "{page}: {:?}", seen.headers);
    }
}

#[tokio::test]
async fn a_forged_cookie_leads_to_no_other_host() {
    let workspace = Workspace::new().await;
    for address in ["%2F%2Fevil.test", "https%3A%2F%2Fevil.test", "%2Fconsole%5C%5Cevil.test"] {
        let person = Person::new();
        let url = link(&workspace, "*").await;
        let path = format!("{}?{}", url.path(), url.query().unwrap());
        let request = person.request(Method::GET, &path);
        let seen =
            person.send(request.header("cookie", format!("millrace_wanted={address}"))).await;
        assert_eq!(seen.location(), "/console", "{address}");
    }
}

#[tokio::test]
async fn a_peer_has_five_failed_attempts() {
    let workspace = Workspace::new().await;
    let peer = "127.0.1.2".parse().unwrap();
    let person = Person::at(&server().url, Some(peer));
    for _ in 0..3 {
        // Those that succeed are not counted.
        assert_eq!(person.open(&link(&workspace, "*").await).await.status, 303);
    }
    for attempt in 0..5 {
        let seen = person.get("/console/login?token=mrl_wrong").await;
        assert_eq!(seen.status, 401, "attempt {attempt}");
    }
    let seen = person.get("/console/login?token=mrl_wrong").await;
    assert_eq!(seen.status, 429, "{}", seen.text);
    assert!(seen.headers.contains_key("retry-after"));
    assert!(seen.text.contains("<title>Sign in · Millrace"), "{}", seen.text);
    let other = Person::new();
    assert_eq!(other.open(&link(&workspace, "*").await).await.status, 303);
}

/// A request with a cookie of a session that never was.
fn invented(person: &Person) -> RequestBuilder {
    let cookie = format!("millrace_session=mrc_{}", unique("invented"));
    person.request(Method::GET, "/console").header("cookie", cookie)
}

#[tokio::test]
async fn a_session_is_found_whatever_others_of_its_peer_send() {
    let workspace = Workspace::new().await;
    let peer = Some("127.0.1.4".parse().unwrap());
    let (person, other) = (Person::at(&server().url, peer), Person::at(&server().url, peer));
    assert_eq!(person.open(&link(&workspace, "*").await).await.status, 303);
    // Tokens return while the test runs: all are sent at once.
    eventually("an invented cookie is refused", async || {
        let invented = join_all((0..150).map(|_| other.send(invented(&other))));
        let own = join_all((0..50).map(|_| person.get("/console/none")));
        let (invented, own) = futures_util::future::join(invented, own).await;
        for seen in own {
            assert_eq!(seen.status, 404, "{}", seen.text);
        }
        invented.iter().any(|it| it.status == 429).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_cookie_of_an_ended_session_does_not_lock_out_its_peer() {
    let workspace = Workspace::new().await;
    let peer = Some("127.0.1.5".parse().unwrap());
    let (person, other) = (Person::at(&server().url, peer), Person::at(&server().url, peer));
    assert_eq!(person.open(&link(&workspace, "*").await).await.status, 303);
    let cookies = person.cookies();
    assert_eq!(person.post("/console/logout", &[]).await.status, 303);
    // Pages that are still open ask again and again.
    let stale = || {
        let request = other.request(Method::GET, "/console/health/panels");
        other.send(request.header("hx-request", "true").header("cookie", &cookies))
    };
    for _ in 0..5 {
        for seen in join_all((0..40).map(|_| stale())).await {
            assert_eq!(seen.status, 286, "{}", seen.text);
        }
    }
    assert_eq!(other.send(invented(&other)).await.status, 303, "one that is not known yet");
}

#[tokio::test]
async fn a_peer_has_sixty_looks_for_sessions_that_do_not_exist() {
    let person = Person::at(&server().url, Some("127.0.1.3".parse().unwrap()));
    let invented = || person.send(invented(&person));
    for attempt in 0..60 {
        assert_eq!(invented().await.status, 303, "attempt {attempt}");
    }
    // One more a second is let through, which a busy machine may take for each of them: many are sent at once.
    eventually("one more is refused", async || {
        let seen = join_all((0..100).map(|_| invented())).await;
        let refused = seen.iter().find(|it| it.status == 429);
        refused.map(|it| assert!(it.headers.contains_key("retry-after")))
    })
    .await;
    // Those who send none are led to the page that signs in.
    assert_eq!(person.get("/console").await.status, 303);
}

#[tokio::test]
async fn a_session_ends_by_signing_out_and_by_revocation() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    let session = person.request(Method::GET, "/console");
    let seen = person.post("/console/logout", &[]).await;
    assert_eq!((seen.status.as_u16(), seen.location()), (303, "/console/login"));
    // The cookie of before is worth nothing.
    assert_eq!(person.send(session).await.status, 303);
    let person = Person::signed_in(&workspace, "*").await;
    let (db, id) = (server().db(), workspace.id);
    server()
        .on(async move {
            let now = kernel::Clock::system().now();
            let actor = web::auth::revoke::Revoked::Actor("ann@example.test".to_owned());
            web::auth::revoke::sessions(&db, id, now, &actor).await.unwrap();
        })
        .await;
    assert_eq!(person.get("/console").await.status, 303);
}

#[tokio::test]
async fn a_change_needs_the_token_of_its_own_session() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    let other = Person::signed_in(&workspace, "*").await;
    let theirs = other.get("/console").await;
    for fields in [&[][..], &[("csrf_token", "")], &[("csrf_token", theirs.csrf())]] {
        let seen = person.post_bare("/console/logout", fields).await;
        assert_eq!(seen.status, 403, "{fields:?}");
        assert!(seen.text.contains("not of this session"), "{}", seen.text);
    }
    let wrong = person.request(Method::POST, "/console/logout").header("x-csrf-token", "x");
    assert_eq!(person.send(wrong).await.status, 403);
    let own = person.get("/console").await;
    assert_eq!(own.status, 200, "nothing happened");
    let right = person.request(Method::POST, "/console/logout");
    let seen = person.send(right.header("x-csrf-token", own.csrf())).await;
    assert_eq!(seen.status, 303);
}

#[tokio::test]
async fn the_cookie_is_no_credential_of_the_api() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    assert_eq!(person.get("/users").await.status, 401);
}

#[tokio::test]
async fn opening_a_link_in_a_browser_ends_signed_in() {
    let tab = match BrowserTab::open().await {
        Ok(tab) => tab,
        Err(reason) => {
            eprintln!("SKIPPED opening_a_link_in_a_browser_ends_signed_in: {reason}");
            return;
        }
    };
    let workspace = Workspace::new().await;
    tab.go(&format!("{}/console?range=7", server().url)).await;
    assert_eq!(tab.address().await, "/console/login");
    tab.go(link(&workspace, "*").await.as_str()).await;
    tab.until("location.pathname === '/console' && document.querySelector('h1')").await;
    assert_eq!(tab.address().await, "/console?range=7");
    assert!(tab.text().await.contains(&workspace.name));
    tab.click(".sign-out button").await;
    tab.until("location.pathname === '/console/login' && document.querySelector('h1')").await;
    assert_eq!(tab.errors(), [""; 0]);
}

#[tokio::test]
async fn the_console_can_be_off() {
    let settings = settings(&data_dir("console-off"), &[("console", "off".to_owned())]);
    let server = Arc::new(run(settings, kernel::Clock::system()));
    let api = Client::new(&server.url, None);
    eventually("it answers", || async {
        api.request(Method::GET, "/readyz").send().await.ok().filter(|it| it.status() == 200)
    })
    .await;
    let person = Person::at(&server.url, None);
    for path in ["/", "/console", "/console/login", "/console/assets/x.css"] {
        assert_eq!(person.get(path).await.status, 404, "{path}");
    }
    // A member is made, without a link that would lead to no page.
    let api = Workspace::on(&server).await.api;
    let member = json!({"email": "ann@example.test", "role": "analyst"});
    let made = api.post("/members", &member, 201).await.json();
    assert_eq!((&made["email"], &made["invitation"]), (&member["email"], &Value::Null), "{made}");
    let path = format!("/members/{}/invitations", made["id"].as_str().unwrap());
    let refused = api.post(&path, &json!({}), 409).await;
    assert!(refused.text.contains("the console is off"), "{}", refused.text);
    let count = sqlx::query_scalar("select count(*) from member_invitation");
    let count: i64 = count.fetch_one(&server.db()).await.unwrap();
    assert_eq!(count, 0);
    let log = api.get("/audit", 200).await.json();
    assert_eq!(log["data"][0]["action"], "member.created", "{log}");
}

#[tokio::test]
async fn the_command_line_prints_no_link_where_the_console_is_off() {
    let output = tokio::process::Command::new(MILLRACE)
        .args(["console", "link", "--workspace", "demo"])
        .env("MILLRACE_DATA_DIR", data_dir("no-console-link"))
        .env("MILLRACE_CONSOLE", "off")
        .output()
        .await
        .unwrap();
    assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("the console is off"), "{text}");
}
