//! Who did something, as profiles: ClickHouse finds out whose the identifiers in events are, and counts by profile.

use clickhouse::Row;
use kernel::UserId;
use serde::Deserialize;
use uuid::Uuid;

use super::{filter::Range, people::PeopleFilter};
use crate::{Analytics, client, error::AnalyticsError, owners, reads::RowStream};

const PROFILES: &str = include_str!("../sql/event_profiles.sql");
const OR_LINKED: &str = include_str!("../sql/event_profiles_linked.sql");
const COUNTED: &str = include_str!("../sql/event_profiles_counted.sql");
const MIXED: &str = include_str!("../sql/event_profiles_mixed.sql");
const HAS_MIXED: &str = include_str!("../sql/event_is_mixed.sql");
const TOKENS: &str = include_str!("../sql/event_tokens.sql");
/// Whether an event has two users, what may be an internal id, or a linked identifier.
const IS_MIXED: &str = "(user_id != '' AND service_user_id != '' AND user_id != service_user_id
            OR length(user_id) = 24 AND match(user_id, '^[0-9a-f]{24}')
            OR length(service_user_id) = 24 AND match(service_user_id, '^[0-9a-f]{24}')
            $or_linked$)";
/// Whether an event carries an identifier that is not a profile's own id.
const IS_LINKED: &str = "(user_id IN ($linked_ids$)
                        OR service_user_id IN ($linked_ids$)
                        OR user_id = '' AND service_user_id = '' AND anonymous_id IN ($linked_ids$))";
const LINKED_IDS: &str = "SELECT id FROM identities WHERE workspace_id = {workspace:UUID}";
const EVENTS: &str = include_str!("../sql/event_conditions.sql");

/// How often, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// At least this often, and at least once.
    pub least: u64,
    /// At most this often.
    pub most: u64,
}

/// Whose profiles are asked for.
#[derive(Debug, Clone)]
pub struct ProfilesFilter {
    /// Which events count, and how many profiles to answer at most. All people are asked for: `among` does not count.
    pub of: PeopleFilter,
    /// How often a profile must have done it; none where once is enough.
    pub times: Option<Times>,
    /// Whether the workspace has identifiers that are not ids of the profiles themselves.
    pub has_links: bool,
}

#[derive(Debug, Row, Deserialize)]
struct ProfileRow {
    profile: [u8; 12],
}

/// The profiles, in the order of their ids, each once.
pub struct Profiles {
    /// None where nothing can match.
    cursor: Option<RowStream<ProfileRow>>,
}

impl std::fmt::Debug for Profiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Profiles").finish_non_exhaustive()
    }
}

impl Profiles {
    /// The next profile.
    ///
    /// # Errors
    /// When ClickHouse is away or the question asks too much.
    pub async fn next(&mut self) -> Result<Option<UserId>, AnalyticsError> {
        match &mut self.cursor {
            Some(cursor) => Ok(cursor.next().await?.map(|row| UserId::from_bytes(row.profile))),
            None => Ok(None),
        }
    }
}

/// Asks which profiles did something, by the copies of profiles and identifiers in ClickHouse: they have to be as new as
/// the answer is to be.
///
/// # Errors
/// When ClickHouse is away or the question asks too much.
pub async fn profiles(
    analytics: &Analytics,
    workspace: Uuid,
    filter: &ProfilesFilter,
) -> Result<Profiles, AnalyticsError> {
    let of = &filter.of;
    let Some(range) = Range::new(of.start_ms, of.end_ms) else {
        return Ok(Profiles { cursor: None });
    };
    let mut form = Form::Any;
    if filter.times.is_some() {
        let has_mixed =
            of.bind(client::read(analytics, &Form::HasMixed.statement(filter)), workspace, range);
        let has_mixed = has_mixed.fetch_one::<u64>().await? > 0;
        form = Form::Counted { has_mixed };
    }
    let mut sql = form.statement(filter);
    if filter.times.is_none() && of.is_stored_once(analytics, workspace, range).await? {
        sql = sql.replace("FROM events FINAL", "FROM events");
    }
    let mut query = of
        .bind(client::read(analytics, &sql), workspace, range)
        .with_setting("max_result_rows", of.people_max.to_string())
        .param("people_max", of.people_max);
    if let Some(Times { least, most }) = filter.times {
        query = query.param("least", least).param("most", most);
    }
    Ok(Profiles { cursor: Some(query.fetch()?) })
}

/// What is asked about events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Whose they are at all.
    Any,
    /// Whether some are not of one user alone.
    HasMixed,
    /// Who has so many; joining what is mixed takes as long as all the rest.
    Counted { has_mixed: bool },
}

impl Form {
    fn statement(self, filter: &ProfilesFilter) -> String {
        let events = plain(EVENTS).replace("$and$", &filter.of.properties_conditions());
        let (sql, or_linked) = match self {
            Self::Any => (PROFILES, plain(OR_LINKED)),
            Self::HasMixed => (HAS_MIXED, format!("OR {IS_LINKED}")),
            Self::Counted { .. } => (COUNTED, format!("OR {IS_LINKED}")),
        };
        let or_linked = if filter.has_links { or_linked } else { String::new() };
        let (mixed, times) = match self {
            Self::Counted { has_mixed: true } => (plain(MIXED), "plain.times + mixed.times"),
            _ => (String::new(), "plain.times"),
        };
        plain(sql)
            .replace("$mixed$", &mixed)
            .replace("$times$", times)
            .replace("$is_mixed$", IS_MIXED)
            .replace("$or_linked$", &or_linked)
            .replace("$linked$", &owners::linked_of_workspace())
            .replace("$identifiers$", &owners::identifiers_of_workspace())
            .replace("$is_linked$", IS_LINKED)
            .replace("$linked_ids$", LINKED_IDS)
            .replace("$tokens$", &plain(TOKENS))
            .replace("$events$", &events)
    }
}

/// Without the comments at its beginning: marks in comments are no marks.
fn plain(sql: &str) -> String {
    let lines = sql.lines().skip_while(|line| line.starts_with("--"));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mark_is_filled() {
        let of = PeopleFilter {
            event_name: "Bought".to_owned(),
            start_ms: None,
            end_ms: None,
            properties: Vec::new(),
            among: None,
            people_max: 1,
            any_times: false,
        };
        let (plain, mixed) =
            (Form::Counted { has_mixed: false }, Form::Counted { has_mixed: true });
        for has_links in [false, true] {
            let filter = ProfilesFilter { of: of.clone(), times: None, has_links };
            for form in [Form::Any, Form::HasMixed, plain, mixed] {
                let sql = form.statement(&filter).replace("{24}$'", "{24}'");
                assert!(!sql.contains('$') && !sql.contains("--"), "{sql}");
                let has_identities = form == mixed || has_links && form != plain;
                assert_eq!(sql.contains("identities"), has_identities, "{sql}");
            }
        }
    }
}
