//! The rows that every question is made of: an event, whose it is, and what the question needs of it.

use uuid::Uuid;

use super::{
    Breakdown, BreakdownSource, EventChoice, Span, condition,
    parameters::Parameters,
    person::{self, Links, NEVER},
};
use crate::{Analytics, client, error::AnalyticsError, reads::Read};

const ROWS: &str = include_str!("../sql/insight_rows.sql");
const TRACKED: &str = include_str!("../sql/insight_tracked.sql");
const EVENTS: &str = include_str!("../sql/insight_events.sql");
const HAS_LINKS: &str =
    "SELECT count() FROM (SELECT 1 FROM identities WHERE workspace_id = {workspace:UUID} LIMIT 1)";
const HAS_SERVICE_IDS: &str = "SELECT count() FROM (SELECT 1 FROM events WHERE $events$ LIMIT 1)";

/// The condition of the events of a question, with further ones.
fn of_events(further: &str) -> String {
    without_question(EVENTS).replace("$and$", further)
}

/// Whether a condition is true of any row, as an aggregate. A constant is not aggregated: that would take time for each row.
pub(super) fn true_of_any(condition: &str) -> String {
    if condition == NEVER { "toUInt8(0)".to_owned() } else { format!("toUInt8(max({condition}))") }
}

/// A fragment without its first line, which says what it is.
fn without_question(fragment: &str) -> &str {
    fragment.split_once('\n').map_or(fragment, |(_question, sql)| sql)
}

/// What the rows of a question are.
#[derive(Debug, Clone)]
pub(super) struct RowsAsked<'a> {
    /// The range of all events that are read.
    pub(super) span: Span,
    /// The choices that narrow the events to read; none reads all.
    pub(super) choices: Vec<&'a EventChoice>,
    /// Whether the question asks who did it.
    pub(super) has_people: bool,
    pub(super) breakdown: Option<&'a Breakdown>,
    /// The people it is limited to, stored before.
    pub(super) members: Option<Uuid>,
    /// Columns of an event: expressions with their names, by which `columns` may use them.
    pub(super) event_columns: Vec<String>,
    /// Names of further columns of a row.
    pub(super) columns: Vec<String>,
    /// A condition on events, beside those of the choices.
    pub(super) condition: String,
}

impl RowsAsked<'_> {
    /// Whether it matters which identifiers are one person.
    pub(super) fn is_of_people(&self) -> bool {
        self.has_people || self.is_of_profiles()
    }

    /// Whether people have to be known by their profiles: members and attributes are.
    fn is_of_profiles(&self) -> bool {
        let by_profile = self.breakdown.is_some_and(|it| it.source == BreakdownSource::Profile);
        self.members.is_some() || by_profile
    }

    /// The statement of the rows.
    pub(super) fn sql(&self, links: Links, parameters: &mut Parameters) -> String {
        let mut event_columns = self.event_columns.clone();
        let names = condition::of_names(&self.choices, parameters);
        // The condition may name columns of an event, which are none of the table. A join may hold more than it needs.
        let mut joins = links.joins(&of_events(&names));
        let tracked = self.tracked(&names);
        let raw = match self.breakdown {
            None => "''",
            Some(by) if by.source == BreakdownSource::Property => {
                event_columns.push(format!("{} AS property", by.raw(parameters)));
                "tracked.property"
            }
            Some(by) => {
                joins.push(person::attributes_join(links, &by.raw(parameters)));
                "profiles.attribute"
            }
        };
        let is_of_people = self.is_of_people();
        let of_people = |sql, other| if is_of_people { sql } else { other };
        let limit = self.members.map(|_| format!("WHERE {}", person::members_condition(links)));
        let listed = |columns: &[String]| -> String {
            columns.iter().fold(String::new(), |all, it| all + ",\n        " + it)
        };
        ROWS.replace("$tracked$", &tracked)
            .replace("$identifier$", of_people(person::IDENTIFIER, "''"))
            .replace("$service_key$", of_people(person::SERVICE_KEY, "0"))
            .replace("$user_key$", of_people(person::USER_KEY, "0"))
            .replace("$needs_links$", of_people(links.needed(), NEVER))
            .replace("$person$", links.person())
            .replace("$raw$", raw)
            .replace("$columns$", &listed(&self.columns))
            .replace("$event_columns$", &listed(&event_columns))
            .replace("$joins$", &joins.join("\n"))
            .replace("$where$", &limit.unwrap_or_default())
    }

    /// The events, part by part.
    fn tracked(&self, names: &str) -> String {
        let parts = condition::parts(&self.choices);
        let of_part = |part: &String| {
            let further = format!("{names}\n        {part}\n        AND ({})", self.condition);
            without_question(TRACKED).trim_end().replace("$events$", &of_events(&further))
        };
        parts.iter().map(of_part).collect::<Vec<_>>().join("\n    UNION ALL\n")
    }

    /// The parameters that the statement of the rows names.
    pub(super) fn bind(&self, workspace: Uuid, query: Read) -> Read {
        let query = query
            .param("workspace", workspace.to_string())
            // Days of ClickHouse begin with 1970; no event is older.
            .param("start_ms", self.span.start_ms.max(0))
            .param("end_ms", self.span.end_ms);
        match self.members {
            Some(question) => query.param("question", question.to_string()),
            None => query,
        }
    }

    /// Whether any of some rows needs a join that is left out, as an aggregate: of each row only where one can.
    pub(super) fn any_needs_links(&self, links: Links) -> String {
        let needed = if self.is_of_people() { links.needed() } else { NEVER };
        true_of_any(if needed == NEVER { NEVER } else { "needs_links" })
    }

    /// Which identifiers have to be joined, as far as is known before the events are read.
    pub(super) async fn links(
        &self,
        analytics: &Analytics,
        workspace: Uuid,
    ) -> Result<Links, AnalyticsError> {
        if !self.is_of_people() {
            return Ok(Links::Unneeded);
        }
        // Rows of people who are not members are left out before they could say that they need links.
        if self.is_of_profiles() {
            return Ok(Links::Joined);
        }
        let asked = client::read(analytics, HAS_LINKS).param("workspace", workspace.to_string());
        let linked: u64 = asked.fetch_one().await?;
        if linked == 0 {
            Ok(Links::Unneeded)
        } else {
            self.needed_links(analytics, workspace).await
        }
    }

    /// Which identifiers have to be joined after rows came in need of more than these.
    pub(super) async fn further_links(
        &self,
        analytics: &Analytics,
        workspace: Uuid,
        links: Links,
    ) -> Result<Links, AnalyticsError> {
        match links {
            Links::Unneeded => self.needed_links(analytics, workspace).await,
            Links::WithoutServiceIds | Links::Joined => Ok(Links::Joined),
        }
    }

    /// Which identifiers have to be joined, once some have to be.
    async fn needed_links(
        &self,
        analytics: &Analytics,
        workspace: Uuid,
    ) -> Result<Links, AnalyticsError> {
        let mut parameters = Parameters::default();
        let names = condition::of_names(&self.choices, &mut parameters);
        let events = of_events(&format!("{names} AND {}", person::HAS_SERVICE_ID));
        let sql = HAS_SERVICE_IDS.replace("$events$", &events);
        let asked = parameters.bind(self.bind(workspace, client::read(analytics, &sql)));
        let with_service_ids: u64 = asked.fetch_one().await?;
        Ok(if with_service_ids > 0 { Links::Joined } else { Links::WithoutServiceIds })
    }
}
