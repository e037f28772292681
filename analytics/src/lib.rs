//! Questions to ClickHouse, and their answers: the read path of events.
//!
//! ```text
//! EventFilter, Aggregate ─▶ sql/*.sql + server-side parameters ─▶ ClickHouse ─▶ EventRow, Bucket
//! ```
//!
//! Suggested reading order: [`client`] (the connection and the limits of every read), [`ReadLimits`], [`error`],
//! [`events`] (the questions), and the schema in `migrations/clickhouse`. Why the tables look as
//! they do, with figures, is in this crate's README.
//!
//! Nothing a caller says becomes text of a statement: values are server-side parameters, and what
//! changes the shape of a question is a closed enum with fixed fragments.

#![warn(missing_docs)]

pub mod client;
pub mod copies;
pub mod erasure;
pub mod error;
pub mod events;
mod given_up;
pub mod identities;
pub mod insights;
pub mod messages;
mod migrate;
pub mod owners;
pub mod parts;
pub mod people;
mod reads;
mod refusal;
mod repeats;
pub mod retention;
pub mod sql_access;
mod uniqueness;

use std::any::Any;

use clickhouse::Client;

use crate::{events::ExportPlaces, reads::Reads, uniqueness::Uniqueness};

pub use crate::{
    client::ClickHouseAddress, error::AnalyticsError, given_up::until_ended, reads::ReadLimits,
    repeats::NotUnique,
};

const PING: &str = "SELECT 1";

/// A store of events that can be asked. Cheap to clone; clones share connections.
#[derive(Clone)]
pub struct Analytics {
    client: Client,
    /// Without a database, and for pings alone.
    outside: Client,
    reads: Reads,
    uniqueness: Uniqueness,
    exports: ExportPlaces,
    address: ClickHouseAddress,
}

impl std::fmt::Debug for Analytics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Analytics").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Analytics {
    /// Remembers where ClickHouse is; opens no connection yet.
    ///
    /// # Errors
    /// [`AnalyticsError::Address`] when a name cannot be one of a database or cluster.
    pub fn connect(address: &ClickHouseAddress) -> Result<Self, AnalyticsError> {
        client::checked_name("database", &address.database)?;
        if let Some(cluster) = &address.cluster {
            client::checked_name("cluster", cluster)?;
        }
        Ok(Self {
            client: client::client(address, true),
            outside: client::client(address, false),
            reads: Reads::new(ReadLimits::default()),
            uniqueness: Uniqueness::default(),
            exports: ExportPlaces::default(),
            address: address.clone(),
        })
    }

    /// The same with other bounds of its questions than the defaults.
    #[must_use]
    pub fn with_limits(self, limits: ReadLimits) -> Self {
        Self { reads: Reads::new(limits), ..self }
    }

    /// The same. Questions asked of it keep this until they have ended in ClickHouse, also where they are given up.
    #[must_use]
    pub fn keeping(&self, kept: impl Any + Send + Sync) -> Self {
        Self { reads: self.reads.keeping(kept), ..self.clone() }
    }

    /// The client under it, for inserts and for questions of other crates.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Address and credentials of the server queried.
    pub fn address(&self) -> &ClickHouseAddress {
        &self.address
    }

    /// Asks for nothing, to know whether ClickHouse answers. Takes no place of a question, and has no deadline of its
    /// own.
    pub async fn ping(&self) -> Result<(), AnalyticsError> {
        let _one: u8 = self.outside.query_raw(PING).fetch_one().await?;
        Ok(())
    }

    /// How long ago ClickHouse last answered a question; none when it never did.
    pub fn since_answer(&self) -> Option<std::time::Duration> {
        self.reads.since_answer()
    }

    /// Whether each event and each order is stored once, as far as is known: then questions need no `FINAL`. Holds for a
    /// question that begins now, since it reads what is stored when it begins.
    pub fn is_stored_once(&self) -> bool {
        self.uniqueness.is_proven()
    }

    /// Questions in flight, and questions waiting for their turn.
    pub fn in_flight_and_waiting(&self) -> (usize, usize) {
        self.reads.in_flight_and_waiting()
    }

    /// Brings the database to the schema of this program; makes it when missing.
    /// Safe to run again, and from several processes at once.
    pub async fn migrate(&self) -> Result<(), AnalyticsError> {
        migrate::apply(&self.client, &self.address).await
    }

    /// Refuses a cluster that cannot be used; does nothing where none is named.
    ///
    /// # Errors
    /// [`AnalyticsError::Schema`] when ClickHouse does not know it or it has several shards, others when
    /// ClickHouse cannot be asked.
    pub async fn check_cluster(&self) -> Result<(), AnalyticsError> {
        migrate::check_cluster(&self.address).await
    }

    /// The number of the last migration of this program, and a checksum of all of them.
    pub fn schema_version() -> String {
        migrate::version()
    }

    /// True when the schema is exactly the one this program was built for.
    pub async fn schema_is_current(&self) -> Result<bool, AnalyticsError> {
        migrate::is_current(&self.client).await
    }
}
