//! Sources give the same bytes for the same number, and valid events.

use std::collections::HashSet;

use serde_json::Value;

use super::*;

fn generator(options: GeneratorOptions) -> Generator {
    Generator::new(options).unwrap()
}

fn small() -> GeneratorOptions {
    GeneratorOptions {
        events: Some(1_250),
        until_ms: 1_790_000_000_000,
        ..GeneratorOptions::default()
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_gives_others() {
    let (first, second) = (generator(small()), generator(small()));
    let other = generator(GeneratorOptions { seed: 2, ..small() });
    for number in [2, 0, 1] {
        let body = first.batch(number).unwrap().body;
        assert_eq!(body, second.batch(number).unwrap().body);
        assert_ne!(body, other.batch(number).unwrap().body);
    }
}

#[test]
fn a_run_ends_after_its_events_with_a_short_last_batch() {
    let source = generator(small());
    assert_eq!(source.batches(), Some(3));
    let sizes: Vec<_> =
        (0..4).map(|number| source.batch(number).map(|batch| batch.events)).collect();
    assert_eq!(sizes, [Some(500), Some(500), Some(250), None]);
}

#[test]
fn generated_events_are_valid_unique_and_of_realistic_size() {
    // As long as the names runs get by themselves.
    let options = GeneratorOptions { run: "19aa3c5d7e11f2a".to_owned(), ..small() };
    let (from, until) = (options.until_ms - options.span_ms, options.until_ms);
    let source = generator(options);
    let (mut ids, mut names, mut users, mut bytes) =
        (HashSet::new(), HashSet::new(), HashSet::new(), 0);
    for number in 0..3 {
        let batch = source.batch(number).unwrap();
        bytes += batch.body.len();
        let events: Vec<Value> = serde_json::from_slice(&batch.body).unwrap();
        assert_eq!(events.len(), batch.events);
        for (index, event) in events.iter().enumerate() {
            let id = event["clientEventId"].as_str().unwrap().to_owned();
            assert_eq!(batch.id(index).as_deref(), Some(id.as_str()));
            assert!(ids.insert(id));
            names.insert(event["eventName"].as_str().unwrap().to_owned());
            users.insert(
                event["userId"].as_str().or(event["anonymousId"].as_str()).unwrap().to_owned(),
            );
            let stamp =
                chrono::DateTime::parse_from_rfc3339(event["timestamp"].as_str().unwrap()).unwrap();
            assert!((from..=until).contains(&stamp.timestamp_millis()), "{stamp}");
            assert!(event["properties"].as_object().unwrap().len() >= 4);
        }
    }
    let mean = bytes / 1_250;
    assert!((316..=356).contains(&mean), "{mean} bytes an event");
    assert_eq!(names.len(), Generator::event_names().len());
    assert!(users.len() > 500, "{} users", users.len());
}

#[test]
fn singles_are_objects_and_may_leave_the_time_to_the_server() {
    let source = generator(GeneratorOptions { batch: 1, timestamps: false, ..small() });
    let batch = source.batch(7).unwrap();
    let event: Value = serde_json::from_slice(&batch.body).unwrap();
    assert_eq!(event["clientEventId"], generated_id("lt-run-", 7));
    assert!(event.get("timestamp").is_none());
}

const LINES: &str = concat!(
    r#"{"userId":"a","eventName":"X","clientEventId":"one","properties":{}}"#,
    "\n\n",
    r#"{"userId":"b","eventName":"X","clientEventId":"t\"wo\\","properties":{}}"#,
    "\r\n",
    r#"{"userId":"c","eventName":"X","clientEventId":"three","properties":{"k":1}}"#,
);

#[test]
fn a_file_is_replayed_in_batches_and_each_round_has_ids_of_its_own() {
    let replay = Replay::read(LINES.as_bytes(), 2, 2).unwrap();
    assert_eq!((replay.batches(), replay.events()), (Some(4), Some(6)));
    let mut seen = Vec::new();
    for number in 0..4 {
        let batch = replay.batch(number).unwrap();
        let events: Vec<Value> = serde_json::from_slice(&batch.body).unwrap();
        for (index, event) in events.iter().enumerate() {
            assert_eq!(batch.id(index).as_deref(), event["clientEventId"].as_str());
            seen.push(event["clientEventId"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(seen, ["one", "t\"wo\\", "three", "one~1", "t\"wo\\~1", "three~1"]);
    assert!(replay.batch(4).is_none());
}

#[test]
fn a_gzip_file_is_recognised_and_a_line_without_an_id_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.ndjson.gz");
    let mut zip = flate2::write::GzEncoder::new(
        std::fs::File::create(&path).unwrap(),
        flate2::Compression::fast(),
    );
    std::io::Write::write_all(&mut zip, LINES.as_bytes()).unwrap();
    zip.finish().unwrap();
    assert_eq!(Replay::open(&path, 500, 1).unwrap().events(), Some(3));

    let error = Replay::read("\n{\"eventName\":\"X\"}\n".as_bytes(), 500, 1).unwrap_err();
    assert!(format!("{error:#}").contains("line 2"), "{error:#}");
}
