//! The ports of a server, bound before anything answers on them.

use std::{net::SocketAddr, time::Duration};

use anyhow::Context as _;
use config::{Role, Settings, SqlListen};
use tokio::net::TcpListener;
use web::http::{self, ServeOptions, TrustedProxies};

use super::open_files;
use crate::shutdown;

/// Listeners, each for callers of its own kind.
#[derive(Debug)]
pub(super) struct Ports {
    pub(super) api: TcpListener,
    pub(super) admin: TcpListener,
    /// Tools that ask in SQL.
    pub(super) sql: Option<TcpListener>,
    /// Mail servers that return bounces.
    pub(super) mail: Option<TcpListener>,
}

impl Ports {
    pub(super) fn bind(settings: &Settings) -> anyhow::Result<Self> {
        let sql = match settings.sql_listen {
            SqlListen::At(address) if settings.has_role(Role::Api) => Some(address),
            SqlListen::At(_) | SqlListen::Off => None,
        };
        Ok(Self {
            api: bind(settings.listen)?,
            admin: bind(settings.admin_listen)?,
            sql: sql.map(bind).transpose()?,
            mail: settings.inbound.listen.map(bind).transpose()?,
        })
    }
}

fn bind(address: SocketAddr) -> anyhow::Result<TcpListener> {
    http::bind(address).with_context(|| {
        format!("cannot listen on {address}: stop what uses that port, or set another one")
    })
}

/// How connections are limited and closed.
pub(super) fn serve_options(settings: &config::Http) -> ServeOptions {
    ServeOptions {
        connections_max: open_files::connections(settings.connections_max),
        peer_connections_max: settings.peer_connections_max,
        trusted_proxies: TrustedProxies::new(&settings.trusted_proxies),
        head_max: Duration::from_secs(settings.header_timeout_seconds),
        idle_max: Duration::from_secs(settings.idle_timeout_seconds),
        drain_max: shutdown::DRAIN_MAX,
        ..ServeOptions::default()
    }
}

/// A port, and what answers there.
pub(super) struct Listener {
    pub(super) socket: TcpListener,
    pub(super) router: axum::Router,
    pub(super) options: ServeOptions,
}
