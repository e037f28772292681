//! Status of a recurring campaign, and restarts of its variant trial.

use serde_json::json;

use super::{call, email, email_with, id, made, put, recurring};
use crate::kit::Workspace;

#[tokio::test]
async fn a_recurring_campaign_reports_its_schedule_status() {
    let workspace = Workspace::new().await;
    let mut body = recurring("Daily");
    body["recurringSchedule"]["maxOccurrences"] = json!(3);
    body["recurringSchedule"]["endDate"] = json!("2099-12-31");
    let campaign = made(&workspace.api, &body).await;
    let path = format!("/campaigns/{}/recurring-status", id(&campaign));
    let status = workspace.api.get(&path, 200).await.json();
    assert_eq!(status["campaignId"], campaign["id"]);
    assert_eq!((&status["status"], &status["isActive"]), (&json!("draft"), &json!(false)));
    assert_eq!(
        (&status["frequency"], &status["timezone"]),
        (&json!("daily"), &json!("Europe/Berlin"))
    );
    assert_eq!(status["occurrencesCompleted"], 0);
    assert_eq!(
        (&status["maxOccurrences"], &status["remainingOccurrences"]),
        (&json!(3), &json!(3))
    );
    assert_eq!(status["lastOccurrenceAt"], json!(null));
    assert_eq!(status["upcoming"].as_array().unwrap().len(), 3);
    assert_eq!(status["endDate"], "2099-12-31");
    assert_eq!(status["ab"], json!(null));

    let sent = call(&workspace.api, &campaign, "send", 200).await.json();
    let status = workspace.api.get(&path, 200).await.json();
    assert_eq!((&status["status"], &status["isActive"]), (&json!("active"), &json!(true)));
    assert_eq!(status["nextOccurrenceAt"], sent["nextSendAt"]);

    call(&workspace.api, &campaign, "stop-recurring", 200).await;
    let status = workspace.api.get(&path, 200).await.json();
    assert_eq!((&status["status"], &status["upcoming"]), (&json!("completed"), &json!([])));
    assert_eq!(status["nextOccurrenceAt"], json!(null));
}

#[tokio::test]
async fn only_recurring_campaigns_of_the_workspace_have_a_schedule_status() {
    let workspace = Workspace::new().await;
    let once = made(&workspace.api, &email("Once")).await;
    let path = format!("/campaigns/{}/recurring-status", id(&once));
    let refused = workspace.api.get(&path, 400).await.json();
    assert_eq!(refused["message"], "The campaign is not recurring");
    let unset = made(&workspace.api, &email_with("Unset", json!({"sendType": "recurring"}))).await;
    workspace.api.get(format!("/campaigns/{}/recurring-status", id(&unset)), 400).await;

    let theirs = made(&workspace.api, &recurring("Daily")).await;
    let stranger = Workspace::new().await;
    for path in ["recurring-status", "sto-coverage", "rl-stats"] {
        stranger.api.get(format!("/campaigns/{}/{path}", id(&theirs)), 404).await;
        stranger.api.get(format!("/campaigns/unknown/{path}"), 404).await;
    }
    for path in ["retest-ab", "preview-launch", "launch-rl", "pause-rl", "resume-rl"] {
        call(&stranger.api, &theirs, path, 404).await;
    }
}

#[tokio::test]
async fn a_variant_trial_can_be_restarted() {
    let workspace = Workspace::new().await;
    let mut body = recurring("Tried");
    let plain = made(&workspace.api, &body).await;
    let refused = call(&workspace.api, &plain, "retest-ab", 400).await;
    assert!(refused.text.contains("abTestConfig"), "{}", refused.text);
    let off =
        put(&workspace.api, &plain, json!({"abTestConfig": {"enabled": false}}), 200).await.json();
    call(&workspace.api, &off, "retest-ab", 400).await;

    body["abTestConfig"] = json!({"enabled": true});
    let campaign = made(&workspace.api, &body).await;
    for round in [2, 3] {
        let again = call(&workspace.api, &campaign, "retest-ab", 200).await.json();
        let expected = json!({
            "campaignId": campaign["id"], "phase": "testing", "round": round, "previousWinnerVariantId": null,
        });
        assert_eq!(again, expected);
    }
    let status =
        workspace.api.get(format!("/campaigns/{}/recurring-status", id(&campaign)), 200).await;
    assert_eq!(
        status.json()["ab"],
        json!({"phase": "testing", "winnerVariantId": null, "round": 3})
    );
    let history =
        workspace.api.get(format!("/campaigns/{}/history", id(&campaign)), 200).await.json();
    assert_eq!(history["items"][0]["action"], "ab_retested");

    call(&workspace.api, &campaign, "send", 200).await;
    call(&workspace.api, &campaign, "cancel", 200).await;
    call(&workspace.api, &campaign, "retest-ab", 409).await;
    let once =
        made(&workspace.api, &email_with("Once", json!({"abTestConfig": {"enabled": true}}))).await;
    call(&workspace.api, &once, "retest-ab", 400).await;
}

#[tokio::test]
async fn concurrent_trial_restarts_get_distinct_round_numbers() {
    let workspace = Workspace::new().await;
    let mut body = recurring("Tried");
    body["abTestConfig"] = json!({});
    let campaign = made(&workspace.api, &body).await;
    let calls = (0..8).map(|_| call(&workspace.api, &campaign, "retest-ab", 200));
    let answers = futures_util::future::join_all(calls).await;
    let mut rounds: Vec<u64> =
        answers.iter().map(|it| it.json()["round"].as_u64().unwrap()).collect();
    rounds.sort_unstable();
    assert_eq!(rounds, (2..10).collect::<Vec<u64>>());
}
