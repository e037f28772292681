//! What each person did and when: what funnels and retention are computed of.

use clickhouse::Row;
use serde::Deserialize;
use uuid::Uuid;

use super::{
    Breakdown, BreakdownSource, EventChoice, Span,
    breakdown::LABEL,
    parameters::{Parameters, Value},
    person::Links,
    rows::RowsAsked,
};
use crate::{Analytics, client, error::AnalyticsError, reads::RowStream};

const HISTORIES: &str = include_str!("../sql/insight_histories.sql");
/// Most choices of a question.
pub const HISTORY_CHOICES_MAX: usize = 20;
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
    /// Most people to answer.
    pub people_max: u64,
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
    /// The events, in no order.
    pub events: Vec<HistoryEvent>,
    /// Values of the breakdown: one of a profile, or of each event that meets the first choice its own, else empty.
    labels: Vec<String>,
    is_of_profile: bool,
}

impl PersonHistory {
    /// A history with values of a breakdown by event, each by the place of its event.
    pub fn new(events: Vec<HistoryEvent>, labels: Vec<Option<String>>) -> Self {
        let labels =
            labels.into_iter().map(|label| label.map(|it| format!("={it}")).unwrap_or_default());
        Self { events, labels: labels.collect(), is_of_profile: false }
    }

    /// The value of the breakdown for the event at a place.
    pub fn label(&self, place: usize) -> Option<&str> {
        let place = if self.is_of_profile { 0 } else { place };
        self.labels.get(place)?.strip_prefix('=')
    }
}

/// A row of `insight_histories.sql`.
#[derive(Debug, Row, Deserialize)]
struct HistoryRow {
    events: Vec<u64>,
    labels: Vec<String>,
    needs_links: u8,
}

/// The answer, person by person.
pub struct Histories<'a> {
    analytics: &'a Analytics,
    workspace: Uuid,
    asked: &'a HistoriesAsked,
    cursor: RowStream<HistoryRow>,
}

impl std::fmt::Debug for Histories<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Histories").finish_non_exhaustive()
    }
}

/// What is next in an answer.
#[derive(Debug)]
pub enum NextHistory {
    /// The history of a further person.
    Person(PersonHistory),
    /// Identifiers turned out to be linked: what was answered so far is void, the answer begins again.
    Again,
    /// There are no more.
    End,
}

impl Histories<'_> {
    /// The next history, in no order of people.
    ///
    /// # Errors
    /// When ClickHouse is away or the question asks too much.
    pub async fn next(&mut self) -> Result<NextHistory, AnalyticsError> {
        let Some(row) = self.cursor.next().await? else { return Ok(NextHistory::End) };
        if row.needs_links > 0 {
            self.cursor = open(self.analytics, self.workspace, self.asked, Links::Joined)?;
            return Ok(NextHistory::Again);
        }
        let is_of_profile =
            self.asked.breakdown.as_ref().is_some_and(|it| it.source == BreakdownSource::Profile);
        let events = row.events.into_iter().map(unpacked).collect();
        Ok(NextHistory::Person(PersonHistory { events, labels: row.labels, is_of_profile }))
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
) -> Result<Histories<'a>, AnalyticsError> {
    let links = rows(asked).links(analytics, workspace).await?;
    let cursor = open(analytics, workspace, asked, links)?;
    Ok(Histories { analytics, workspace, asked, cursor })
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
) -> Result<RowStream<HistoryRow>, AnalyticsError> {
    let mut parameters = Parameters::default();
    let sql = sql(asked, links, &mut parameters);
    let query = rows(asked)
        .bind(workspace, client::read(analytics, &sql))
        .with_setting("max_result_rows", asked.people_max.to_string());
    parameters.bind(query).fetch()
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
    let labels = match &asked.breakdown {
        None => "emptyArrayString()".to_owned(),
        Some(by) if by.source == BreakdownSource::Profile => {
            "[any(ifNull(concat('=', label), ''))]".to_owned()
        }
        Some(_) => {
            "groupArray(if(bitAnd(event, 1) = 0, '', ifNull(concat('=', label), '')))".to_owned()
        }
    };
    let label = if asked.breakdown.is_some() { LABEL } else { "CAST(NULL, 'Nullable(String)')" };
    HISTORIES
        .replace("$labels$", &labels)
        .replace("$label$", label)
        .replace("$rows$", &rows.sql(links, parameters))
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
    fn labels_are_by_event_or_of_the_profile() {
        let event = HistoryEvent { at_ms: 0, choices: 1 };
        let history = PersonHistory::new(
            vec![event; 3],
            vec![None, Some(String::new()), Some("x".to_owned())],
        );
        assert_eq!(
            [0, 1, 2, 3].map(|place| history.label(place)),
            [None, Some(""), Some("x"), None]
        );
        let history =
            PersonHistory { labels: vec!["=pro".to_owned()], is_of_profile: true, ..history };
        assert_eq!([0, 2].map(|place| history.label(place)), [Some("pro"); 2]);
    }
}
