//! Joins of identifiers with profiles: with which a question begins, and when it begins again with more.

use std::{collections::BTreeMap, time::Duration};

use analytics::{
    Analytics, ReadLimits,
    identities::{self, IdentityRow},
    insights::{
        EventChoice, HISTORIES_MAX, HistoriesAsked, HistoriesMax, HistoryStream, NextHistories,
        Span, histories,
    },
};
use serde_json::json;
use uuid::Uuid;

use super::fixture::{Event, event, insert, insert_into, ms, run};
use crate::kit;

/// How long a question may wait for a place before a test fails.
const TIME_MAX: Duration = Duration::from_mins(2);
const AT: &str = "2026-03-01T12:00:00Z";
/// The bytes of an internal id, all of them ASCII, so that they can be written as text.
const ANN_BYTES: &str = "person-ann-1";
/// The same in hexadecimal.
const ANN: &str = "706572736f6e2d616e6e2d31";

struct World {
    analytics: Analytics,
    workspace: Uuid,
}

impl World {
    /// A workspace in which Ann has a profile with the external id `ann`.
    async fn new() -> Self {
        let world = Self { analytics: kit::clickhouse_database().await, workspace: Uuid::now_v7() };
        let ann = json!({"workspace_id": world.workspace, "user_id": ANN_BYTES, "external_id": "ann", "version": 1});
        insert_into(&world.analytics, "people", &ann.to_string()).await;
        world
    }

    /// Links an anonymous id to Ann.
    async fn link(&self, anonymous: &str) {
        let row = IdentityRow {
            workspace: self.workspace,
            kind: "anonymous".to_owned(),
            id: anonymous.to_owned(),
            user_id: ANN.to_owned(),
            names_users: false,
            version: 1,
        };
        identities::store(&self.analytics, &[row]).await.unwrap();
    }

    async fn track(&self, events: &[Event]) {
        insert(&self.analytics, events).await;
    }

    fn of_user(&self, user: &str) -> Event {
        event(self.workspace, "Seen", &format!("of {user}"), AT).of(user)
    }

    fn of_device(&self, anonymous: &str) -> Event {
        Event { anonymous_id: anonymous.to_owned(), ..self.of_user("") }
    }

    fn of_service_id(&self, id: &str) -> Event {
        let service_user_id = id.to_owned();
        Event { service_user_id, ..event(self.workspace, "Seen", "of a service", AT) }
    }
}

fn asked() -> HistoriesAsked {
    let day = Span { start_ms: ms("2026-03-01T00:00:00Z"), end_ms: ms("2026-03-01T23:59:59.999Z") };
    HistoriesAsked {
        choices: vec![EventChoice { event_name: Some("Seen".to_owned()), tests: Vec::new() }],
        first_span: day,
        span: day,
        has_all_events: false,
        breakdown: None,
        members: None,
        max: HISTORIES_MAX,
    }
}

/// What was read of an answer so far.
#[derive(Debug, Default, PartialEq, Eq)]
struct HistoriesRead {
    /// How many people have so many events.
    people: BTreeMap<usize, usize>,
    /// How often it began again.
    again: u32,
}

impl HistoriesRead {
    /// Reads until the answer begins again; false at its end.
    async fn read_until_again(&mut self, stream: &mut HistoryStream<'_>) -> bool {
        loop {
            match stream.next().await.unwrap() {
                NextHistories::People(people) => people
                    .each(|history| *self.people.entry(history.events.len()).or_default() += 1),
                NextHistories::Again => {
                    self.people.clear();
                    self.again += 1;
                    return true;
                }
                NextHistories::End => return false,
            }
        }
    }

    async fn read(mut self, stream: &mut HistoryStream<'_>) -> Self {
        while self.read_until_again(stream).await {}
        self
    }
}

/// A person with so many events, and how often the answer began again.
fn one_person(events: usize, again: u32) -> HistoriesRead {
    HistoriesRead { people: BTreeMap::from([(events, 1)]), again }
}

#[tokio::test]
async fn events_without_internal_ids_are_joined_with_nothing_until_there_are_links() {
    let world = World::new().await;
    world.track(&[world.of_user("ann"), world.of_device("phone")]).await;
    let asked = asked();
    let mut stream = histories(&world.analytics, world.workspace, &asked).await.unwrap();
    let apart = HistoriesRead { people: BTreeMap::from([(1, 2)]), again: 0 };
    assert_eq!(HistoriesRead::default().read(&mut stream).await, apart);
    world.link("phone").await;
    let mut stream = histories(&world.analytics, world.workspace, &asked).await.unwrap();
    assert_eq!(HistoriesRead::default().read(&mut stream).await, one_person(2, 0));
}

#[tokio::test]
async fn an_internal_id_in_user_id_needs_a_join_but_not_the_one_of_service_ids() {
    let world = World::new().await;
    world.track(&[world.of_user("ann"), world.of_user(ANN)]).await;
    let asked = asked();
    let mut stream = histories(&world.analytics, world.workspace, &asked).await.unwrap();
    let mut answer = HistoriesRead::default();
    assert!(answer.read_until_again(&mut stream).await);
    // With the join of service ids this event would be found at once.
    world.track(&[world.of_service_id(ANN)]).await;
    assert_eq!(answer.read(&mut stream).await, one_person(3, 2));
}

#[tokio::test]
async fn a_question_that_begins_again_needs_one_place_among_all_questions() {
    let world = World::new().await;
    world.track(&[world.of_user("ann"), world.of_user(ANN)]).await;
    let limits = ReadLimits { queries_max: 1, time_max: TIME_MAX, ..ReadLimits::default() };
    let analytics = world.analytics.clone().with_limits(limits);
    let asked = asked();
    let mut stream = histories(&analytics, world.workspace, &asked).await.unwrap();
    assert_eq!(HistoriesRead::default().read(&mut stream).await, one_person(2, 1));
}

#[tokio::test]
async fn service_ids_are_joined_from_the_start_where_events_have_any() {
    let world = World::new().await;
    world.link("phone").await;
    world.track(&[world.of_user("ann"), world.of_service_id(ANN), world.of_device("phone")]).await;
    let asked = asked();
    let mut stream = histories(&world.analytics, world.workspace, &asked).await.unwrap();
    assert_eq!(HistoriesRead::default().read(&mut stream).await, one_person(3, 0));
}

#[tokio::test]
async fn the_first_service_id_that_arrives_while_a_question_is_asked_makes_it_begin_again() {
    let world = World::new().await;
    world.link("phone").await;
    world.track(&[world.of_user("ann"), world.of_device("phone")]).await;
    let asked = asked();
    let mut stream = histories(&world.analytics, world.workspace, &asked).await.unwrap();
    world.track(&[world.of_service_id(ANN)]).await;
    assert_eq!(HistoriesRead::default().read(&mut stream).await, one_person(3, 1));
}

#[tokio::test]
async fn a_question_ends_where_people_have_more_events_than_may_be_held() {
    let world = World::new().await;
    let another = event(world.workspace, "Seen", "another", AT).of("ann");
    world.track(&[world.of_user("ann"), another]).await;
    for (events, is_answered) in [(2, true), (1, false)] {
        let max = HistoriesMax { events, ..HISTORIES_MAX };
        let asked = HistoriesAsked { max, ..asked() };
        let mut stream = histories(&world.analytics, world.workspace, &asked).await.unwrap();
        match stream.next().await {
            Ok(next) => assert!(is_answered && matches!(next, NextHistories::People(_))),
            Err(refused) => {
                assert!(
                    !is_answered && refused.to_string().contains("more than 1 events"),
                    "{refused}"
                );
            }
        }
    }
}

#[tokio::test]
async fn people_are_whole_where_their_events_come_in_several_blocks() {
    const PEOPLE: usize = 5;
    const EVENTS: usize = 40_000;
    let world = World::new().await;
    // A block has at most 65,409 rows.
    let rows = format!(
        "INSERT INTO events (workspace_id, event_name, day, timestamp, user_id, event_id, seq)
         SELECT '{}', 'Seen', '2026-03-01', toDateTime64('2026-03-01 12:00:00', 3, 'UTC'), concat('person-', toString(number % {PEOPLE})),
            toString(number), number
         FROM numbers({})",
        world.workspace,
        PEOPLE * EVENTS
    );
    run(&world.analytics, &rows).await;
    let asked = asked();
    let mut stream = histories(&world.analytics, world.workspace, &asked).await.unwrap();
    let all = HistoriesRead { people: BTreeMap::from([(EVENTS, PEOPLE)]), again: 0 };
    assert_eq!(HistoriesRead::default().read(&mut stream).await, all);
}
