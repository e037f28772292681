//! Makes the views, and proves that the walls stand before the first statement is taken.
//!
//! The embedded engine has the role, the owner of the views and its row policies in its configuration. In any other
//! ClickHouse they are made here, which takes rights that its administrator may have to grant: until then statements are
//! refused, and the refusal says what is missing.

use std::time::Duration;

use analytics::{
    Analytics,
    sql_access::{
        DEFINER_USER, MarkKey, OPEN_SYSTEM_TABLES, READER_ROLE, TABLES, VIEWED_SYSTEM_TABLES,
        ViewDatabases,
    },
};
use kernel::WorkspaceId;
use parking_lot::RwLock;
use std::sync::Arc;
use supervisor::Heartbeat;
use tokio::time::sleep;
use uuid::Uuid;

use crate::{
    catalog::VIEWS,
    engine::{self, Engine, Question, Session, Step},
    fault::{Code, Fault},
    settings::Bounds,
    statement::{Setting, functions::Denied},
    views::{self, Location},
};

/// Pause after an attempt that failed.
const RETRY_PAUSE: Duration = Duration::from_secs(2);
/// Attempts that fail while the server starts, since the tables are being made.
const STARTING_ATTEMPTS: u32 = 25;
const STARTING_PAUSE: Duration = Duration::from_millis(200);
/// What sees nothing of other sessions, whatever settings a subquery names.
const HIDDEN: [&str; 2] = [
    "SELECT count() FROM system.processes",
    "SELECT count() FROM (SELECT query FROM system.processes SETTINGS log_comment = '')",
];
const FUNCTIONS: &str = "SELECT name FROM system.functions";

/// What is known of the engine once the walls stand.
#[derive(Debug, Default)]
pub(crate) struct Ready {
    pub(crate) denied: Denied,
}

/// Whether statements are taken.
#[derive(Debug, Clone)]
pub(crate) struct Setup(Arc<RwLock<Result<Arc<Ready>, Fault>>>);

/// What the views are made in.
#[derive(Debug)]
pub(crate) struct Parts<'a> {
    pub(crate) analytics: &'a Analytics,
    pub(crate) engine: &'a Engine,
    pub(crate) bounds: &'a Bounds,
    pub(crate) databases: &'a ViewDatabases,
    /// Whether the engine's configuration has the role and the owner of the views.
    pub(crate) is_embedded: bool,
}

impl Setup {
    pub(crate) fn new() -> Self {
        let fault = Fault::new(Code::NetworkError, "SQL is being prepared: try again in a second");
        Self(Arc::new(RwLock::new(Err(fault))))
    }

    /// What is known of the engine, or why statements are not taken.
    pub(crate) fn ready(&self) -> Result<Arc<Ready>, Fault> {
        self.0.read().clone()
    }

    /// Makes everything, again and again until it is made.
    pub(crate) async fn prepare(&self, parts: &Parts<'_>, heartbeat: &Heartbeat) {
        let mut last = String::new();
        for attempt in 1_u32.. {
            let is_starting = attempt <= STARTING_ATTEMPTS;
            match heartbeat.waiting(parts.make()).await {
                Ok(ready) => {
                    *self.0.write() = Ok(Arc::new(ready));
                    tracing::info!("SQL is ready");
                    return;
                }
                Err(fault) => {
                    let reason = fault.to_string();
                    if is_starting {
                        tracing::debug!(reason, "SQL is not ready yet, trying again");
                    } else if reason != last {
                        tracing::warn!(reason, "SQL is not ready yet, trying again");
                        last = reason;
                    }
                    *self.0.write() = Err(fault);
                }
            }
            let pause = if is_starting { STARTING_PAUSE } else { RETRY_PAUSE };
            heartbeat.waiting(sleep(pause)).await;
        }
    }
}

impl Parts<'_> {
    async fn make(&self) -> Result<Ready, Fault> {
        let address = self.analytics.address();
        let place = Location {
            tables: address.database.clone(),
            databases: self.databases.clone(),
            on_cluster: address
                .cluster
                .as_ref()
                .map_or_else(String::new, |cluster| format!("ON CLUSTER `{cluster}`")),
        };
        let views = views::statements(&place, self.bounds);
        let (databases, views) = views.split_at(place.databases.all().len());
        for statement in databases {
            self.run(statement).await?;
        }
        if !self.is_embedded {
            for statement in access(&place, &MarkKey::of(&address.password)) {
                self.run(&statement).await?;
            }
        }
        for statement in views {
            self.run(statement).await?;
        }
        self.prove(&place).await?;
        let functions: Vec<String> = self
            .analytics
            .client()
            .query_raw(FUNCTIONS)
            .fetch_all()
            .await
            .map_err(|error| unavailable(&error))?;
        Ok(Ready { denied: Denied::of(functions) })
    }

    async fn run(&self, statement: &str) -> Result<(), Fault> {
        let done = self.analytics.client().query_raw(statement).execute().await;
        done.map_err(|error| {
            let what: String = statement.chars().take_while(|it| *it != '(').take(120).collect();
            match &error {
                clickhouse::error::Error::BadResponse(reason) => {
                    let reason = reason.lines().next().unwrap_or_default();
                    Fault::denied(format!(
                        "SQL is not available: ClickHouse refused \"{}\": {reason}",
                        what.split_whitespace().collect::<Vec<_>>().join(" ")
                    ))
                }
                _ => unavailable(&error),
            }
        })
    }

    /// Asks what must not be answered, as a caller of a workspace that does not exist.
    async fn prove(&self, place: &Location) -> Result<(), Fault> {
        let table = format!("SELECT count() FROM `{}`.events", place.tables);
        if self.asked(table, place).await.is_ok() {
            return Err(stands_not("the tables behind the views can be read"));
        }
        for view in VIEWS {
            let rows = format!("SELECT count() FROM {view}");
            let counted = self.asked(rows, place).await.map_err(|reason| {
                stands_not(&format!("the view {view} cannot be read: {}", reason.trim_end()))
            })?;
            if counted.trim() != "0" {
                return Err(stands_not(&format!("the view {view} shows rows of others")));
            }
        }
        let mut is_hidden = true;
        for hidden in HIDDEN {
            if let Ok(counted) = self.asked(hidden.to_owned(), place).await {
                is_hidden &= counted.trim() == "0";
            }
        }
        // In any other ClickHouse this is up to its administrator; statements that name such tables are refused anyway.
        if self.is_embedded && !is_hidden {
            return Err(stands_not("tables of system can be read"));
        }
        let write = format!("CREATE TABLE `{}`.written (x UInt8) ENGINE = Memory", place.tables);
        if self.asked(write, place).await.is_ok() {
            return Err(stands_not("tables can be made"));
        }
        Ok(())
    }

    /// The answer, or the refusal of the engine.
    async fn asked(&self, text: String, place: &Location) -> Result<String, String> {
        let settings = settings_of_proofs();
        let question = Question {
            session: Session::new(WorkspaceId::new(Uuid::new_v4())),
            step: Step::Answer,
            database: &place.databases.whole,
            text,
            format: "TabSeparated",
            params: &[],
            settings: &settings,
            blocks: false,
        };
        let answer = self.engine.ask(question).await.map_err(|fault| fault.to_string())?;
        let is_answered = answer.status().is_success();
        let text = engine::text_of(answer).await.map_err(|fault| fault.to_string())?;
        if is_answered { Ok(text) } else { Err(text) }
    }
}

fn settings_of_proofs() -> [Setting; 1] {
    [Setting { name: "max_execution_time".to_owned(), value: "10".to_owned() }]
}

fn stands_not(why: &str) -> Fault {
    Fault::denied(format!("SQL is not available: {why}"))
}

fn unavailable(error: &clickhouse::error::Error) -> Fault {
    tracing::debug!(%error, "SQL cannot be prepared");
    Fault::new(Code::NetworkError, "The analytics store is unavailable")
}

/// The role, the owner of the views and its row policies.
fn access(place: &Location, key: &MarkKey) -> Vec<String> {
    let Location { tables, databases, on_cluster } = place;
    let mut statements = vec![
        format!("CREATE ROLE IF NOT EXISTS {READER_ROLE} {on_cluster}"),
        format!("CREATE USER IF NOT EXISTS {DEFINER_USER} {on_cluster} HOST NONE"),
        format!("GRANT {on_cluster} {READER_ROLE} TO CURRENT_USER"),
    ];
    for database in databases.all() {
        statements.push(format!("GRANT {on_cluster} SELECT ON `{database}`.* TO {READER_ROLE}"));
        statements.push(format!("GRANT {on_cluster} SHOW ON `{database}`.* TO {DEFINER_USER}"));
    }
    for table in OPEN_SYSTEM_TABLES {
        statements.push(format!("GRANT {on_cluster} SELECT ON system.{table} TO {READER_ROLE}"));
    }
    for table in VIEWED_SYSTEM_TABLES {
        statements.push(format!("GRANT {on_cluster} SELECT ON system.{table} TO {DEFINER_USER}"));
    }
    let rows = key.rows_in_sql();
    for table in TABLES {
        statements.push(format!(
            "CREATE ROW POLICY OR REPLACE {DEFINER_USER} {on_cluster} ON `{tables}`.{table} USING {rows} TO {DEFINER_USER}"
        ));
        // Where a table has a policy, those without one may see nothing.
        statements.push(format!(
            "CREATE ROW POLICY OR REPLACE millrace_others {on_cluster} ON `{tables}`.{table} USING 1 TO ALL EXCEPT {DEFINER_USER}"
        ));
        statements
            .push(format!("GRANT {on_cluster} SELECT ON `{tables}`.{table} TO {DEFINER_USER}"));
    }
    statements
}
