//! `iso_millis` in the database and `Timestamp::parse` here parse alike, and audiences follow both.

use kernel::Timestamp;
use rand::{Rng as _, SeedableRng as _, rngs::StdRng, seq::IndexedRandom as _};
use serde_json::{Value, json};

use crate::kit::{Workspace, server};

/// Texts that are ISO 8601, or nearly.
#[expect(clippy::too_many_lines, reason = "a table of texts")]
fn texts(count: usize) -> Vec<String> {
    let mut rng = StdRng::seed_from_u64(7);
    let mut texts: Vec<String> = [
        "",
        " ",
        "2026",
        "2026-03",
        "2026-03-01",
        "2026-03-1",
        "2026-02-29",
        "2024-02-29",
        "1900-02-29",
        "2000-02-29",
        "0000-01-01",
        "9999-12-31T23:59:59.999999999Z",
        "2026-03-01T",
        "2026-03-01T10",
        "2026-03-01T10:00",
        "2026-03-01t10:00:00z",
        "2026-03-01 10:00:00,5+02",
        "2026-03-01T10:00:00.",
        "2026-03-01T24:00",
        "2026-03-01T23:60",
        "2026-03-01T23:59:60Z",
        "2026-03-01T23:59:61Z",
        "2026-03-01T10:00:00+24:00",
        "2026-03-01T10:00:00+23:59",
        "2026-03-01T10:00:00-2359",
        "2026-03-01T10:00:00+2",
        "2026-03-01T10:00:00+02:6",
        "2026-03-01T10:00:00+02:60",
        "2026-03-01T10:00:00.1234567890Z",
        "2026-03-01T10:00:00ZZ",
        "x2026-03-01",
        "2026-03-01\n",
        "２０２６-03-01",
        "2026-03-01T10:00:00+",
        "-026-03-01",
    ]
    .map(str::to_owned)
    .to_vec();
    while texts.len() < count {
        let mut number = |most: u32, width: usize| {
            let value = if rng.random_bool(0.03) { 99 } else { rng.random_range(0..=most) };
            format!("{value:0width$}")
        };
        let mut text = format!("{}-{}-{}", number(9999, 4), number(13, 2), number(32, 2));
        if number(3, 1) != "0" {
            let time = format!("{}:{}", number(24, 2), number(60, 2));
            let seconds = format!(":{}", number(61, 2));
            let fraction = format!(".{}", number(999_999, 1));
            text.push_str(["T", " ", "t"].choose(&mut rng).unwrap());
            text.push_str(&time);
            if rng.random_bool(0.8) {
                text.push_str(&seconds);
                if rng.random_bool(0.5) {
                    text.push_str(&fraction);
                }
            }
            let zone = format!("{:02}", rng.random_range(0..25));
            let minutes = format!("{:02}", rng.random_range(0..61));
            match rng.random_range(0..5) {
                0 => text.push('Z'),
                1 => text.extend(["+", &zone, ":", &minutes]),
                2 => text.extend(["-", &zone, &minutes]),
                3 => text.extend(["+", &zone]),
                _ => {}
            }
        }
        texts.push(text);
    }
    texts
}

#[tokio::test]
async fn postgres_and_the_program_parse_timestamps_alike() {
    let texts = texts(20_000);
    let (db, sent) = (server().db(), texts.clone());
    let read: Vec<Option<i64>> = server()
        .on(async move {
            sqlx::query_scalar(
                "select iso_millis(text) from unnest($1::text[]) with ordinality as t (text, place)
                 order by place",
            )
            .bind(sent)
            .fetch_all(&db)
            .await
            .unwrap()
        })
        .await;
    let mut right = 0;
    for (text, read) in texts.iter().zip(read) {
        let expected = Timestamp::parse(text).ok().map(Timestamp::millis);
        assert_eq!(read, expected, "{text:?}");
        right += usize::from(read.is_some());
    }
    assert!((texts.len() / 10..texts.len()).contains(&right), "{right} are moments");
}

/// A profile each, one text of theirs the date that is asked about; some have another that is none.
fn profiles(texts: &[String], odd: &Value) -> Vec<Value> {
    let each = texts.iter().enumerate();
    each.map(|(number, text)| {
        let id = format!("dated-{number}");
        match number % 3 {
            0 => json!({"externalId": id, "attributes": {"at": text, "odd": odd}}),
            _ => json!({"externalId": id, "attributes": {"at": text}}),
        }
    })
    .collect()
}

#[tokio::test]
async fn date_filters_match_every_accepted_notation() {
    let workspace = Workspace::new().await;
    let texts = texts(1_500);
    for some in profiles(&texts, &json!("2026-13-45")).chunks(500) {
        workspace.api.post("/users", &json!(some), 200).await;
    }
    // What is laid over them later may be no date either.
    let changes: Vec<Value> = (0..texts.len())
        .step_by(7)
        .map(|number| json!({"externalId": format!("dated-{number}"), "attributes": {"then": ["1234-x"]}}))
        .collect();
    workspace.api.post("/users", &json!(changes), 200).await;
    let moments: Vec<i64> = texts
        .iter()
        .filter_map(|text| Timestamp::parse(text).ok())
        .map(Timestamp::millis)
        .collect();
    for bound in [
        "0001-01-01T00:00:00.000Z",
        "1969-12-31T23:59:59Z",
        "2026-03-01T10:00:00.500Z",
        "9999-12-31T23:59:59Z",
    ] {
        let at = Timestamp::parse(bound).unwrap().millis();
        let after = moments.iter().filter(|moment| **moment > at).count();
        let before = moments.iter().filter(|moment| **moment < at).count();
        for (operator, expected) in [("after", after), ("before", before)] {
            let filter =
                json!({"type": "attribute", "field": "at", "operator": operator, "value": bound});
            let body =
                json!({"targeting": {"filterGroups": [{"filters": [filter], "operator": "AND"}]}});
            let preview = workspace.api.post("/campaigns/preview", &body, 200).await.json();
            assert_eq!(preview["total"], expected, "{operator} {bound}");
        }
    }
}
