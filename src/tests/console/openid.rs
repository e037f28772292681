//! Signing in with an account at an OpenID provider.

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
};

use serde_json::{Value, json};
use url::Url;

use super::{
    kit::{Person, Seen},
    openid_provider::{Account, AddressAt, CLIENT_ID, CLIENT_SECRET, Fault, Provider},
};
use crate::kit::{
    BrowserTab, Client, TestServer, WhileUsed, data_dir, eventually, run, settings, unique,
};

/// A server whose members have accounts at a provider.
#[derive(Debug)]
struct Site {
    server: TestServer,
    provider: Provider,
    /// Its tests take turns: the provider signs in one account at a time.
    turn: tokio::sync::Mutex<()>,
}

async fn start() -> Site {
    // The provider outlives the test that starts it.
    let (send, receive) = std::sync::mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            send.send(Provider::start().await).unwrap();
            std::future::pending::<()>().await;
        });
    });
    let provider = tokio::task::spawn_blocking(move || receive.recv().unwrap()).await.unwrap();
    let besides = [
        ("openid.issuer", provider.issuer().to_owned()),
        ("openid.client_id", CLIENT_ID.to_owned()),
        ("openid.client_secret", CLIENT_SECRET.to_owned()),
    ];
    let settings = settings(&data_dir(&unique("openid")), &besides);
    let start = move || run(settings, kernel::Clock::system());
    let server = tokio::task::spawn_blocking(start).await.unwrap();
    Site { server, provider, turn: tokio::sync::Mutex::default() }
}

async fn site() -> Arc<Site> {
    static SITE: WhileUsed<Site> = WhileUsed::new();
    SITE.get(start).await
}

impl Site {
    /// A key of a new workspace.
    async fn workspace(&self) -> Client {
        self.workspace_named(&unique("openid")).await
    }

    async fn workspace_named(&self, name: &str) -> Client {
        let (key, _) = self.server.key(name, "*").await;
        Client::new(&self.server.url, Some(&key))
    }

    fn person(&self, last: u8) -> Person {
        Person::at(&self.server.url, Some(IpAddr::from([127, 0, 3, last])))
    }

    /// Goes to the provider and comes back.
    async fn sign_in(&self, person: &Person, account: Account) -> Seen {
        self.sign_in_by(person, account, "/console/login/openid").await
    }

    /// Likewise by an address that names a workspace.
    async fn sign_in_by(&self, person: &Person, account: Account, address: &str) -> Seen {
        self.provider.sign_in_as(account);
        let back = self.authorized_by(person, address).await;
        person.open(&back).await
    }

    async fn authorized(&self, person: &Person) -> Url {
        self.authorized_by(person, "/console/login/openid").await
    }

    /// The address with which the provider leads back.
    async fn authorized_by(&self, person: &Person, address: &str) -> Url {
        let seen = person.get(address).await;
        assert_eq!(seen.status, 303, "{}", seen.text);
        let browser =
            reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        let answer = browser.get(seen.location()).send().await.unwrap();
        let back: Url = answer.headers()["location"].to_str().unwrap().parse().unwrap();
        assert!(back.as_str().starts_with(&self.server.url), "{back}");
        back
    }
}

async fn member(api: &Client, email: &str) -> Value {
    api.post("/members", &json!({"email": email, "role": "analyst"}), 201).await.json()
}

fn account(email: &str) -> Account {
    Account {
        subject: unique("subject"),
        email: email.to_owned(),
        is_verified: true,
        address_at: AddressAt::IdToken,
        fault: Fault::None,
    }
}

#[tokio::test]
async fn a_member_of_two_workspaces_chooses_one() {
    let site = site().await;
    let _turn = site.turn.lock().await;
    let email = format!("{}@example.test", unique("ann"));
    let names = [unique("one"), unique("other")];
    let ann = account(&email);
    member(&site.workspace_named(&names[0]).await, &email).await;
    assert_eq!(site.sign_in(&site.person(100), ann.clone()).await.status, 303);
    // Made a member of another workspace, with an account already.
    member(&site.workspace_named(&names[1]).await, &email).await;
    let person = site.person(101);
    let seen = site.sign_in(&person, ann.clone()).await;
    assert_eq!(seen.status, 200, "{}", seen.text);
    assert!(seen.text.contains("<h1>Choose a workspace</h1>"), "{}", seen.text);
    assert!(seen.set_cookie("millrace_session").is_none(), "{:?}", seen.headers);
    for name in &names {
        let address = format!("/console/login/openid?workspace={name}");
        assert!(seen.text.contains(&format!("href=\"{address}\"")), "{}", seen.text);
        assert_eq!(site.sign_in_by(&person, ann.clone(), &address).await.status, 303);
        let home = person.get("/console").await;
        assert!(home.text.contains(name), "{}", home.text);
    }
    // Of a workspace that is another's there is as much as of none.
    let theirs = unique("theirs");
    site.workspace_named(&theirs).await;
    for name in [theirs, unique("none")] {
        let address = format!("/console/login/openid?workspace={name}");
        let seen = site.sign_in_by(&site.person(102), ann.clone(), &address).await;
        assert_eq!(seen.status, 403);
        assert!(seen.text.contains("No member of the workspace that was named"), "{}", seen.text);
    }
    // The page that signs in passes on the workspace that it was opened for.
    let login = site.person(102).get("/console/login?workspace=a%20%26%20b").await;
    assert!(login.text.contains("href=\"/console/login/openid?workspace=a+%26+b\""));
    assert!(login.text.contains("value=\"a &amp; b\""), "{}", login.text);
}

#[tokio::test]
async fn an_address_that_has_passed_to_another_person_makes_them_no_member() {
    let site = site().await;
    let _turn = site.turn.lock().await;
    let email = format!("{}@example.test", unique("ann"));
    let (ann, bob) = (account(&email), account(&email));
    member(&site.workspace().await, &email).await;
    assert_eq!(site.sign_in(&site.person(103), ann.clone()).await.status, 303);
    let api = site.workspace().await;
    let made = member(&api, &email).await;
    assert_eq!(site.sign_in(&site.person(104), bob).await.status, 403);
    let path = format!("/members/{}", made["id"].as_str().unwrap());
    assert_eq!(api.get(&path, 200).await.json()["hasAccount"], json!(false));
    // An address that is not verified makes no one a member either.
    let unverified = Account { is_verified: false, ..ann.clone() };
    assert_eq!(site.sign_in(&site.person(105), unverified).await.status, 303);
    assert_eq!(api.get(&path, 200).await.json()["hasAccount"], json!(false));
    assert_eq!(site.sign_in(&site.person(105), ann).await.status, 200);
    assert_eq!(api.get(&path, 200).await.json()["hasAccount"], json!(true));
}

#[tokio::test]
async fn an_address_that_the_id_token_lacks_is_asked_for() {
    let site = site().await;
    let _turn = site.turn.lock().await;
    let email = format!("{}@example.test", unique("ann"));
    member(&site.workspace().await, &email).await;
    let ann = Account { address_at: AddressAt::UserInfo, ..account(&email) };
    for (at, fault, status) in [(106, Fault::OtherSubject, 401), (107, Fault::NoUserInfo, 502)] {
        let seen = site.sign_in(&site.person(at), Account { fault, ..ann.clone() }).await;
        assert_eq!(seen.status, status, "{fault:?}: {}", seen.text);
        assert!(seen.set_cookie("millrace_session").is_none(), "{fault:?}");
    }
    let unverified = Account { is_verified: false, ..ann.clone() };
    assert_eq!(site.sign_in(&site.person(108), unverified).await.status, 403);
    let person = site.person(109);
    assert_eq!(site.sign_in(&person, ann).await.status, 303);
    assert_eq!(person.get("/console/explore").await.status, 200);
}

#[tokio::test]
async fn a_member_with_the_account_signs_in_although_its_address_cannot_be_asked_for() {
    let site = site().await;
    let _turn = site.turn.lock().await;
    let email = format!("{}@example.test", unique("ann"));
    let names = [unique("one"), unique("other")];
    member(&site.workspace_named(&names[0]).await, &email).await;
    let ann = Account { address_at: AddressAt::UserInfo, ..account(&email) };
    assert_eq!(site.sign_in(&site.person(110), ann.clone()).await.status, 303);
    let away = Account { fault: Fault::NoUserInfo, ..ann.clone() };
    let person = site.person(111);
    assert_eq!(site.sign_in(&person, away.clone()).await.status, 303);
    assert_eq!(person.get("/console/explore").await.status, 200);
    // An answer about another account is refused as before.
    let other = Account { fault: Fault::OtherSubject, ..ann.clone() };
    assert_eq!(site.sign_in(&site.person(112), other).await.status, 401);
    // Where the account is no member's yet, the address is needed.
    member(&site.workspace_named(&names[1]).await, &email).await;
    let address = |name: &str| format!("/console/login/openid?workspace={name}");
    let seen = site.sign_in_by(&site.person(113), away.clone(), &address(&names[1])).await;
    assert_eq!(seen.status, 502, "{}", seen.text);
    assert!(seen.text.contains("does not answer"), "{}", seen.text);
    let seen = site.sign_in_by(&site.person(114), away, &address(&names[0])).await;
    assert_eq!(seen.status, 303, "{}", seen.text);
    let seen = site.sign_in_by(&site.person(115), ann, &address(&names[1])).await;
    assert_eq!(seen.status, 303, "{}", seen.text);
}

#[tokio::test]
async fn an_account_stays_one_member_s_when_its_address_is_another_member_s() {
    let site = site().await;
    let _turn = site.turn.lock().await;
    let api = site.workspace().await;
    let [before, after] = ["before", "after"].map(|it| format!("{}@example.test", unique(it)));
    let (first, second) = (member(&api, &before).await, member(&api, &after).await);
    let ann = account(&before);
    assert_eq!(site.sign_in(&site.person(116), ann.clone()).await.status, 303);
    let has_account = async |member: &Value| {
        let path = format!("/members/{}", member["id"].as_str().unwrap());
        api.get(&path, 200).await.json()["hasAccount"].clone()
    };
    // The provider says the other address from now on, of which there is a member, too.
    let moved = Account { email: after.clone(), ..ann };
    let person = site.person(117);
    assert_eq!(site.sign_in(&person, moved.clone()).await.status, 303);
    let home = person.get("/console").await;
    assert!(home.text.contains(&before) && !home.text.contains(&after), "{}", home.text);
    assert_eq!([has_account(&first).await, has_account(&second).await], [true, false]);
    // Of another workspace the member with that address is theirs: they have it by now.
    let elsewhere = unique("elsewhere");
    member(&site.workspace_named(&elsewhere).await, &after).await;
    let address = format!("/console/login/openid?workspace={elsewhere}");
    let there = site.person(118);
    assert_eq!(site.sign_in_by(&there, moved.clone(), &address).await.status, 303);
    assert!(there.get("/console").await.text.contains(&after));
    // So the address is no other account's, and the member of the first workspace waits for a password.
    assert_eq!(site.sign_in(&site.person(119), account(&after)).await.status, 403);
    assert_eq!(has_account(&second).await, false);
    // Without the first member, the second one of the workspace is theirs.
    let path = format!("/members/{}", first["id"].as_str().unwrap());
    api.send(api.request(reqwest::Method::DELETE, &path), 204).await;
    assert_eq!(site.sign_in(&site.person(120), moved).await.status, 200, "of two workspaces");
    assert_eq!(has_account(&second).await, true);
}

#[tokio::test]
async fn a_verified_address_signs_in_its_member_and_the_account_counts_from_then_on() {
    let site = site().await;
    let _turn = site.turn.lock().await;
    let api = site.workspace().await;
    let email = format!("{}@example.test", unique("ann"));
    let made = member(&api, &email).await;
    let person = site.person(1);
    let login = person.get("/console/login").await;
    assert!(login.text.contains("Sign in with 127.0.0.1"), "{}", login.text);
    let ann = account(&email);
    let unverified = Account { is_verified: false, ..ann.clone() };
    let seen = site.sign_in(&person, unverified).await;
    assert_eq!(seen.status, 403, "{}", seen.text);
    assert!(seen.text.contains("No member has this account"), "{}", seen.text);
    let seen = site.sign_in(&person, ann.clone()).await;
    assert_eq!((seen.status.as_u16(), seen.location()), (303, "/console"), "{}", seen.text);
    assert_eq!(person.get("/console/explore").await.status, 200);
    assert_eq!(person.get("/console/suppressions").await.status, 403);
    // The account has another address by now, and its old one is another's.
    let moved = Account { email: "ann@elsewhere.test".to_owned(), is_verified: false, ..ann };
    let again = site.person(2);
    assert_eq!(site.sign_in(&again, moved).await.status, 303);
    assert_eq!(site.sign_in(&site.person(3), account(&email)).await.status, 403);
    let path = format!("/members/{}", made["id"].as_str().unwrap());
    let found = api.get(&path, 200).await.json();
    assert_eq!((&found["hasPassword"], &found["hasAccount"]), (&json!(false), &json!(true)));
    api.send(api.request(reqwest::Method::DELETE, &path), 204).await;
    assert_eq!(again.get("/console").await.status, 303);
}

#[tokio::test]
async fn answers_that_are_not_to_this_browser_or_not_signed_sign_no_one_in() {
    let site = site().await;
    let _turn = site.turn.lock().await;
    let api = site.workspace().await;
    let email = format!("{}@example.test", unique("ann"));
    member(&api, &email).await;
    let faults = [
        Fault::Nonce,
        Fault::Audience,
        Fault::Issuer,
        Fault::Expired,
        Fault::Signature,
        Fault::Unsigned,
        Fault::Confused,
    ];
    for (at, fault) in (10..).zip(faults) {
        let person = site.person(at);
        let seen = site.sign_in(&person, Account { fault, ..account(&email) }).await;
        assert_eq!(seen.status, 401, "{fault:?}: {}", seen.text);
        assert!(seen.set_cookie("millrace_session").is_none(), "{fault:?}");
    }
    let missing = Account { fault: Fault::Missing, ..account(&email) };
    assert_eq!(site.sign_in(&site.person(20), missing).await.status, 502);
    site.provider.sign_in_as(account(&email));
    // Another browser's answer, one twice, and none.
    let (person, other) = (site.person(21), site.person(22));
    let back = site.authorized(&person).await;
    assert_eq!(other.open(&back).await.status, 401);
    site.authorized(&other).await;
    assert_eq!(other.open(&back).await.status, 401);
    assert_eq!(person.open(&back).await.status, 303);
    assert_eq!(person.open(&back).await.status, 401);
    for query in ["", "?error=access_denied", "?code=x", "?code=x&state=y"] {
        let seen = site.person(23).get(&format!("/console/login/openid/callback{query}")).await;
        assert_eq!(seen.status, 401, "{query}");
    }
}

#[tokio::test]
async fn a_key_that_the_provider_has_changed_is_asked_for() {
    let site = site().await;
    let _turn = site.turn.lock().await;
    let api = site.workspace().await;
    let email = format!("{}@example.test", unique("ann"));
    member(&api, &email).await;
    let ann = account(&email);
    assert_eq!(site.sign_in(&site.person(40), ann.clone()).await.status, 303);
    site.provider.rotate_key();
    // The keys may have been asked for just now.
    let peers = AtomicU8::new(41);
    eventually("it signs in with the new key", async || {
        let person = site.person(peers.fetch_add(1, Ordering::Relaxed));
        let seen = site.sign_in(&person, ann.clone()).await;
        (seen.status == 303).then_some(())
    })
    .await;
    let unpublished = Account { fault: Fault::Signature, ..ann };
    assert_eq!(site.sign_in(&site.person(39), unpublished).await.status, 401);
}

#[tokio::test]
async fn a_browser_signs_in_at_the_provider() {
    let tab = match BrowserTab::open().await {
        Ok(tab) => tab,
        Err(reason) => {
            return eprintln!("SKIPPED a_browser_signs_in_at_the_provider: {reason}");
        }
    };
    let site = site().await;
    let _turn = site.turn.lock().await;
    let api = site.workspace().await;
    let email = format!("{}@example.test", unique("ann"));
    member(&api, &email).await;
    site.provider.sign_in_as(account(&email));
    // The address that was wanted is where it leads.
    tab.go(&format!("{}/console/live", site.server.url)).await;
    tab.until("document.title.startsWith('Sign in')").await;
    tab.click("a[href='/console/login/openid']").await;
    tab.until("document.title.startsWith('Live')").await;
    assert_eq!(tab.errors(), [""; 0]);
}

#[tokio::test]
async fn without_a_provider_or_with_one_that_is_away_the_other_ways_stay() {
    let plain = Person::new();
    assert!(!plain.get("/console/login").await.text.contains("openid"));
    assert_eq!(plain.get("/console/login/openid").await.status, 404);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let away = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let besides = [
        ("openid.issuer", away),
        ("openid.client_id", CLIENT_ID.to_owned()),
        ("openid.client_secret", CLIENT_SECRET.to_owned()),
    ];
    let settings = settings(&data_dir("openid-away"), &besides);
    let server = run(settings, kernel::Clock::system());
    let person = Person::at(&server.url, None);
    let seen = person.get("/console/login/openid").await;
    assert_eq!(seen.status, 502, "{}", seen.text);
    assert!(seen.text.contains("does not answer") && seen.text.contains("id=\"password\""));
}
