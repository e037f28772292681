//! `millrace sessions …`: creates and revokes dashboard session tokens.

use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use config::Settings;
use engines::DataDir;
use kernel::Clock;
use secrecy::ExposeSecret as _;
use web::auth::{
    self, ScopeSet, keys,
    revoke::Revoked,
    sessions::{NewSession, Sessions},
};

use super::{output, stores};

#[derive(Debug, Subcommand)]
pub(super) enum Session {
    /// Prints a session token (JWT) for a workspace
    Create(Create),
    /// Revokes a session, or all of an actor: running servers refuse them at once
    Revoke(Revoke),
}

#[derive(Debug, Args)]
pub(super) struct Create {
    /// The name of the workspace
    #[arg(long, value_name = "NAME")]
    workspace: String,
    /// Who it stands for, in audit entries
    #[arg(long, value_name = "WHO")]
    actor: String,
    /// What it may do, separated by commas; `*` is everything
    #[arg(long, value_name = "LIST")]
    scopes: ScopeSet,
    /// How long it is valid: 90s, 15m, 1h, 7d
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = time)]
    ttl: Duration,
}

#[derive(Debug, Args)]
pub(super) struct Revoke {
    /// The name of the workspace
    #[arg(long, value_name = "NAME")]
    workspace: String,
    /// Revokes all sessions that were made for this actor until now
    #[arg(
        long,
        value_name = "WHO",
        conflicts_with = "session",
        required_unless_present = "session"
    )]
    actor: Option<String>,
    /// The session's token, or its id (`jti`)
    #[arg(value_name = "SESSION")]
    session: Option<String>,
}

pub(super) async fn run(command: Session, settings: &Settings) -> anyhow::Result<()> {
    match command {
        Session::Create(create) => self::create(create, settings).await,
        Session::Revoke(revoke) => self::revoke(revoke, settings).await,
    }
}

async fn revoke(revoke: Revoke, settings: &Settings) -> anyhow::Result<()> {
    let revoked = match (revoke.actor, revoke.session) {
        (Some(actor), _) => Revoked::Actor(actor),
        (None, Some(session)) => Revoked::Session(id_of(session)?),
        (None, None) => anyhow::bail!("name a session, or an actor with --actor"),
    };
    let now = Clock::system().now();
    stores::with_postgres(settings, async |pool| {
        let workspace = keys::find_workspace(pool, &revoke.workspace).await?;
        Ok(auth::revoke::sessions(pool, workspace, now, &revoked).await?)
    })
    .await
}

/// The id of a session: given as such, or taken from a token. The token is not verified, since revoking an
/// unknown id changes nothing.
fn id_of(session: String) -> anyhow::Result<String> {
    #[derive(serde::Deserialize)]
    struct Claims {
        jti: Option<String>,
    }
    if session.matches('.').count() != 2 {
        return Ok(session);
    }
    let claims: Claims = jsonwebtoken::dangerous::insecure_decode(&session)
        .context("this is no session token")?
        .claims;
    claims.jti.context("this session has no id (jti): revoke it by --actor")
}

async fn create(create: Create, settings: &Settings) -> anyhow::Result<()> {
    let sessions = match &settings.auth.session_secret {
        Some(secret) => Sessions::from_secret(secret)?,
        None => Sessions::from_data_dir(DataDir::open(&settings.data_dir)?.path())?,
    };
    let workspace = stores::with_postgres(settings, async |pool| {
        Ok(keys::find_workspace(pool, &create.workspace).await?)
    })
    .await?;
    let session =
        NewSession { workspace, actor: create.actor, scopes: create.scopes, ttl: create.ttl };
    let token = sessions.create(Clock::system().now(), session)?;
    output::line(token.expose_secret())
}

/// Reads a number and its unit: `90s`, `15m`, `1h`, `7d`.
fn time(text: &str) -> Result<Duration, String> {
    let read = || {
        let digits = text.find(|letter: char| !letter.is_ascii_digit())?;
        let (number, unit) = text.split_at_checked(digits)?;
        let seconds: u64 = match unit {
            "s" => 1,
            "m" => 60,
            "h" => 60 * 60,
            "d" => 24 * 60 * 60,
            _ => return None,
        };
        number.parse::<u64>().ok()?.checked_mul(seconds).filter(|seconds| *seconds > 0)
    };
    read().map(Duration::from_secs).ok_or_else(|| "a time is like 90s, 15m, 1h or 7d".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_number_and_a_unit() {
        assert_eq!(time("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(time("15m"), Ok(Duration::from_mins(15)));
        assert_eq!(time("1h"), Ok(Duration::from_hours(1)));
        assert_eq!(time("7d"), Ok(Duration::from_hours(7 * 24)));
        for wrong in [
            "",
            "1",
            "h",
            "0s",
            "-1h",
            "1.5h",
            "1w",
            "99999999999999999999d",
            "9999999999999999999d",
        ] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }
}
