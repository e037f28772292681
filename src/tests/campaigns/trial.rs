//! The winner of a variant trial, chosen by hand.

use serde_json::{Value, json};

use super::{id, made, recurring};
use crate::kit::Workspace;

fn trial_campaign() -> Value {
    let mut body = recurring("Tried");
    let message = body["variants"][0]["message"].clone();
    let variant = |id: &str, weight: u32, control: bool| json!({"id": id, "name": id, "weight": weight, "message": message, "isControlGroup": control});
    body["variants"] =
        json!([variant("a", 45, false), variant("b", 45, false), variant("c", 10, true)]);
    body["abTestConfig"] = json!({"winnerSelection": "manual"});
    body
}

async fn select(workspace: &Workspace, campaign: &Value, body: Value, status: u16) -> Value {
    let path = format!("/campaigns/{}/select-winner", id(campaign));
    workspace.api.post(&path, &body, status).await.json()
}

#[tokio::test]
async fn the_winner_of_a_trial_is_chosen_by_hand_once() {
    let workspace = Workspace::new().await;
    let campaign = made(&workspace.api, &trial_campaign()).await;
    let winner = json!({"variantId": "b"});
    select(&workspace, &campaign, winner.clone(), 409).await;
    workspace.api.post(&format!("/campaigns/{}/send", id(&campaign)), &json!({}), 200).await;
    for bad in
        [json!({"variantId": "c"}), json!({"variantId": "z"}), json!({"variantId": 1}), json!({})]
    {
        let refused = select(&workspace, &campaign, bad, 400).await;
        assert!(refused["errors"][0].as_str().unwrap().starts_with("variantId "), "{refused}");
    }
    select(&workspace, &campaign, winner.clone(), 200).await;
    let path = format!("/campaigns/{}/recurring-status", id(&campaign));
    let status = workspace.api.get(path, 200).await.json();
    assert_eq!(status["ab"], json!({"phase": "winner_sent", "winnerVariantId": "b", "round": 1}));
    select(&workspace, &campaign, winner.clone(), 409).await;
    let path = format!("/campaigns/{}/history", id(&campaign));
    let history = workspace.api.get(path, 200).await.json();
    assert_eq!(history["items"][0]["action"], "ab_concluded");
    let again = format!("/campaigns/{}/retest-ab", id(&campaign));
    let again = workspace.api.post(&again, &json!({}), 200).await.json();
    assert_eq!((&again["round"], &again["previousWinnerVariantId"]), (&json!(2), &json!("b")));
    select(&workspace, &campaign, winner.clone(), 200).await;

    let plain = made(&workspace.api, &recurring("Plain")).await;
    select(&workspace, &plain, winner.clone(), 400).await;
    let stranger = Workspace::new().await;
    select(&stranger, &campaign, winner, 404).await;
}
