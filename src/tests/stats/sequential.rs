//! Comparisons that are looked at while messages are still answered.

use ingest::record::MessageKind as K;
use serde_json::{Value, json};

use super::fixture::{
    H, TestMessageEvent, campaign, hour, message_event, near, publish, report, variant,
};
use crate::kit::Workspace;

fn two_variants() -> Value {
    json!([variant("a", 50, false), variant("b", 50, false)])
}

/// Two variants, sent to 500 people each at this time; 100 and 131 open it: z is 2.33.
async fn opened(workspace: &Workspace, at: i64) -> Value {
    let id = campaign(workspace, json!({"variants": two_variants()})).await;
    let mut all: Vec<TestMessageEvent> = Vec::new();
    for number in 0..1000_usize {
        let user = format!("{:024x}", 0x7100_0000 + number);
        let is_b = number >= 500;
        let of = |kind, at| message_event(id, &user, kind, at).of(if is_b { "b" } else { "a" });
        all.push(of(K::Sent, at));
        if number % 500 < if is_b { 131 } else { 100 } {
            all.push(of(K::Opened, at + H / 60));
        }
    }
    publish(workspace, &all).await;
    report(workspace, id, "variant-stats").await["variants"][1]["comparison"].clone()
}

#[tokio::test]
async fn while_messages_are_answered_a_difference_has_to_hold_at_every_look() {
    let workspace = Workspace::new().await;
    let now = kernel::Clock::system().now().millis();
    let found = opened(&workspace, now - H).await;
    assert!(near(&found["pValue"], 0.020_023_5), "{found}");
    assert_eq!(found["isSignificant"], false, "a single look would be enough: {found}");
    let sequential = &found["sequential"];
    assert_eq!(
        (&sequential["method"], &sequential["final"], &sequential["isSignificant"]),
        (&json!("confidence_sequence"), &json!(false), &json!(false))
    );
    let number = |name: &str| sequential[name].as_f64().unwrap();
    assert!(number("pValue") > 0.05 && number("boundary") > 2.33, "{sequential}");
    let (interval, single) = (&sequential["interval"], &found["liftInterval"]);
    assert!(interval["lower"].as_f64() < Some(0.0), "{sequential}");
    assert!(interval["lower"].as_f64() < single["lower"].as_f64(), "{found}");
    assert_eq!(sequential["informationFraction"], Value::Null);
}

#[tokio::test]
async fn when_all_is_answered_a_single_look_decides() {
    let workspace = Workspace::new().await;
    let found = opened(&workspace, hour(0)).await;
    assert_eq!(
        (&found["isSignificant"], &found["sequential"]["final"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(found["sequential"]["isSignificant"], false, "{found}");
}

#[tokio::test]
async fn a_campaign_that_goes_on_has_no_last_look() {
    let workspace = Workspace::new().await;
    let fields = json!({
        "sendType": "recurring", "recurringConfig": {"frequency": "daily", "time": "10:00"},
        "variants": two_variants(),
    });
    let id = campaign(&workspace, fields).await;
    let all: Vec<_> = (0..100_usize)
        .map(|number| {
            let user = format!("{:024x}", 0x7200_0000 + number);
            message_event(id, &user, K::Sent, hour(0)).of(if number % 2 == 0 { "a" } else { "b" })
        })
        .collect();
    publish(&workspace, &all).await;
    let found = report(&workspace, id, "variant-stats").await;
    let sequential = &found["variants"][1]["comparison"]["sequential"];
    assert_eq!(
        (&sequential["method"], &sequential["final"], &sequential["pValue"]),
        (&json!("confidence_sequence"), &json!(false), &Value::Null),
        "without opens: {found}"
    );
}
