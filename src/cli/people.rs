//! `millrace people …`: copies of profiles and campaigns in ClickHouse.

use clap::Subcommand;
use config::Settings;
use people_mirror::ops::{self, MirrorStores};

use super::stores;

#[derive(Debug, Clone, Copy, Subcommand)]
pub(super) enum People {
    /// Copies all of them again, and returns when that is done
    Rebuild,
}

pub(super) async fn run(command: People, settings: &Settings) -> anyhow::Result<()> {
    match command {
        People::Rebuild => {
            stores::with_both(settings, async |db, analytics| {
                let stores = MirrorStores { db: db.clone(), analytics: analytics.clone() };
                Ok(ops::rebuild(&stores).await?)
            })
            .await
        }
    }
}
