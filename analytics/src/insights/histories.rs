//! What each person did and when: what funnels and retention are computed of.

use std::ops::Range;

use clickhouse::native::Block;
use uuid::Uuid;

use super::{
    Breakdown, EventChoice, Span,
    breakdown::LABEL,
    parameters::{Parameters, Value},
    person::Links,
    rows::RowsAsked,
};
use crate::{Analytics, client, error::AnalyticsError, reads::BlockStream};

const HISTORIES: &str = include_str!("../sql/insight_histories.sql");
/// Most choices of a question.
pub const HISTORY_CHOICES_MAX: usize = 20;
/// What is held of one group of people at a time, in this process: events of 24 bytes each, twice that with a breakdown, and its
/// values.
pub const HISTORIES_MAX: HistoriesMax =
    HistoriesMax { events: 10_000_000, label_bytes: 240_000_000 };
/// The value of the breakdown, of events that a person may begin with.
const OF_ENTRY: &str =
    ", if(bitAnd(choices, 1) = 0, '', ifNull(concat('=', $label$), '')) AS label";
/// Bits of an event that say which choices it meets.
const CHOICE_BITS: u32 = 20;

/// A question about histories.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoriesAsked {
    /// What an event may meet, at most [`HISTORY_CHOICES_MAX`]. People without an event that meets the first are left
    /// out.
    pub choices: Vec<EventChoice>,
    /// The range in which an event may meet the first choice.
    pub first_span: Span,
    /// The range in which it may meet the others.
    pub span: Span,
    /// Whether events that meet none belong to a history.
    pub has_all_events: bool,
    /// The value by which the answer is broken down.
    pub breakdown: Option<Breakdown>,
    /// The people it is limited to, stored before.
    pub members: Option<Uuid>,
    /// What may be held at a time; mostly [`HISTORIES_MAX`].
    pub max: HistoriesMax,
}

/// Most of what is held of one group of people: a 64th of all, by their hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoriesMax {
    /// Events of these people.
    pub events: usize,
    /// Bytes of the breakdown's values that they begin with.
    pub label_bytes: usize,
}

/// An event of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryEvent {
    /// When it happened, in milliseconds since 1970.
    pub at_ms: i64,
    /// A bit for each choice that it meets, the lowest for the first.
    pub choices: u32,
}

/// What one person did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PersonHistory {
    /// The events, by time.
    pub events: Vec<HistoryEvent>,
    /// Values of the breakdown by the places of events; empty where there is none.
    labels: Vec<Option<String>>,
}

impl PersonHistory {
    /// A history with values of a breakdown, each by the place of its event.
    pub fn new(events: Vec<HistoryEvent>, labels: Vec<Option<String>>) -> Self {
        Self { events, labels }
    }

    /// The value of the breakdown for the event at a place. Events that do not meet the first choice have none.
    pub fn label(&self, place: usize) -> Option<&str> {
        self.labels.get(place)?.as_deref()
    }
}

/// The event of a row whose identifiers may be linked.
const NEEDS_LINKS: u64 = u64::MAX;

/// Bits of a person by which people are grouped, as in `insight_histories.sql`.
const GROUP_BITS: u32 = 6;

fn group_of(person: u64) -> u64 {
    person >> (u64::BITS - GROUP_BITS)
}

/// Rows of `insight_histories.sql`, column by column.
#[derive(Debug, Default)]
struct Rows {
    people: Vec<u64>,
    events: Vec<u64>,
    /// Values of the breakdown; none without one.
    labels: Vec<Option<String>>,
    /// Rows that were taken.
    taken: usize,
}

impl Rows {
    fn read(block: &Block, has_labels: bool) -> clickhouse::error::Result<Self> {
        let mut labels = Vec::new();
        if has_labels {
            for label in block["label"].iter::<&str>()? {
                labels.push(label?.strip_prefix('=').map(str::to_owned));
            }
        }
        Ok(Self {
            people: block["person"].iter::<u64>()?.collect::<Result<_, _>>()?,
            events: block["event"].iter::<u64>()?.collect::<Result<_, _>>()?,
            labels,
            taken: 0,
        })
    }

    /// The group of the next row.
    fn group(&self) -> Option<u64> {
        self.people.get(self.taken).copied().map(group_of)
    }

    /// Takes the next rows, as long as they are of a group.
    fn take(&mut self, group: u64) -> Range<usize> {
        let rest = &self.people[self.taken..];
        let of_others = rest.iter().position(|person| group_of(*person) != group);
        let end = self.taken + of_others.unwrap_or(rest.len());
        std::mem::replace(&mut self.taken, end)..end
    }

    /// Bytes of the labels of some rows; none without a breakdown.
    fn label_bytes(&self, rows: Range<usize>) -> usize {
        let labels = self.labels.get(rows).unwrap_or_default();
        labels.iter().flatten().map(String::len).sum()
    }

    fn need_links(&self, rows: Range<usize>) -> bool {
        self.events[rows].contains(&NEEDS_LINKS)
    }
}

/// An event, and whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct PersonEvent {
    person: u64,
    event: u64,
    /// The place of its label.
    place: usize,
}

/// What some people did: all events of each.
#[derive(Debug, Default)]
pub struct Histories {
    events: Vec<PersonEvent>,
    labels: Vec<Option<String>>,
    label_bytes: usize,
}

impl Histories {
    /// Refuses events with which there would be more than may be held.
    fn refuse_many(
        &self,
        rows: &Rows,
        range: Range<usize>,
        max: HistoriesMax,
    ) -> Result<(), AnalyticsError> {
        if self.events.len() + range.len() > max.events {
            return Err(AnalyticsError::TooLongHistories { max: max.events, of: "events" });
        }
        if self.label_bytes + rows.label_bytes(range) > max.label_bytes {
            let of = "bytes of values of the breakdown";
            return Err(AnalyticsError::TooLongHistories { max: max.label_bytes, of });
        }
        Ok(())
    }

    fn add(&mut self, rows: &mut Rows, range: Range<usize>) {
        let people = &rows.people[range.clone()];
        let first = self.events.len();
        let events = people.iter().zip(&rows.events[range.clone()]).zip(first..);
        self.events.extend(events.map(|((person, event), place)| PersonEvent {
            person: *person,
            event: *event,
            place,
        }));
        if !rows.labels.is_empty() {
            self.label_bytes += rows.label_bytes(range.clone());
            self.labels.extend(rows.labels[range].iter_mut().map(Option::take));
        }
    }

    /// Shows what each of these people did, in no order of people.
    ///
    /// Of equal events those with a label come first, by label: ClickHouse sends events in any order.
    pub fn each(mut self, mut show: impl FnMut(&PersonHistory)) {
        if self.labels.is_empty() {
            self.events.sort_unstable();
        } else {
            let label = |event: &PersonEvent| {
                let label = self.labels[event.place].as_deref();
                (label.is_none(), label)
            };
            self.events.sort_unstable_by(|one, other| {
                (one.person, one.event)
                    .cmp(&(other.person, other.event))
                    .then_with(|| label(one).cmp(&label(other)))
            });
        }
        let mut history = PersonHistory::default();
        for events in self.events.chunk_by(|one, other| one.person == other.person) {
            history.events.clear();
            history.events.extend(events.iter().map(|it| unpacked(it.event)));
            if !self.labels.is_empty() {
                history.labels.clear();
                history.labels.extend(events.iter().map(|it| self.labels[it.place].take()));
            }
            show(&history);
        }
    }
}

/// The answer, some people at a time.
pub struct HistoryStream<'a> {
    analytics: &'a Analytics,
    workspace: Uuid,
    asked: &'a HistoriesAsked,
    links: Links,
    /// None once it is over.
    blocks: Option<BlockStream>,
    /// Rows that were read and not yet shown.
    rows: Rows,
}

impl std::fmt::Debug for HistoryStream<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HistoryStream").finish_non_exhaustive()
    }
}

/// What is next in an answer.
#[derive(Debug)]
pub enum NextHistories {
    /// The histories of further people.
    People(Histories),
    /// Identifiers turned out to be linked: what was answered so far is void, the answer begins again.
    Again,
    /// There are no more.
    End,
}

impl HistoryStream<'_> {
    /// The next histories, in no order of people.
    ///
    /// # Errors
    /// When ClickHouse is away or the question asks too much.
    pub async fn next(&mut self) -> Result<NextHistories, AnalyticsError> {
        let has_labels = self.asked.breakdown.is_some();
        let mut people = Histories::default();
        let mut current = None;
        loop {
            if let Some(group) = self.rows.group() {
                if current.is_some_and(|current| current != group) {
                    return Ok(NextHistories::People(people));
                }
                current = Some(group);
                let range = self.rows.take(group);
                if self.rows.need_links(range.clone()) {
                    self.begin_again().await?;
                    return Ok(NextHistories::Again);
                }
                people.refuse_many(&self.rows, range.clone(), self.asked.max)?;
                people.add(&mut self.rows, range);
                continue;
            }
            let block = match &mut self.blocks {
                Some(blocks) => blocks.next().await?,
                None => None,
            };
            match block {
                Some(block) => self.rows = Rows::read(&block, has_labels)?,
                None if current.is_some() => return Ok(NextHistories::People(people)),
                None => return Ok(NextHistories::End),
            }
        }
    }

    async fn begin_again(&mut self) -> Result<(), AnalyticsError> {
        let Self { analytics, workspace, asked, links, .. } = *self;
        self.rows = Rows::default();
        // It holds one of few places for questions, and further links are a question of their own.
        self.blocks = None;
        self.links = rows(asked).further_links(analytics, workspace, links).await?;
        self.blocks = Some(open(analytics, workspace, asked, self.links)?);
        Ok(())
    }
}

fn unpacked(event: u64) -> HistoryEvent {
    let choices = u32::try_from(event & ((1 << CHOICE_BITS) - 1)).unwrap_or_default();
    HistoryEvent { at_ms: i64::try_from(event >> CHOICE_BITS).unwrap_or_default(), choices }
}

/// Asks for histories.
///
/// # Errors
/// When ClickHouse is away.
pub async fn histories<'a>(
    analytics: &'a Analytics,
    workspace: Uuid,
    asked: &'a HistoriesAsked,
) -> Result<HistoryStream<'a>, AnalyticsError> {
    let links = rows(asked).links(analytics, workspace).await?;
    let blocks = Some(open(analytics, workspace, asked, links)?);
    Ok(HistoryStream { analytics, workspace, asked, links, blocks, rows: Rows::default() })
}

fn rows(asked: &HistoriesAsked) -> RowsAsked<'_> {
    RowsAsked {
        span: Span {
            start_ms: asked.span.start_ms.min(asked.first_span.start_ms),
            end_ms: asked.span.end_ms.max(asked.first_span.end_ms),
        },
        choices: if asked.has_all_events { Vec::new() } else { asked.choices.iter().collect() },
        has_people: true,
        breakdown: asked.breakdown.as_ref(),
        members: asked.members,
        event_columns: Vec::new(),
        columns: vec!["choices".to_owned()],
        condition: "1".to_owned(),
    }
}

fn open(
    analytics: &Analytics,
    workspace: Uuid,
    asked: &HistoriesAsked,
    links: Links,
) -> Result<BlockStream, AnalyticsError> {
    let mut parameters = Parameters::default();
    let sql = sql(asked, links, &mut parameters);
    // The answer has a row for each event, and is read a group of people at a time: see `HistoriesMax`.
    let query = rows(asked)
        .bind(workspace, client::read(analytics, &sql))
        .with_setting("max_result_rows", "0");
    parameters.bind(query).fetch_blocks()
}

fn sql(asked: &HistoriesAsked, links: Links, parameters: &mut Parameters) -> String {
    let mut rows = rows(asked);
    let within = |span: Span, parameters: &mut Parameters| {
        let start = parameters.add(Value::Integer(span.start_ms));
        let end = parameters.add(Value::Integer(span.end_ms));
        format!("at_ms BETWEEN {start} AND {end}")
    };
    let choices: Vec<String> = asked
        .choices
        .iter()
        .take(HISTORY_CHOICES_MAX)
        .enumerate()
        .map(|(place, choice)| {
            let span = if place == 0 { asked.first_span } else { asked.span };
            let met = format!("{} AND {}", choice.sql(parameters), within(span, parameters));
            format!("if({met}, toUInt32({}), toUInt32(0))", 1_u32 << place)
        })
        .collect();
    rows.event_columns = vec![format!("toUInt32({}) AS choices", choices.join(" + "))];
    if !asked.has_all_events {
        "choices != 0".clone_into(&mut rows.condition);
    }
    let label = match asked.breakdown {
        Some(_) => OF_ENTRY.replace("$label$", LABEL),
        None => String::new(),
    };
    HISTORIES.replace("$label$", &label).replace("$rows$", &rows.sql(links, parameters))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_packed_into_its_instant_and_choices() {
        let event = unpacked((1_700_000_000_123 << CHOICE_BITS) | 0b101);
        assert_eq!(event, HistoryEvent { at_ms: 1_700_000_000_123, choices: 0b101 });
    }

    #[test]
    fn rows_out_of_order_are_taken_as_groups_of_their_own() {
        let mut rows = Rows { people: vec![u64::MAX, 1, u64::MAX], ..Rows::default() };
        for (group, range) in [(63, 0..1), (0, 1..2), (63, 2..3)] {
            assert_eq!(rows.group(), Some(group));
            assert_eq!(rows.take(group), range);
        }
        assert_eq!(rows.group(), None);
    }

    #[test]
    fn so_many_events_and_labels_are_held_of_a_group_and_no_more() {
        let text = |text: &str| Some(text.to_owned());
        let held = |max: HistoriesMax| {
            let mut rows = Rows {
                people: vec![1, 2, 1],
                events: vec![1, 1, 1],
                labels: vec![text("four"), None, text("five!")],
                taken: 0,
            };
            let mut people = Histories::default();
            for range in [0..2, 2..3] {
                people.refuse_many(&rows, range.clone(), max)?;
                people.add(&mut rows, range);
            }
            Ok::<usize, AnalyticsError>(people.events.len())
        };
        let enough = HistoriesMax { events: 3, label_bytes: 9 };
        assert_eq!(held(enough).unwrap(), 3);
        let refused = held(HistoriesMax { events: 2, ..enough }).unwrap_err();
        assert!(refused.to_string().contains("more than 2 events"), "{refused}");
        assert!(matches!(kernel::Error::from(refused), kernel::Error::BadRequest { .. }));
        let refused = held(HistoriesMax { label_bytes: 8, ..enough }).unwrap_err();
        assert!(refused.to_string().contains("more than 8 bytes"), "{refused}");
    }

    #[test]
    fn of_equal_events_the_order_does_not_depend_on_the_answer() {
        let labels = [Some("b"), None, Some("a"), Some("")];
        for rotated in 0..labels.len() {
            let mut rows = Rows {
                people: vec![1; labels.len()],
                events: vec![1; labels.len()],
                labels: labels.iter().map(|label| label.map(str::to_owned)).collect(),
                taken: 0,
            };
            rows.labels.rotate_left(rotated);
            let mut people = Histories::default();
            people.add(&mut rows, 0..labels.len());
            people.each(|history| {
                let labels: Vec<_> = (0..4).map(|place| history.label(place)).collect();
                assert_eq!(labels, [Some(""), Some("a"), Some("b"), None], "{rotated}");
            });
        }
    }

    #[test]
    fn events_of_a_person_are_shown_together_by_time() {
        let event = |at_ms: u64| at_ms << CHOICE_BITS | 1;
        let text = |text: &str| Some(text.to_owned());
        let mut rows = Rows {
            people: vec![7, 5, 7, 5, u64::MAX],
            events: [3, 2, 1, 9, 4].map(event).to_vec(),
            labels: vec![text("x"), None, text(""), text("y"), text("z")],
            taken: 0,
        };
        let mut shown = Vec::new();
        for group in [0, 63] {
            assert_eq!(rows.group(), Some(group));
            let mut people = Histories::default();
            let range = rows.take(group);
            people.add(&mut rows, range);
            people.each(|history| {
                let times = history.events.iter().map(|it| it.at_ms);
                let labels = (0..).map(|place| history.label(place).map(str::to_owned));
                shown.push(times.zip(labels).collect::<Vec<_>>());
            });
        }
        assert_eq!(rows.group(), None);
        assert_eq!(
            shown,
            [
                vec![(2, None), (9, text("y"))],
                vec![(1, text("")), (3, text("x"))],
                vec![(4, text("z"))]
            ]
        );
    }
}
