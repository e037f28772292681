//! Outcomes of messages are reported alike whether their rows lie in several parts or in one, for which questions
//! have forms of their own.

use std::fmt::Write as _;

use analytics::{
    Analytics,
    messages::{
        Cohort, Count, Delays, Engagements, Link, RecipientFilter, RecipientStatus, clicks, counts,
        delays, engagements, links, recipients,
    },
};
use rand::{
    Rng as _, SeedableRng as _,
    rngs::StdRng,
    seq::{IndexedRandom as _, SliceRandom as _},
};
use serde_json::{Value, json};
use uuid::Uuid;

use super::fixture::{insert_into, run, stop_merges};
use crate::kit;

const SEED: u64 = 20_261_122;
/// Messages of a campaign; one sort of a sixteenth of them is few.
const MESSAGES: u32 = 400;
/// Inserts, each of which makes a part.
const INSERTS: usize = 4;
/// An event a message may have, how likely, and from which minute after its sending on.
const FATES: [(&str, f64, i64); 12] = [
    ("queued", 0.95, -1),
    ("control", 0.05, 0),
    ("sent", 0.8, 0),
    ("delivered", 0.7, 1),
    ("opened", 0.4, 2),
    ("clicked", 0.25, 2),
    ("bounced", 0.1, 1),
    ("complained", 0.05, 3),
    ("unsubscribed", 0.05, 3),
    ("failed", 0.15, -1),
    ("skipped", 0.05, 0),
    ("cancelled", 0.05, 0),
];

fn one(dice: &mut StdRng, of: &[&'static str]) -> &'static str {
    of.choose(dice).copied().unwrap()
}

/// Random events of messages, each up to twice, in random order. Their ids are random throughout, as
/// those of the program are.
fn message_events(
    dice: &mut StdRng,
    (workspace, campaign): (Uuid, Uuid),
    occurrences: u32,
) -> Vec<Value> {
    let mut all = Vec::new();
    for number in 0..MESSAGES {
        let (message, occurrence) = (Uuid::from_u128(dice.random()), 1 + number % occurrences);
        let variant = one(dice, &["a", "b", "removed", ""]);
        for (kind, chance, after) in FATES {
            for repeat in 0..2 {
                if !dice.random_bool(chance) {
                    continue;
                }
                let minutes = after + dice.random_range(0..3_000);
                all.push(json!({
                    "workspace_id": workspace, "campaign_id": campaign, "type": kind,
                    "user_id": format!("{:024x}", number / occurrences), "message_id": message,
                    "event_id": repeat.to_string(), "occurrence": occurrence,
                    "timestamp": (1_767_225_600 + 60 * minutes).to_string(), "variant_id": variant,
                    "channel": "email", "is_bot": dice.random_bool(0.2), "is_test": dice.random_bool(0.02),
                    "url": one(dice, &["https://x.test/a", "https://x.test/b?utm_source=m"]),
                    "code": one(dice, &["", "unknown"]), "seq": all.len() + 1,
                }));
            }
        }
    }
    all.shuffle(dice);
    all
}

/// In how many parts what became of messages lies.
async fn parts(analytics: &Analytics) -> u64 {
    let sql = "SELECT count() FROM system.parts
               WHERE database = currentDatabase() AND table = 'message_outcomes' AND active";
    analytics.client().query_raw(sql).fetch_one().await.unwrap()
}

/// What is answered of a campaign.
#[derive(Debug, PartialEq)]
struct Answers {
    counts: Vec<Count>,
    engagements: Engagements,
    clicks: u64,
    links: Vec<Link>,
    delays: Delays,
    recipients: Vec<(RecipientStatus, Vec<String>, u64)>,
}

async fn asked(analytics: &Analytics, cohort: &Cohort<'_>) -> Answers {
    let mut counts = counts(analytics, cohort).await.unwrap();
    counts.sort_by_key(|count| (count.variant, count.occurrence));
    let mut found = Vec::new();
    for status in [
        RecipientStatus::Queued,
        RecipientStatus::Sent,
        RecipientStatus::Delivered,
        RecipientStatus::Opened,
        RecipientStatus::Clicked,
        RecipientStatus::Bounced,
        RecipientStatus::Failed,
        RecipientStatus::Skipped,
        RecipientStatus::Cancelled,
        RecipientStatus::Control,
    ] {
        let filter = RecipientFilter { status: Some(status), limit: 1_000, offset: 0 };
        let (page, total) = recipients(analytics, cohort, &filter).await.unwrap();
        assert_eq!(page.len() as u64, total, "{status:?}");
        found.push((status, page.into_iter().map(|it| it.user).collect(), total));
    }
    Answers {
        counts,
        engagements: engagements(analytics, cohort).await.unwrap(),
        clicks: clicks(analytics, cohort).await.unwrap(),
        links: links(analytics, cohort).await.unwrap(),
        delays: delays(analytics, cohort).await.unwrap(),
        recipients: found,
    }
}

#[tokio::test]
async fn reports_over_several_parts_equal_those_over_one() {
    let analytics = kit::clickhouse_database().await;
    stop_merges(&analytics).await;
    let mut dice = StdRng::seed_from_u64(SEED);
    let (workspace, variants) = (Uuid::now_v7(), ["a".to_owned(), "b".to_owned()]);
    // Recipients of the second campaign have several messages.
    let campaigns = [Uuid::now_v7(), Uuid::now_v7()];
    let mut all = message_events(&mut dice, (workspace, campaigns[0]), 1);
    all.extend(message_events(&mut dice, (workspace, campaigns[1]), 2));
    all.shuffle(&mut dice);
    for rows in all.chunks(all.len().div_ceil(INSERTS)) {
        let rows = rows.iter().fold(String::new(), |mut text, row| {
            writeln!(text, "{row}").unwrap();
            text
        });
        insert_into(&analytics, "message_events", &rows).await;
    }
    let cohorts = campaigns.map(|campaign| Cohort {
        workspace,
        campaign,
        variants: &variants,
        start_ms: None,
        end_ms: None,
        trial: None,
    });
    assert_eq!(parts(&analytics).await, INSERTS as u64);
    let mut scattered = Vec::new();
    for cohort in &cohorts {
        scattered.push(asked(&analytics, cohort).await);
    }
    run(&analytics, "SYSTEM START MERGES message_outcomes").await;
    run(&analytics, "OPTIMIZE TABLE message_outcomes FINAL").await;
    assert_eq!(parts(&analytics).await, 1);
    for (cohort, scattered) in cohorts.iter().zip(scattered) {
        assert_eq!(asked(&analytics, cohort).await, scattered);
        // Without events the comparison would be empty.
        assert!(scattered.delays.sample > 50 && scattered.links.len() == 2, "{scattered:?}");
        let clicked = scattered.counts.iter().map(|count| count.clicked).sum::<u64>();
        assert!((50..u64::from(MESSAGES)).contains(&clicked), "{clicked}");
    }
}

#[tokio::test]
async fn variants_whose_ids_collide_are_counted_as_the_first_and_no_message_is_lost() {
    let analytics = kit::clickhouse_database().await;
    let (workspace, campaign) = (Uuid::now_v7(), Uuid::now_v7());
    // Both have the same cityHash64. Only who writes a campaign can choose such ids for its variants.
    let variants = [":Ma.s/]>5VRobjnM".to_owned(), "order-2026-00001".to_owned()];
    let mut rows = String::new();
    for (number, variant) in [&variants[0], &variants[1], &variants[1]].into_iter().enumerate() {
        let row = json!({
            "workspace_id": workspace, "campaign_id": campaign, "type": "sent",
            "user_id": format!("{number:024x}"), "message_id": Uuid::new_v4(), "occurrence": 1,
            "timestamp": "1767225600", "variant_id": variant, "channel": "email", "seq": number + 1,
        });
        writeln!(rows, "{row}").unwrap();
    }
    insert_into(&analytics, "message_events", &rows).await;
    let cohort = Cohort {
        workspace,
        campaign,
        variants: &variants,
        start_ms: None,
        end_ms: None,
        trial: None,
    };
    let counted: Vec<_> = counts(&analytics, &cohort)
        .await
        .unwrap()
        .into_iter()
        .map(|count| (count.variant, count.sent))
        .collect();
    assert_eq!(counted, [(1, 3)]);
    // `message_events` keeps the ids themselves.
    let kept = "SELECT variant_id, count() FROM message_events FINAL GROUP BY variant_id ORDER BY variant_id";
    let kept: Vec<(String, u64)> = analytics.client().query_raw(kept).fetch_all().await.unwrap();
    assert_eq!(kept, [(variants[0].clone(), 1), (variants[1].clone(), 2)]);
}
