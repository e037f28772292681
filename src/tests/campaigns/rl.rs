//! Campaigns with reinforcement learning.

use campaigns::model::learning::Learning;
use kernel::{CampaignId, Clock};
use reqwest::Method;
use serde_json::{Value, json};
use statistics::delay::{AgeGroup, CLOSED};

use super::{call, id, made, read, triggered};
use crate::kit::{Answer, Client, Workspace, server};

/// A campaign of two variants and a control group, which stays live once it is.
fn choices() -> Value {
    let mut body = triggered("Learns");
    let variant = |id: &str| {
        let mut variant = body["variants"][0].clone();
        (variant["id"], variant["weight"]) = (json!(id), json!(45));
        variant
    };
    let control = json!({"id": "c", "name": "Control", "weight": 10, "isControlGroup": true});
    body["variants"] = json!([control, variant("a"), variant("b")]);
    body
}

async fn launch(client: &Client, campaign: &Value, plan: Value, status: u16) -> Answer {
    let path = format!("/campaigns/{}/launch-rl", id(campaign));
    client.send(client.request(Method::POST, &path).json(&plan), status).await
}

async fn stats(client: &Client, campaign: &Value) -> Value {
    client.get(format!("/campaigns/{}/rl-stats", id(campaign)), 200).await.json()
}

fn near(value: &Value, expected: f64) -> bool {
    (value.as_f64().unwrap() - expected).abs() < 1e-6
}

#[tokio::test]
async fn a_learning_campaign_starts_without_results() {
    let workspace = Workspace::new().await;
    let campaign = made(&workspace.api, &choices()).await;
    let plan =
        json!({"objective": "conversion", "rewardWindowHours": 48, "minExplorationPercent": 10});
    let launched = launch(&workspace.api, &campaign, plan, 200).await.json();
    assert_eq!(launched["status"], "active");
    let rl = &launched["rl"];
    assert_eq!((&rl["status"], &rl["objective"]), (&json!("learning"), &json!("conversion")));
    assert_eq!((&rl["rewardWindowHours"], &rl["minExplorationPercent"]), (&json!(48), &json!(10)));
    assert_eq!(read(&workspace.api, &campaign).await["rl"], *rl);

    let stats = stats(&workspace.api, &campaign).await;
    assert_eq!(stats["campaignId"], campaign["id"]);
    assert_eq!(
        (&stats["status"], &stats["policy"]),
        (&json!("learning"), &json!("thompson_sampling"))
    );
    assert_eq!((&stats["totalSends"], &stats["totalRewards"]), (&json!(0), &json!(0)));
    assert_eq!(stats["startedAt"], launched["startedAt"]);
    let arms = stats["arms"].as_array().unwrap();
    let ids: Vec<&Value> = arms.iter().map(|arm| &arm["variantId"]).collect();
    assert_eq!(ids, ["a", "b"], "the control group is not to choose from");
    for arm in arms {
        assert_eq!((&arm["sends"], &arm["rewards"]), (&json!(0), &json!(0)));
        assert_eq!((&arm["matureSends"], &arm["pendingSends"]), (&json!(0.0), &json!(0.0)));
        assert!(near(&arm["alpha"], 1.0) && near(&arm["beta"], 1.0));
        assert!(near(&arm["probabilityToBeBest"], 0.5) && near(&arm["allocation"], 0.5));
        assert!(near(&arm["interval"]["lower"], 0.025) && near(&arm["interval"]["upper"], 0.975));
    }
    assert!(near(&stats["estimatedLiftVsUniform"], 0.0));
    // Of two rates of which nothing is known the other may well be nine times better.
    let remaining = stats["valueRemaining"].as_f64().unwrap();
    assert!((7.0..11.0).contains(&remaining), "{remaining}");
    assert_eq!(self::stats(&workspace.api, &campaign).await, stats, "the same each time");
    assert_eq!(stats["timeline"].as_array().unwrap().len(), 1);
    assert!(near(&stats["timeline"][0]["allocations"]["a"], 0.5));
}

#[tokio::test]
async fn rl_stats_follow_recorded_outcomes() {
    let workspace = Workspace::new().await;
    let campaign = made(&workspace.api, &choices()).await;
    launch(&workspace.api, &campaign, json!({}), 200).await;
    // As delivery does: outcomes are learnt, and the state is stored.
    let id: uuid::Uuid = id(&campaign).parse().unwrap();
    let (db, owner) = (server().db(), workspace.id.uuid());
    server()
        .on(async move {
            let found: Value =
                sqlx::query_scalar("select rl from campaign where workspace_id = $1 and id = $2")
                    .bind(owner)
                    .bind(id)
                    .fetch_one(&db)
                    .await
                    .unwrap();
            let mut learning: Learning = serde_json::from_value(found).unwrap();
            let group = |delay, messages| AgeGroup { age: CLOSED, delay, messages };
            let observed = [200, 250]
                .map(|rewards| vec![group(Some(0), rewards), group(None, 1000 - rewards)]);
            for _ in 0..3 {
                learning.learn(&observed, None, CampaignId::new(id), Clock::system().now());
            }
            sqlx::query("update campaign set rl = $3 where workspace_id = $1 and id = $2")
                .bind(owner)
                .bind(id)
                .bind(serde_json::to_value(&learning).unwrap())
                .execute(&db)
                .await
                .unwrap();
        })
        .await;
    let stats = stats(&workspace.api, &campaign).await;
    assert_eq!((&stats["totalSends"], &stats["totalRewards"]), (&json!(2000), &json!(450)));
    assert!(near(&stats["rewardRate"], 0.225));
    let (worse, better) = (&stats["arms"][0], &stats["arms"][1]);
    // The closed form says 0.9963.
    assert!((better["probabilityToBeBest"].as_f64().unwrap() - 0.9963).abs() < 5e-5, "{better}");
    // No improvement of note remains, so that the better has all but the minimum share of the other.
    assert_eq!(stats["status"], "converged");
    assert!(near(&better["allocation"], 0.95) && near(&worse["allocation"], 0.05));
    assert_eq!(stats["timeline"][3]["allocations"]["b"], better["allocation"]);
    assert_eq!((&better["matureSends"], &better["pendingSends"]), (&json!(1000.0), &json!(0.0)));
    assert_eq!((&stats["intervalOf"], &stats["rewardIs"]), (&json!("mature"), &json!("click")));
    assert_eq!((&stats["ratesWithinSeconds"], &stats["warnings"]), (&Value::Null, &json!([])));
    assert!(read(&workspace.api, &campaign).await["rl"]["delays"].is_null());
    assert!(stats["estimatedLiftVsUniform"].as_f64().unwrap() > 0.05);

    let asked = json!({"pathIds": ["p"], "variantIds": ["a", "unknown"]});
    let warmth = workspace.api.post("/campaigns/ml-path-warmth", &asked, 200).await.json();
    assert_eq!(
        warmth["items"],
        json!([
            {"id": "p", "observations": 0, "required": 100, "warmth": 0.0, "state": "cold"},
            {"id": "a", "observations": 1000, "required": 100, "warmth": 1.0, "state": "warm"},
            {"id": "unknown", "observations": 0, "required": 100, "warmth": 0.0, "state": "cold"},
        ])
    );
    let stranger = Workspace::new().await;
    let warmth = stranger.api.post("/campaigns/ml-path-warmth", &asked, 200).await.json();
    assert_eq!(
        warmth["items"][1]["observations"], 0,
        "variants of another workspace are not counted"
    );
}

#[tokio::test]
async fn paused_learning_resumes_with_its_state() {
    let workspace = Workspace::new().await;
    let campaign = made(&workspace.api, &choices()).await;
    for suffix in ["pause-rl", "resume-rl"] {
        call(&workspace.api, &campaign, suffix, 400).await;
    }
    workspace.api.get(format!("/campaigns/{}/rl-stats", id(&campaign)), 400).await;
    let launched = launch(&workspace.api, &campaign, json!({}), 200).await.json();
    launch(&workspace.api, &campaign, json!({}), 409).await;
    call(&workspace.api, &campaign, "resume-rl", 409).await;

    let paused = call(&workspace.api, &campaign, "pause-rl", 200).await.json();
    assert_eq!((&paused["status"], &paused["rl"]), (&json!("paused"), &launched["rl"]));
    assert_eq!(stats(&workspace.api, &campaign).await["status"], "paused");
    call(&workspace.api, &campaign, "pause-rl", 409).await;
    let resumed = call(&workspace.api, &campaign, "resume-rl", 200).await.json();
    assert_eq!((&resumed["status"], &resumed["rl"]), (&json!("active"), &launched["rl"]));
    let history =
        workspace.api.get(format!("/campaigns/{}/history", id(&campaign)), 200).await.json();
    let actions: Vec<&Value> =
        history["items"].as_array().unwrap().iter().map(|item| &item["action"]).collect();
    assert_eq!(actions, ["resumed", "paused", "rl_launched", "created"]);
}

#[tokio::test]
async fn learning_needs_at_least_two_variants() {
    let workspace = Workspace::new().await;
    let mut body = choices();
    body["variants"].as_array_mut().unwrap().remove(2);
    body["variants"][1]["weight"] = json!(90);
    let campaign = made(&workspace.api, &body).await;
    let refused = launch(&workspace.api, &campaign, json!({}), 400).await;
    assert_eq!(
        refused.errors(),
        ["variants must be at least 2 besides the control group to learn from, found 1"]
    );
    assert_eq!(read(&workspace.api, &campaign).await["status"], "draft");

    let campaign = made(&workspace.api, &choices()).await;
    let wrong = json!({"objective": "fame", "rewardWindowHours": 0, "minExplorationPercent": 51});
    let refused = launch(&workspace.api, &campaign, wrong, 400).await;
    assert_eq!(
        refused.errors(),
        [
            "objective must be one of: open, click, conversion, revenue",
            "rewardWindowHours must be between 1 and 720",
            "minExplorationPercent must be between 0 and 50",
        ]
    );
}

#[tokio::test]
async fn only_one_of_concurrent_launches_succeeds() {
    let workspace = Workspace::new().await;
    let campaign = made(&workspace.api, &choices()).await;
    let path = format!("/campaigns/{}/launch-rl", id(&campaign));
    let calls = (0..6).map(|_| workspace.api.request(Method::POST, &path).send());
    let answers = futures_util::future::join_all(calls).await;
    let mut statuses: Vec<u16> =
        answers.into_iter().map(|it| it.unwrap().status().as_u16()).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409, 409, 409, 409, 409]);
}

#[tokio::test]
async fn path_warmth_takes_1_to_100_ids() {
    let workspace = Workspace::new().await;
    let ask = |body: Value, status: u16| {
        let api = workspace.api.clone();
        async move { api.post("/campaigns/ml-path-warmth", &body, status).await }
    };
    ask(json!({}), 400).await;
    ask(json!({"pathIds": [], "variantIds": []}), 400).await;
    ask(json!({"pathIds": "p"}), 400).await;
    ask(json!({"pathIds": [""]}), 400).await;
    ask(json!({"pathIds": ["a\u{0}"]}), 400).await;
    let ids = |n: usize| (0..n).map(|n| format!("id-{n}")).collect::<Vec<_>>();
    let full = ask(json!({"pathIds": ids(50), "variantIds": ids(50)}), 200).await.json();
    assert_eq!(full["items"].as_array().unwrap().len(), 100);
    ask(json!({"pathIds": ids(50), "variantIds": ids(51)}), 400).await;
    ask(json!({"pathIds": ids(101)}), 400).await;
}
