//! Workspaces and their settings, for the command line and for what deletes old data.

mod store;

use kernel::{Country, Error, Result, Timestamp, WorkspaceId, time::DAY, zone::Zone};
use sqlx::PgPool;

/// Most days that data can be kept, a century; more is for ever.
const DAYS_MAX: u32 = 36_500;

/// After how many days data is deleted; 0: never.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DataDays {
    pub events: u32,
    pub message_events: u32,
    pub deleted_profiles: u32,
}

/// A workspace as it is listed.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct WorkspaceRow {
    pub id: uuid::Uuid,
    pub name: String,
    pub organization: String,
    pub currency: Option<String>,
    pub timezone: String,
    pub country: Option<String>,
    /// None: as the settings say.
    pub events_days: Option<i32>,
    pub message_events_days: Option<i32>,
    pub deleted_profiles_days: Option<i32>,
}

/// A number of days of a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Days {
    /// As the settings say.
    Default,
    Of(u32),
}

impl std::str::FromStr for Days {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "default" {
            return Ok(Self::Default);
        }
        let days = text.parse().ok().filter(|days| *days <= DAYS_MAX);
        let fault =
            || format!("must be a number of days up to {DAYS_MAX}, 0 for never, or default");
        days.map(Self::Of).ok_or_else(fault)
    }
}

impl Days {
    fn stored(self) -> Option<i32> {
        match self {
            Self::Default => None,
            Self::Of(days) => i32::try_from(days).ok(),
        }
    }
}

/// What is changed; none stays as it is.
#[derive(Debug, Clone, Default)]
pub struct WorkspaceChanges {
    pub currency: Option<String>,
    pub timezone: Option<String>,
    pub country: Option<Country>,
    pub events: Option<Days>,
    pub message_events: Option<Days>,
    pub deleted_profiles: Option<Days>,
}

impl WorkspaceRow {
    /// After how many days its data is deleted, with what the settings say.
    pub fn days(&self, default: DataDays) -> DataDays {
        let of = |own: Option<i32>, default| own.map_or(default, i32::unsigned_abs);
        DataDays {
            events: of(self.events_days, default.events),
            message_events: of(self.message_events_days, default.message_events),
            deleted_profiles: of(self.deleted_profiles_days, default.deleted_profiles),
        }
    }
}

/// The first moment of data that is kept for so many days; none where it is kept for ever. Days are whole, in UTC: data
/// of the day that is so many days ago is kept.
pub fn kept_since(days: u32, now: Timestamp) -> Option<Timestamp> {
    let day = i64::try_from(DAY.as_millis()).ok()?;
    let today = now.millis().div_euclid(day);
    (days > 0).then(|| Timestamp::from_millis((today - i64::from(days)) * day))
}

/// All workspaces, by name.
///
/// # Errors
/// When the store fails.
pub async fn list(db: &PgPool) -> Result<Vec<WorkspaceRow>> {
    store::list(db).await
}

/// The days of a workspace.
///
/// # Errors
/// When the store fails.
pub async fn days(db: &PgPool, workspace: WorkspaceId, default: DataDays) -> Result<DataDays> {
    let found = store::find(db, workspace).await?;
    Ok(found.map_or(default, |row| row.days(default)))
}

/// Changes settings of the workspace of this name.
///
/// # Errors
/// Not found; a bad request for a currency or zone that is none.
pub async fn set(db: &PgPool, name: &str, changes: &WorkspaceChanges) -> Result<()> {
    let currency = changes.currency.as_ref().map(|code| code.to_ascii_uppercase());
    let is_code = |code: &String| code.len() == 3 && code.bytes().all(|it| it.is_ascii_uppercase());
    if currency.as_ref().is_some_and(|code| !is_code(code)) {
        return Err(Error::invalid("currency", "must be an ISO 4217 code"));
    }
    if let Some(zone) = &changes.timezone {
        Zone::parse(zone).map_err(|fault| Error::invalid("timezone", fault))?;
    }
    if store::set(db, name, currency.as_deref(), changes).await? {
        Ok(())
    } else {
        Err(Error::NotFound("Workspace"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_days_are_kept() {
        let at = |text: &str| Timestamp::parse_at(text, kernel::time::DayEdge::Start).unwrap();
        let now = at("2026-03-10T23:59:59.999Z");
        assert_eq!(kept_since(0, now), None);
        assert_eq!(kept_since(1, now), Some(at("2026-03-09T00:00:00.000Z")));
        assert_eq!(kept_since(10, now), Some(at("2026-02-28T00:00:00.000Z")));
        assert_eq!(kept_since(1, at("2026-03-10T00:00:00.000Z")), kept_since(1, now));
    }

    #[test]
    fn days_are_a_number_or_the_default() {
        for (text, days) in
            [("0", Days::Of(0)), ("36500", Days::Of(36_500)), ("default", Days::Default)]
        {
            assert_eq!(text.parse(), Ok(days));
        }
        for text in ["-1", "36501", "", "1.5", "never", "99999999999"] {
            assert!(text.parse::<Days>().is_err(), "{text}");
        }
    }
}
