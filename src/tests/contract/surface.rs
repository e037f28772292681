//! The specification's endpoints, one line each: that they are mounted and no others, which scope each
//! wants, and that another workspace's ids are not found.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::{Value, json};
use web::auth::ScopeName;

use super::{
    campaign_endpoints::{campaign_reports, campaign_settings, campaigns, sends},
    line::{ABSENT_USER, Ids, Line},
};
use crate::kit::{Client, Workspace, unique};

const ABSENT_LIST: &str = "00000000-0000-7000-8000-00000000dead";
const ABSENT_SEGMENT: &str = "00000000-0000-7000-8000-000000005e9d";
const ABSENT_SENDER_DOMAIN: &str = "00000000-0000-7000-8000-0000000d0dad";
const ABSENT_INSIGHT: &str = "00000000-0000-7000-8000-0000001abead";
const ABSENT_PRIVACY_REQUEST: &str = "00000000-0000-7000-8000-0000000e4a5e";
const ABSENT_MEMBER: &str = "00000000-0000-7000-8000-00000000eade";
const ABSENT_KEY: &str = "deaddeaddead";
const ABSENT_CAMPAIGN: &str = "00000000-0000-7000-8000-0000000cdead";

const ABSENT: Ids<'static> = Ids {
    user: ABSENT_USER,
    external: "unknown-user",
    list: ABSENT_LIST,
    campaign: ABSENT_CAMPAIGN,
    segment: ABSENT_SEGMENT,
    insight: ABSENT_INSIGHT,
    privacy_request: ABSENT_PRIVACY_REQUEST,
    sender_domain: ABSENT_SENDER_DOMAIN,
    member: ABSENT_MEMBER,
    key: ABSENT_KEY,
};

struct Endpoint {
    method: Method,
    /// As the description has it.
    described: &'static str,
    /// As it is asked.
    path: String,
    body: Value,
    scope: &'static str,
}

fn events_and_users(ids: &Ids<'_>) -> Vec<Line> {
    let none = Value::Null;
    vec![
        (
            "POST",
            "/events/track",
            "",
            json!({"userId": ids.external, "eventName": "A"}),
            "events:write",
        ),
        ("GET", "/events/query", "", none.clone(), "events:read"),
        ("POST", "/events/aggregate", "", json!({"eventName": "A"}), "events:read"),
        // A stream that is answered has no end.
        ("GET", "/events/live", "?status=unknown", none.clone(), "events:read"),
        // NDJSON, which the lines here do not read, as that of people.
        ("GET", "/events/export", "?format=unknown", none.clone(), "events:read"),
        ("GET", "/events/rejected", "", none.clone(), "events:read"),
        ("GET", "/dead-letters", "", none.clone(), "events:read"),
        ("POST", "/dead-letters/retry", "", json!({}), "settings:write"),
        ("POST", "/users", "", json!({"userId": ids.user}), "users:write"),
        ("GET", "/users", "", none.clone(), "users:read"),
        ("GET", "/users/export", "?format=unknown", none.clone(), "users:read"),
        ("GET", "/users/search", "?query=unknown", none.clone(), "users:read"),
        ("GET", "/users/deleted", "", none.clone(), "users:read"),
        ("GET", "/users/by-user-id/{userId}", "", none.clone(), "users:read"),
        ("GET", "/users/{userId}", "", none.clone(), "users:read"),
        ("PUT", "/users/by-user-id/{userId}", "", json!({}), "users:write"),
        ("PUT", "/users/{userId}", "", json!({"phone": "1"}), "users:write"),
        ("GET", "/users/{userId}/events", "", none.clone(), "users:read"),
        ("GET", "/users/{userId}/identities", "", none.clone(), "users:read"),
        ("DELETE", "/users/{userId}/identities", "", json!({"ids": ["unknown"]}), "users:write"),
        ("GET", "/users/{userId}/devices", "", none.clone(), "users:read"),
        ("GET", "/users/{userId}/messages", "", none.clone(), "users:read"),
        (
            "POST",
            "/users/merge",
            "",
            json!({"from": ids.user, "into": ids.external}),
            "users:write",
        ),
        ("DELETE", "/users/{userId}", "", none, "users:delete"),
    ]
}

fn consent() -> Vec<Line> {
    let none = Value::Null;
    let channel = json!({"channel": "email"});
    vec![
        ("GET", "/subscriptions/contacts/{userId}", "", none.clone(), "compliance:read"),
        (
            "PUT",
            "/subscriptions/contacts/{userId}/channels/{channel}",
            "",
            json!({"channel": "email", "status": "optedIn"}),
            "compliance:write",
        ),
        (
            "POST",
            "/subscriptions/contacts/{userId}/clear-bounce",
            "",
            json!({}),
            "compliance:write",
        ),
        ("GET", "/subscriptions/contacts/{userId}/lists", "", none.clone(), "compliance:read"),
        (
            "POST",
            "/subscriptions/contacts/{userId}/lists/{listId}",
            "",
            channel.clone(),
            "compliance:write",
        ),
        (
            "DELETE",
            "/subscriptions/contacts/{userId}/lists/{listId}",
            "",
            channel,
            "compliance:write",
        ),
        ("GET", "/subscriptions/contacts/{userId}/history", "", none.clone(), "compliance:read"),
        (
            "GET",
            "/subscriptions/contacts/{userId}/channels/{channel}/status",
            "",
            none.clone(),
            "compliance:read",
        ),
        ("GET", "/subscriptions/contacts/{userId}/email-valid", "", none, "compliance:read"),
    ]
}

fn lists_and_page(ids: &Ids<'_>) -> Vec<Line> {
    let none = Value::Null;
    let bulk = json!({"contactIds": [ids.user], "channel": "email"});
    vec![
        ("POST", "/lists", "", json!({"name": unique("list")}), "settings:write"),
        ("GET", "/lists", "", none.clone(), "settings:read"),
        ("GET", "/lists/{listId}", "", none.clone(), "settings:read"),
        ("PUT", "/lists/{listId}", "", json!({"description": "x"}), "settings:write"),
        ("DELETE", "/lists/{listId}", "", none.clone(), "settings:write"),
        ("POST", "/lists/{listId}/restore", "", none.clone(), "settings:write"),
        ("GET", "/lists/{listId}/members", "", none.clone(), "compliance:read"),
        ("GET", "/lists/{listId}/stats", "", none.clone(), "settings:read"),
        ("POST", "/lists/{listId}/members/bulk", "", bulk.clone(), "settings:write"),
        ("DELETE", "/lists/{listId}/members/bulk", "", bulk, "settings:write"),
        (
            "POST",
            "/sender-domains",
            "",
            json!({"domain": format!("{}.test", unique("domain"))}),
            "settings:write",
        ),
        ("GET", "/sender-domains", "", none.clone(), "settings:read"),
        ("GET", "/sender-domains/{senderDomainId}", "", none.clone(), "settings:read"),
        ("POST", "/sender-domains/{senderDomainId}/verify", "", none.clone(), "settings:write"),
        ("DELETE", "/sender-domains/{senderDomainId}", "", none.clone(), "settings:write"),
        ("GET", "/channels", "", none.clone(), "settings:read"),
        ("GET", "/subscriptions/hosted-page/preference-center", "", none, "settings:read"),
        ("PUT", "/subscriptions/hosted-page/preference-center", "", json!({}), "settings:write"),
        ("POST", "/subscriptions/hosted-page/preview", "", json!({"html": "x"}), "settings:read"),
    ]
}

/// Keys, members and the audit log.
fn settings() -> Vec<Line> {
    let none = Value::Null;
    let key = json!({"name": "Own", "scopes": ["settings:write"]});
    let email = format!("{}@example.test", unique("member"));
    let member = json!({"email": email, "scopes": ["settings:write"]});
    vec![
        ("POST", "/keys", "", key, "settings:write"),
        ("GET", "/keys", "", none.clone(), "settings:read"),
        ("DELETE", "/keys/{keyId}", "", none.clone(), "settings:write"),
        ("GET", "/audit", "", none.clone(), "settings:read"),
        ("POST", "/members", "", member, "settings:write"),
        ("GET", "/members", "", none.clone(), "settings:read"),
        ("GET", "/members/{memberId}", "", none.clone(), "settings:read"),
        ("PATCH", "/members/{memberId}", "", json!({"name": "n"}), "settings:write"),
        ("DELETE", "/members/{memberId}", "", none.clone(), "settings:write"),
        ("POST", "/members/{memberId}/invitations", "", none.clone(), "settings:write"),
        ("GET", "/roles", "", none, "settings:read"),
    ]
}

fn segments(ids: &Ids<'_>) -> Vec<Line> {
    let none = Value::Null;
    let filter = json!({"type": "segment", "field": ids.segment, "operator": "member"});
    let targeting = json!({"filterGroups": [{"filters": [filter]}]});
    vec![
        (
            "POST",
            "/segments",
            "",
            json!({"name": "Segment", "targeting": targeting}),
            "users:write",
        ),
        ("GET", "/segments", "", none.clone(), "users:read"),
        ("GET", "/segments/{segmentId}", "", none.clone(), "users:read"),
        ("PUT", "/segments/{segmentId}", "", json!({"description": "x"}), "users:write"),
        ("DELETE", "/segments/{segmentId}", "", none.clone(), "users:write"),
        ("GET", "/segments/{segmentId}/members", "", none, "users:read"),
    ]
}

fn insights() -> Vec<Line> {
    let none = Value::Null;
    let trends = json!({"series": [{"eventName": "A"}], "last": {"amount": 1, "unit": "days"}});
    let funnel = json!({
        "steps": [{"eventName": "A"}, {"eventName": "B"}], "window": {"amount": 1, "unit": "days"},
        "last": {"amount": 1, "unit": "days"},
    });
    let retention = json!({
        "start": {"eventName": "A"}, "return": {"eventName": "B"}, "last": {"amount": 1, "unit": "days"},
    });
    let saved = json!({"name": "Insight", "kind": "trends", "question": trends});
    vec![
        ("POST", "/insights/trends", "", trends, "events:read"),
        ("POST", "/insights/funnels", "", funnel, "events:read"),
        ("POST", "/insights/retention", "", retention, "events:read"),
        ("GET", "/insights/events", "", none.clone(), "events:read"),
        ("GET", "/insights/properties", "?eventName=A", none.clone(), "events:read"),
        ("POST", "/insights", "", saved, "events:write"),
        ("GET", "/insights", "", none.clone(), "events:read"),
        ("GET", "/insights/{insightId}", "", none.clone(), "events:read"),
        ("PUT", "/insights/{insightId}", "", json!({"name": "Other"}), "events:write"),
        ("DELETE", "/insights/{insightId}", "", none.clone(), "events:write"),
        ("GET", "/insights/{insightId}/result", "", none, "events:read"),
    ]
}

fn privacy(ids: &Ids<'_>) -> Vec<Line> {
    let none = Value::Null;
    let export = json!({"type": "export", "externalId": ids.external});
    vec![
        ("POST", "/privacy/requests", "", export, "users:delete"),
        ("GET", "/privacy/requests", "", none.clone(), "users:delete"),
        ("GET", "/privacy/requests/{requestId}", "", none.clone(), "users:delete"),
        ("GET", "/privacy/requests/{requestId}/download", "", none, "users:delete"),
    ]
}

fn suppressions(ids: &Ids<'_>) -> Vec<Line> {
    let none = Value::Null;
    let row = json!({"channel": "email", "identifier": "a@example.test", "scope": "group", "listId": ids.list});
    let rows = json!({"channel": "email", "entries": [{"identifier": "b@example.test"}]});
    vec![
        ("GET", "/suppressions", "?channel=email", none.clone(), "email_suppression:read"),
        ("GET", "/suppressions/{identifier}", "?channel=sms", none.clone(), "sms_suppression:read"),
        (
            "GET",
            "/suppressions/{identifier}/history",
            "?channel=sms",
            none.clone(),
            "sms_suppression:read",
        ),
        ("POST", "/suppressions", "", row, "email_suppression:write"),
        (
            "POST",
            "/suppressions/hard-bounce",
            "",
            json!({"identifier": "c@example.test"}),
            "email_suppression:write",
        ),
        ("POST", "/suppressions/import", "", rows, "email_suppression:write"),
        ("DELETE", "/suppressions/{identifier}", "?channel=sms", none, "sms_suppression:write"),
    ]
}

/// What apps ask with an SDK key: beside the specification, and without scopes.
const OF_APPS: &[(&str, &str)] = &[
    ("/v1/track", "POST"),
    ("/v1/devices", "POST"),
    ("/v1/devices/{token}", "DELETE"),
    ("/v1/in-app/messages", "GET"),
    ("/v1/in-app/events", "POST"),
    ("/v1/subscriptions/channel", "POST"),
    ("/v1/subscriptions/group", "POST"),
];

/// Every endpoint of the specification that is there so far.
fn endpoints(ids: &Ids<'_>) -> Vec<Endpoint> {
    let lines = [
        events_and_users(ids),
        consent(),
        lists_and_page(ids),
        settings(),
        segments(ids),
        insights(),
        privacy(ids),
        suppressions(ids),
        campaigns(ids),
        sends(ids),
        campaign_settings(),
        campaign_reports(),
    ]
    .into_iter()
    .flatten();
    lines
        .map(|(method, described, query, body, scope)| {
            let user = if described.contains("by-user-id") { ids.external } else { ids.user };
            let path = described
                .replace("{userId}", user)
                .replace("{listId}", ids.list)
                .replace("{campaignId}", ids.campaign)
                .replace("{segmentId}", ids.segment)
                .replace("{insightId}", ids.insight)
                .replace("{requestId}", ids.privacy_request)
                .replace("{memberId}", ids.member)
                .replace("{senderDomainId}", ids.sender_domain)
                .replace("{keyId}", ids.key)
                .replace("{versionId}", "1")
                .replace("{channel}", "email")
                .replace("{identifier}", "%2B4915100000");
            let method = method.parse().unwrap();
            Endpoint { method, described, path: path + query, body, scope }
        })
        .collect()
}

/// Status and text of an answer, without what no two answers share.
async fn ask(client: &Client, endpoint: &Endpoint, ids: &Ids<'_>) -> (u16, String) {
    let mut request = client.request(endpoint.method.clone(), &endpoint.path);
    if !endpoint.body.is_null() {
        request = request.json(&endpoint.body);
    }
    let answer = request.send().await.unwrap();
    let status = answer.status().as_u16();
    let text = answer.text().await.unwrap();
    let mut json: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
    if let Some(body) = json.as_object_mut() {
        body.remove("timestamp");
        body.remove("path");
    }
    let mut text = json.to_string();
    for id in [
        ids.user,
        ids.external,
        ids.list,
        ids.campaign,
        ids.segment,
        ids.insight,
        ids.privacy_request,
        ids.sender_domain,
        ids.key,
    ] {
        text = text.replace(id, "ID");
    }
    (status, text)
}

#[tokio::test]
async fn exactly_the_specified_endpoints_are_described() {
    let description = Client::anonymous().get("/openapi.json", 200).await.json();
    let mut described = BTreeSet::new();
    for (path, item) in description["paths"].as_object().unwrap() {
        for method in item.as_object().unwrap().keys() {
            described.insert((path.clone(), method.to_uppercase()));
        }
    }
    for health in ["/livez", "/readyz"] {
        assert!(described.remove(&(health.to_owned(), "GET".to_owned())), "{health}");
    }
    for (path, method) in OF_APPS {
        let operation = ((*path).to_owned(), (*method).to_owned());
        assert!(described.remove(&operation), "{operation:?}");
        let security = &description["paths"][*path][method.to_lowercase()]["security"];
        let needed = if *path == "/v1/track" {
            json!([{"sdk_key": []}])
        } else {
            json!([{"sdk_key": [], "user_token": []}])
        };
        assert_eq!(*security, needed, "{path}");
    }
    let specified: BTreeSet<_> = endpoints(&ABSENT)
        .into_iter()
        .map(|endpoint| (endpoint.described.to_owned(), endpoint.method.to_string()))
        .collect();
    assert_eq!(described, specified);
}

#[tokio::test]
async fn every_endpoint_accepts_only_its_scope() {
    let workspace = Workspace::new().await;
    for scope in ScopeName::ALL {
        let client = workspace.with_scopes(scope.as_str()).await;
        for endpoint in endpoints(&ABSENT) {
            let (status, text) = ask(&client, &endpoint, &ABSENT).await;
            let Endpoint { method, path, scope: wanted, .. } = &endpoint;
            if *wanted == scope.as_str() {
                assert!(
                    ![401, 403].contains(&status) && status < 500,
                    "{scope:?} {method} {path}: {status} {text}"
                );
            } else {
                assert_eq!(status, 403, "{scope:?} {method} {path}: {text}");
                let mut lacking = wanted.split(' ').filter(|it| *it != scope.as_str());
                assert!(lacking.any(|it| text.contains(it)), "{method} {path}: {text}");
            }
        }
    }
    for endpoint in endpoints(&ABSENT).into_iter().filter(|it| it.scope.contains(' ')) {
        let client = workspace.with_scopes(&endpoint.scope.replace(' ', ",")).await;
        let (status, text) = ask(&client, &endpoint, &ABSENT).await;
        assert_eq!(status, 404, "{}: {text}", endpoint.path);
    }
    let anonymous = Client::anonymous();
    for endpoint in endpoints(&ABSENT) {
        assert_eq!(ask(&anonymous, &endpoint, &ABSENT).await.0, 401, "{}", endpoint.path);
    }
}

async fn foreign_ids_answer_as_absent_ones(here: &Workspace, theirs: &Ids<'_>) {
    let pairs = endpoints(theirs).into_iter().zip(endpoints(&ABSENT));
    for (foreign, absent) in pairs {
        let names_none = foreign.path == absent.path && foreign.body == absent.body;
        if names_none && !foreign.path.contains("%2B4915100000")
            || [
                "/lists",
                "/segments",
                "/sender-domains",
                "/insights",
                "/keys",
                "/members",
                "/audit",
            ]
            .contains(&foreign.path.as_str())
        {
            continue;
        }
        let found = ask(&here.api, &foreign, theirs).await;
        let expected = ask(&here.api, &absent, &ABSENT).await;
        // A stored event has an id of its own.
        if foreign.path != "/events/track" {
            assert_eq!(found, expected, "{} {}", foreign.method, foreign.path);
        }
    }
}

#[tokio::test]
async fn ids_of_another_workspace_are_404() {
    let (here, there) = (Workspace::new().await, Workspace::new().await);
    let external = unique("ann");
    let body = json!({"externalId": external, "email": format!("{external}@example.test"), "phone": "+4915100000"});
    let user = there.api.post("/users", &body, 201).await.json();
    let user = user["id"].as_str().unwrap();
    let list = there.api.post("/lists", &json!({"name": "Theirs"}), 201).await.json();
    let list = list["id"].as_str().unwrap();
    let membership = format!("/subscriptions/contacts/{user}/lists/{list}");
    there.api.post(&membership, &json!({"channel": "email"}), 200).await;
    let suppression = json!({"channel": "sms", "identifier": "+4915100000"});
    there.api.post("/suppressions", &suppression, 201).await;
    let body = json!({"name": "Theirs", "channel": "in_app"});
    let campaign = there.api.post("/campaigns", &body, 201).await.json();

    let domain = json!({"domain": format!("{}.test", unique("domain"))});
    let domain = there.api.post("/sender-domains", &domain, 201).await.json();
    let segment = json!({"name": "Theirs", "targeting": {}});
    let segment = there.api.post("/segments", &segment, 201).await.json();
    let insight = json!({"name": "Theirs", "kind": "trends", "question": {"series": [{}], "from": "2026-03-01"}});
    let insight = there.api.post("/insights", &insight, 201).await.json();
    let export = json!({"type": "export", "userId": user});
    let export = there.api.post("/privacy/requests", &export, 201).await.json();
    let member = json!({"email": "theirs@example.test", "role": "owner"});
    let member = there.api.post("/members", &member, 201).await.json();
    let key = json!({"name": "Theirs", "scopes": ["users:read"]});
    let key = there.api.post("/keys", &key, 201).await.json();
    let theirs = Ids {
        user,
        external: &external,
        list,
        campaign: campaign["id"].as_str().unwrap(),
        segment: segment["id"].as_str().unwrap(),
        insight: insight["id"].as_str().unwrap(),
        privacy_request: export["id"].as_str().unwrap(),
        sender_domain: domain["id"].as_str().unwrap(),
        member: member["id"].as_str().unwrap(),
        key: key["id"].as_str().unwrap(),
    };
    foreign_ids_answer_as_absent_ones(&here, &theirs).await;
    // And nothing happened there.
    let of = |base: &str, id: &str| format!("/{base}/{id}");
    there.api.get(of("users", user), 200).await;
    for (path, made) in [
        (of("campaigns", theirs.campaign), &campaign),
        (of("segments", theirs.segment), &segment),
        (of("insights", theirs.insight), &insight),
        (of("sender-domains", theirs.sender_domain), &domain),
    ] {
        assert_eq!(there.api.get(path, 200).await.json(), *made);
    }
    let keys = there.api.get("/keys", 200).await.json();
    assert_eq!(keys["data"][0]["id"], theirs.key);
    assert_eq!(keys["data"][0]["revokedAt"], json!(null));
    let member = there.api.get(format!("/members/{}", theirs.member), 200).await.json();
    assert_eq!(member["name"], json!(null));
    let members = there.api.get(format!("/lists/{list}/members"), 200).await.json();
    assert_eq!(members["members"][0]["status"], "subscribed");
    assert_eq!(members["total"], 1);
}
