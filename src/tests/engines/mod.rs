//! The embedded engines in operation: killed, started twice, used by commands.

pub(crate) mod command;
mod commands;
mod crashes;
mod directories;
mod merges;

use sqlx::{ConnectOptions as _, postgres::PgSslMode};

use crate::kit::server;

#[tokio::test]
async fn connections_to_postgresql_can_use_tls() {
    let options = server().db().connect_options().as_ref().clone().ssl_mode(PgSslMode::Require);
    let refusal = options.connect().await.unwrap_err().to_string();
    // The embedded one has no certificate; a program built without TLS would say so.
    assert!(refusal.contains("server does not support TLS"), "{refusal}");
}
