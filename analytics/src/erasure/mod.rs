//! Erases people from ClickHouse: rows are deleted by mutations, which write the parts with such rows anew, and the old parts
//! are removed from the disk at once.
//!
//! ClickHouse writes the text of a mutation into a file, so identifiers are compared by hashes with a key of the erasure.
//! Every step may be repeated: what is deleted already is not found.

mod export;
mod parts;

use std::{collections::BTreeMap, fmt::Write as _};

use clickhouse::{Row, query::Query};
use serde::Deserialize;
use uuid::Uuid;

pub use self::{
    export::{events_of, message_events_of},
    parts::{DetachedPart, drop_detached_copies, keep_old_parts, old_parts, remove_old_parts_soon},
};

use crate::{Analytics, error::AnalyticsError};

const THEIRS: &str = include_str!("../sql/erase_theirs.sql");
const HASHES: &str = include_str!("../sql/erase_hashes.sql");
const REMEMBER_KEYS: &str = include_str!("../sql/erase_remember_keys.sql");
const COUNT_LESS: &str = include_str!("../sql/erase_count_less.sql");
const ANONYMIZED_ID: &str = include_str!("../sql/erase_anonymized_id.sql");
const ANONYMIZE_TIMELINE: &str = include_str!("../sql/erase_anonymize_timeline.sql");
const ANONYMIZE_ORDERS: &str = include_str!("../sql/erase_anonymize_orders.sql");
const ANONYMIZE_EVENTS: &str = include_str!("../sql/erase_anonymize_events.sql");
const SUBJECT: &str = include_str!("../sql/erase_subject.sql");
const UNFINISHED: &str = include_str!("../sql/erase_unfinished.sql");

/// Identifiers of one query for their hashes: they are a part of its address.
const IDS_PER_QUERY: usize = 256;

/// A random key of an erasure. Hashes with it say nothing once it is gone.
#[derive(Debug, Clone, Copy)]
pub struct HashKey {
    /// The first half of the key.
    pub first: u64,
    /// The second half of the key.
    pub second: u64,
}

impl HashKey {
    fn function(self) -> String {
        format!("sipHash64Keyed((toUInt64({}), toUInt64({})), ", self.first, self.second)
    }
}

/// People of a workspace to erase.
#[derive(Debug, Clone)]
pub struct ErasedPeople {
    /// The workspace that they are in.
    pub workspace: Uuid,
    /// A key of this erasure.
    pub key: HashKey,
    /// The number of this call among those with the same key and other identifiers; a repeated call has it again.
    pub part: usize,
    /// Internal, external and anonymous ids, and aliases.
    pub ids: Vec<String>,
}

/// The hashes of the identifiers of people, with which statements find their rows.
#[derive(Debug, Clone)]
pub struct HashedPeople {
    workspace: Uuid,
    key: HashKey,
    part: usize,
    hashes: String,
}

/// A person whose events stay without them.
#[derive(Debug, Clone)]
pub struct AnonymizedPerson {
    /// The id of no profile that the events go on with.
    pub subject: String,
    /// Internal, external and anonymous ids, and aliases.
    pub ids: Vec<String>,
}

/// The statements of one stage. Those of a stage may run at once; each stage needs those before to be finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Rows that are found by events.
    Entries,
    /// Events, and rows that name their person.
    People,
}

#[derive(Debug, Row, Deserialize)]
struct Unfinished {
    unfinished: u64,
    problem: String,
}

/// Hashes identifiers.
///
/// # Errors
/// When ClickHouse is away.
pub async fn hashed(
    analytics: &Analytics,
    people: &ErasedPeople,
) -> Result<HashedPeople, AnalyticsError> {
    let hashes = hashes(analytics, people.key, &people.ids).await?;
    let ErasedPeople { workspace, key, part, .. } = *people;
    Ok(HashedPeople { workspace, key, part, hashes: list(&hashes) })
}

/// The hash of each identifier, in their order.
async fn hashes(
    analytics: &Analytics,
    key: HashKey,
    ids: &[String],
) -> Result<Vec<u64>, AnalyticsError> {
    let mut hashes = Vec::with_capacity(ids.len());
    for part in ids.chunks(IDS_PER_QUERY) {
        let query = analytics
            .client()
            .query_raw(HASHES)
            .param("first", key.first)
            .param("second", key.second)
            .param("ids", part.to_vec());
        hashes.extend(query.fetch_all::<u64>().await?);
    }
    Ok(hashes)
}

fn list(values: impl IntoIterator<Item = impl ToString>) -> String {
    let values: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
    values.join(", ")
}

/// A statement with the hashes of many people in it.
fn long_statement(analytics: &Analytics, sql: &str) -> Query {
    analytics
        .client()
        .query_raw(sql)
        .with_setting("max_query_size", "67108864")
        .with_setting("max_ast_elements", "10000000")
        .with_setting("max_expanded_ast_elements", "10000000")
}

/// Stores the events of people of a workspace again with nothing but name, time and money, each under the subject of its
/// person. What is stored so already is left.
///
/// # Errors
/// When ClickHouse is away.
pub async fn anonymize(
    analytics: &Analytics,
    workspace: Uuid,
    key: HashKey,
    people: &[AnonymizedPerson],
) -> Result<(), AnalyticsError> {
    let ids: Vec<String> = people.iter().flat_map(|person| person.ids.iter().cloned()).collect();
    let hashes = hashes(analytics, key, &ids).await?;
    let subjects = people.iter().flat_map(|person| person.ids.iter().map(|_| &person.subject));
    // An identifier of several people stands for the first.
    let mut subject_of = BTreeMap::new();
    for (hash, subject) in hashes.into_iter().zip(subjects) {
        subject_of.entry(hash).or_insert(format!("'{subject}'"));
    }
    if subject_of.is_empty() {
        return Ok(());
    }
    let hashed = HashedPeople { workspace, key, part: 0, hashes: list(subject_of.keys()) };
    let subjects = list(subject_of.values());
    // In the order of the writer: an event that is stored is in the others already.
    for sql in [ANONYMIZE_TIMELINE, ANONYMIZE_ORDERS, ANONYMIZE_EVENTS] {
        let sql =
            hashed.filled(&sql.replace("$subject$", SUBJECT)).replace("$subjects$", &subjects);
        long_statement(analytics, &sql)
            .with_setting("async_insert", "0")
            .param("workspace", workspace.to_string())
            .param("first", key.first)
            .param("second", key.second)
            .execute()
            .await?;
    }
    Ok(())
}

impl HashedPeople {
    /// A condition on the hash of an expression.
    fn is_one(&self, expression: &str) -> String {
        format!("{}{expression}) IN ({})", self.key.function(), self.hashes)
    }

    /// The condition that an event is theirs.
    fn theirs(&self) -> String {
        self.filled(THEIRS)
    }

    fn filled(&self, sql: &str) -> String {
        sql.replace("$theirs$", THEIRS)
            .replace("$anonymized_id$", ANONYMIZED_ID)
            .replace("$workspace$", &self.workspace.to_string())
            .replace("$hash$(", &self.key.function())
            .replace("$hashes$", &self.hashes)
    }

    /// Remembers the keys of their events as hashes, and takes the events out of the counts by day, once.
    ///
    /// # Errors
    /// When ClickHouse is away.
    pub async fn remember(&self, analytics: &Analytics) -> Result<(), AnalyticsError> {
        long_statement(analytics, &self.filled(REMEMBER_KEYS)).execute().await?;
        let mut token = format!("erased-{:x}-{:x}", self.key.first, self.key.second);
        // The first part has the token of releases that knew one alone.
        if self.part > 0 {
            let _ = write!(token, "-{}", self.part);
        }
        long_statement(analytics, &self.filled(COUNT_LESS))
            .with_setting("async_insert", "0")
            .with_setting("max_insert_threads", "1")
            .with_setting("insert_deduplication_token", token)
            .execute()
            .await?;
        Ok(())
    }

    /// Begins the mutations of a stage. They go on in the background.
    ///
    /// # Errors
    /// When ClickHouse is away.
    pub async fn begin(&self, analytics: &Analytics, stage: Stage) -> Result<(), AnalyticsError> {
        let workspace = format!("workspace_id = '{}'", self.workspace);
        let theirs = self.theirs();
        let (event, user) = (self.is_one("user_id"), self.is_one("lower(hex(user_id))"));
        let statements = match stage {
            Stage::Entries => vec![
                format!(
                    "ALTER TABLE timeline DELETE WHERE {workspace} AND (event_name, day, event_id) IN (
                         SELECT event_name, day, event_id FROM events WHERE {theirs})"
                ),
                format!(
                    "ALTER TABLE orders DELETE WHERE {workspace} AND event_id IN (
                         SELECT event_id FROM events WHERE event_name = 'Order Completed' AND {theirs})"
                ),
            ],
            Stage::People => vec![
                format!(
                    "ALTER TABLE events DELETE WHERE {theirs},
                         UPDATE anonymous_id = '' WHERE {workspace} AND {},
                         UPDATE alias_name = '' WHERE {workspace} AND {}",
                    self.is_one("anonymous_id"),
                    self.is_one("toString(alias_name)"),
                ),
                format!("ALTER TABLE message_events DELETE WHERE {workspace} AND {event}"),
                format!("ALTER TABLE message_outcomes DELETE WHERE {workspace} AND {user}"),
                format!("ALTER TABLE people DELETE WHERE {workspace} AND {user}"),
                format!("ALTER TABLE insight_members DELETE WHERE {user}"),
                format!(
                    "ALTER TABLE identities DELETE WHERE {workspace} AND ({event} OR {})",
                    self.is_one("id"),
                ),
            ],
        };
        for statement in statements {
            long_statement(analytics, &statement)
                .with_setting("mutations_sync", "0")
                // Sets of a subquery are the same on every replica: nothing of these people is written any more.
                .with_setting("allow_nondeterministic_mutations", "1")
                .execute()
                .await?;
        }
        Ok(())
    }
}

/// Whether mutations are under way.
///
/// # Errors
/// When ClickHouse is away, or one of them fails.
pub async fn is_mutating(analytics: &Analytics) -> Result<bool, AnalyticsError> {
    let found: Unfinished = analytics.client().query_raw(UNFINISHED).fetch_one().await?;
    if found.problem.is_empty() {
        Ok(found.unfinished > 0)
    } else {
        Err(AnalyticsError::Answer(found.problem))
    }
}
