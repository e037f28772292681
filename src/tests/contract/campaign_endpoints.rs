//! The endpoints of campaigns, a line each: a part of the list in `surface`.

use serde_json::{Value, json};

use super::line::{ABSENT_USER, Ids, Line};

/// What a campaign achieved.
pub(super) fn campaign_reports() -> Vec<Line> {
    let reports = [
        "/campaigns/{campaignId}/stats",
        "/campaigns/{campaignId}/variant-stats",
        "/campaigns/{campaignId}/links",
        "/campaigns/{campaignId}/failure-reasons",
        "/campaigns/{campaignId}/time-to-engage",
        "/campaigns/{campaignId}/in-app-stats",
        "/campaigns/{campaignId}/impressions",
        "/campaigns/{campaignId}/send-occurrences",
        "/campaigns/{campaignId}/recipients",
        "/campaigns/{campaignId}/recipients/{userId}",
    ];
    reports.map(|path| ("GET", path, "", Value::Null, "campaigns:read")).to_vec()
}

/// How a campaign is to run, and how it runs.
pub(super) fn campaign_settings() -> Vec<Line> {
    let none = Value::Null;
    let warmth = json!({"variantIds": ["a"]});
    let winner = json!({"variantId": "a"});
    let preview = json!({"userId": ABSENT_USER});
    vec![
        ("POST", "/campaigns/{campaignId}/preview-launch", "", none.clone(), "campaigns:read"),
        ("POST", "/campaigns/{campaignId}/preview", "", preview, "campaigns:read users:read"),
        (
            "POST",
            "/campaigns/preview-message",
            "",
            json!({"userId": ABSENT_USER, "campaign": {"channel": "sms", "variants": [
                {"id": "a", "name": "A", "weight": 100, "message": {"body": "b"}}]}}),
            "campaigns:read users:read",
        ),
        (
            "POST",
            "/campaigns/preview-schedule",
            "",
            json!({"recurringSchedule": {"frequency": "daily"}}),
            "campaigns:read",
        ),
        (
            "GET",
            "/campaigns/{campaignId}/eligibility",
            "?userId=unknown",
            none.clone(),
            "campaigns:read users:read",
        ),
        ("GET", "/campaigns/{campaignId}/recurring-status", "", none.clone(), "campaigns:read"),
        ("POST", "/campaigns/{campaignId}/retest-ab", "", none.clone(), "campaigns:write"),
        ("POST", "/campaigns/{campaignId}/select-winner", "", winner, "campaigns:send"),
        ("GET", "/campaigns/{campaignId}/sto-coverage", "", none.clone(), "campaigns:read"),
        ("POST", "/campaigns/{campaignId}/launch-rl", "", none.clone(), "campaigns:send"),
        ("POST", "/campaigns/{campaignId}/pause-rl", "", none.clone(), "campaigns:send"),
        ("POST", "/campaigns/{campaignId}/resume-rl", "", none.clone(), "campaigns:send"),
        ("GET", "/campaigns/{campaignId}/rl-stats", "", none, "campaigns:read"),
        ("POST", "/campaigns/ml-path-warmth", "", warmth, "campaigns:read"),
    ]
}

pub(super) fn campaigns(ids: &Ids<'_>) -> Vec<Line> {
    let none = Value::Null;
    let new = json!({"name": "n", "channel": "in_app", "subscriptionCategoryId": ids.list});
    let many = json!({"ids": [ids.campaign]});
    vec![
        ("POST", "/campaigns", "", new, "campaigns:write"),
        ("GET", "/campaigns", "", none.clone(), "campaigns:read"),
        ("GET", "/campaigns/{campaignId}", "", none.clone(), "campaigns:read"),
        ("PUT", "/campaigns/{campaignId}", "", json!({"name": "n"}), "campaigns:write"),
        ("DELETE", "/campaigns/{campaignId}", "", none.clone(), "campaigns:delete"),
        ("POST", "/campaigns/{campaignId}/send", "", none.clone(), "campaigns:send"),
        ("POST", "/campaigns/{campaignId}/pause", "", none.clone(), "campaigns:send"),
        ("POST", "/campaigns/{campaignId}/resume", "", none.clone(), "campaigns:send"),
        ("POST", "/campaigns/{campaignId}/cancel", "", none.clone(), "campaigns:send"),
        ("POST", "/campaigns/{campaignId}/retry", "", none.clone(), "campaigns:send"),
        ("POST", "/campaigns/{campaignId}/resend", "", none.clone(), "campaigns:send"),
        ("POST", "/campaigns/{campaignId}/stop-recurring", "", none.clone(), "campaigns:send"),
        ("POST", "/campaigns/{campaignId}/publish", "", none.clone(), "campaigns:write"),
        ("POST", "/campaigns/{campaignId}/discard-draft", "", none.clone(), "campaigns:write"),
        ("POST", "/campaigns/{campaignId}/duplicate", "", none.clone(), "campaigns:write"),
        ("POST", "/campaigns/{campaignId}/archive", "", none.clone(), "campaigns:write"),
        ("POST", "/campaigns/{campaignId}/unarchive", "", none.clone(), "campaigns:write"),
        ("GET", "/campaigns/{campaignId}/versions", "", none.clone(), "campaigns:read"),
        (
            "GET",
            "/campaigns/{campaignId}/versions/compare",
            "?v1=1&v2=1",
            none.clone(),
            "campaigns:read",
        ),
        ("GET", "/campaigns/{campaignId}/versions/{versionId}", "", none.clone(), "campaigns:read"),
        (
            "POST",
            "/campaigns/{campaignId}/versions/{versionId}/rollback",
            "",
            none.clone(),
            "campaigns:write",
        ),
        ("GET", "/campaigns/{campaignId}/history", "", none, "campaigns:read"),
        (
            "POST",
            "/campaigns/preview",
            "",
            json!({"targeting": {"userIds": [ids.user]}}),
            "campaigns:read",
        ),
        (
            "POST",
            "/campaigns/spam-check",
            "",
            json!({"subject": "s", "html": "<p>h</p>"}),
            "campaigns:read",
        ),
        ("POST", "/campaigns/bulk-delete", "", many.clone(), "campaigns:delete"),
        ("POST", "/campaigns/bulk-archive", "", many.clone(), "campaigns:write"),
        ("POST", "/campaigns/bulk-unarchive", "", many.clone(), "campaigns:write"),
        ("POST", "/campaigns/bulk-duplicate", "", many, "campaigns:write"),
        (
            "POST",
            "/campaigns/bulk-tag",
            "",
            json!({"ids": [ids.campaign], "tags": ["x"]}),
            "campaigns:write",
        ),
    ]
}

/// Messages sent one by one.
pub(super) fn sends(ids: &Ids<'_>) -> Vec<Line> {
    let test = json!({"userId": ids.user});
    let once = json!({"userId": ids.user, "channel": "sms", "message": {"body": "b"}});
    vec![
        ("POST", "/campaigns/transactional/send", "", once, "campaigns:send"),
        ("POST", "/campaigns/{campaignId}/send-test-email", "", test.clone(), "campaigns:send"),
        ("POST", "/campaigns/{campaignId}/send-test-sms", "", test.clone(), "campaigns:send"),
        ("POST", "/campaigns/{campaignId}/send-test-push", "", test.clone(), "campaigns:send"),
        ("POST", "/campaigns/{campaignId}/send-test-whatsapp", "", test.clone(), "campaigns:send"),
        ("POST", "/campaigns/{campaignId}/send-test-in-app", "", test.clone(), "campaigns:send"),
        ("POST", "/channels/{channel}/test", "", test, "campaigns:send"),
    ]
}
