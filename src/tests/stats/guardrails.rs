//! Guardrails in the comparison of variants: harm by people, with its verdicts.

use std::ops::Range;

use ingest::record::MessageKind as K;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    comparisons::{bought, two_variants, user},
    fixture::{TestMessageEvent, campaign, hour, message_event, near, publish, report, variant},
};
use crate::kit::Workspace;

/// Messages of a variant to people, of whom the first have messages that fail.
fn sent(
    campaign: Uuid,
    variant: &str,
    people: Range<usize>,
    failing: usize,
) -> Vec<TestMessageEvent> {
    let first = people.start;
    people
        .map(|number| {
            let of = |kind| message_event(campaign, &user(number), kind, hour(0)).of(variant);
            if number < first + failing {
                return of(K::Failed).because("21610", "refused");
            }
            of(K::Sent)
        })
        .collect()
}

fn guardrail<'a>(variant: &'a Value, metric: &str) -> &'a Value {
    let all = variant["guardrails"].as_array().unwrap();
    all.iter().find(|it| it["metric"] == metric).unwrap()
}

fn verdicts(variant: &Value) -> Vec<(&str, &str)> {
    let all = variant["guardrails"].as_array().unwrap();
    all.iter().map(|it| (it["metric"].as_str().unwrap(), it["verdict"].as_str().unwrap())).collect()
}

#[tokio::test]
async fn harm_is_ok_worse_or_inconclusive_and_counted_by_people() {
    let workspace = Workspace::new().await;
    let id = campaign(&workspace, json!({"variants": two_variants()})).await;
    let mut all = sent(id, "a", 0..1_500, 15);
    // A tenth of the messages of b fails.
    all.extend(sent(id, "b", 2_000..3_500, 150));
    publish(&workspace, &all).await;
    let found = report(&workspace, id, "variant-stats").await;
    assert_eq!(found["guardrailBaselineVariantId"], "a");
    assert_eq!(found["variants"][0]["guardrails"], json!([]));
    let expected = [
        ("unsubscribe", "inconclusive"),
        ("complaint", "inconclusive"),
        ("bounce", "ok"),
        ("failure", "worse"),
    ];
    assert_eq!(verdicts(&found["variants"][1]), expected, "{found}");
    let failure = guardrail(&found["variants"][1], "failure");
    assert!(near(&failure["rate"], 0.1) && near(&failure["baselineRate"], 0.01), "{failure}");
    assert!(near(&failure["margin"], 0.01), "{failure}");
    assert!(failure["interval"]["lower"].as_f64().unwrap() > 0.01, "{failure}");
    assert!(failure["pValue"].as_f64().unwrap() > 0.999, "{failure}");
    let bounce = guardrail(&found["variants"][1], "bounce");
    let (p, adjusted) =
        (bounce["pValue"].as_f64().unwrap(), bounce["adjustedPValue"].as_f64().unwrap());
    assert!(p < 0.05 && (adjusted - 4.0 * p).abs() < 1e-9, "{bounce}");

    // Half of them get a second message, and the same fail; one of them unsubscribes twice, one bounces.
    let mut again: Vec<TestMessageEvent> =
        sent(id, "a", 0..750, 15).into_iter().map(|it| it.nth(2)).collect();
    again.extend(sent(id, "b", 2_000..2_750, 150).into_iter().map(|it| it.nth(2)));
    for occurrence in [1, 2] {
        for kind in [K::Unsubscribed, K::Bounced] {
            let number = if kind == K::Bounced { 2_700 } else { 2_701 };
            again.push(message_event(id, &user(number), kind, hour(1)).of("b").nth(occurrence));
        }
    }
    publish(&workspace, &again).await;
    let found = report(&workspace, id, "variant-stats").await;
    let of = |metric: &str| guardrail(&found["variants"][1], metric).clone();
    assert!(near(&of("failure")["rate"], 0.1), "{found}");
    assert!(near(&of("unsubscribe")["rate"], 1.0 / 1_350.0), "{found}");
    assert!(near(&of("bounce")["rate"], 1.0 / 1_350.0), "{found}");
    assert!(near(&of("complaint")["rate"], 0.0), "{found}");
}

/// A control group is the baseline of success, and has no messages that could do harm.
#[tokio::test]
async fn variants_with_messages_are_compared_whatever_the_control_group() {
    let workspace = Workspace::new().await;
    let variants =
        json!([variant("c", 10, true), variant("a", 45, false), variant("b", 45, false)]);
    let fields = json!({"variants": variants, "conversionTracking": bought()});
    let id = campaign(&workspace, fields).await;
    let mut all = sent(id, "a", 0..40, 0);
    all.extend(sent(id, "b", 100..129, 0));
    all.extend(
        (200..240).map(|number| message_event(id, &user(number), K::Control, hour(0)).of("c")),
    );
    publish(&workspace, &all).await;
    let found = report(&workspace, id, "variant-stats").await;
    assert_eq!(
        (&found["baselineVariantId"], &found["guardrailBaselineVariantId"]),
        (&json!("c"), &json!("a"))
    );
    assert_eq!(found["variants"][0]["guardrails"], json!([]));
    assert_eq!(found["variants"][1]["guardrails"], json!([]));
    let few = guardrail(&found["variants"][2], "failure");
    assert_eq!(
        (&few["verdict"], &few["pValue"], &few["interval"]),
        (&json!("inconclusive"), &Value::Null, &Value::Null),
        "29 are too few"
    );
    publish(&workspace, &sent(id, "b", 129..130, 0)).await;
    let found = report(&workspace, id, "variant-stats").await;
    let enough = guardrail(&found["variants"][2], "failure");
    assert!(enough["pValue"].as_f64().unwrap() > 0.05, "{enough}");

    let alone = json!([variant("c", 50, true), variant("a", 50, false)]);
    let id = campaign(&workspace, json!({"variants": alone})).await;
    publish(&workspace, &sent(id, "a", 0..40, 4)).await;
    let found = report(&workspace, id, "variant-stats").await;
    assert_eq!(found["guardrailBaselineVariantId"], Value::Null);
    assert_eq!(found["variants"][1]["guardrails"], json!([]));
}
