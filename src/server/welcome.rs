//! The output of a first start: a demo workspace, its key, and a command to try.

use std::{io::Write as _, net::SocketAddr};

use console::sign_in::{LINK_ACTOR, NewLink};
use kernel::WorkspaceId;
use secrecy::ExposeSecret as _;
use web::auth::{
    KeyKind, ScopeSet,
    keys::{self, NewKey},
};

use super::Server;
use crate::app::App;

const DEMO_WORKSPACE: &str = "demo";

/// A demo workspace, created if there is none at all. Only on the embedded PostgreSQL: a shared one must not
/// get a key that was not asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Demo {
    api: SocketAddr,
    show_key: bool,
}

impl Demo {
    pub(super) fn at(api: SocketAddr, show_key: bool) -> Self {
        Self { api, show_key }
    }

    /// Creates the workspace and prints its key once. If the key may not be displayed, nothing is created,
    /// and a line explains how to.
    pub(super) async fn make_on_first_start(self, app: &App) -> anyhow::Result<()> {
        if keys::any_workspace(app.db()).await? {
            return Ok(());
        }
        if !self.show_key {
            print(
                "There is no workspace yet. This makes one and prints its key: \
                 millrace keys create --workspace NAME --scopes '*'\n",
            );
            return Ok(());
        }
        let created = keys::create(
            app.db(),
            app.clock().now(),
            NewKey {
                workspace: DEMO_WORKSPACE.to_owned(),
                organization: None,
                scopes: "*".parse()?,
                label: Some("first start".to_owned()),
                currency: None,
                country: None,
                kind: KeyKind::Api,
            },
        )
        .await?;
        let link = link_line(app, created.workspace).await?;
        let (key, api) = (created.token.expose_secret(), self.api);
        print(&format!(
            "\nA workspace named {DEMO_WORKSPACE} was made. Its API key, shown this once:\n\n  {key}\n\n\
             Track an order, and ask for it a second later:\n\n  \
             curl -s http://{api}/events/track -H 'Authorization: Bearer {key}' \\\n    \
             -H 'Content-Type: application/json' \\\n    \
             -d '{{\"userId\":\"ann\",\"eventName\":\"Order Completed\",\
             \"properties\":{{\"orderId\":\"1\",\"total\":49.90,\"currency\":\"EUR\"}}}}'\n\n  \
             curl -s 'http://{api}/events/query' -H 'Authorization: Bearer {key}'\n\n{link}"
        ));
        Ok(())
    }
}

/// The lines with the link that signs in at the console, where there is one.
async fn link_line(app: &App, workspace: WorkspaceId) -> anyhow::Result<String> {
    let Some(site) = &app.console else { return Ok(String::new()) };
    let new = NewLink { workspace, actor: LINK_ACTOR.to_owned(), scopes: ScopeSet::all() };
    let url =
        console::sign_in::create_link(app.db(), app.clock().now(), &site.public_url, &new).await?;
    Ok(format!("The console, signed in once by this link within an hour:\n\n  {url}\n\n"))
}

pub(super) fn print_ready(server: &Server, has_api: bool) {
    let (api, admin) = (server.api_address(), server.admin_address());
    let does = if has_api {
        let console = if server.app().console.is_some() {
            format!("  ·  console http://{api}/console")
        } else {
            String::new()
        };
        format!("API http://{api}  ·  docs http://{api}/docs{console}")
    } else {
        format!("It delivers, and has no API  ·  health http://{api}/readyz")
    };
    let sql = server.sql_address().map(|sql| format!("  ·  SQL http://{sql}")).unwrap_or_default();
    print(&format!("Millrace is ready.  {does}{sql}  ·  metrics http://{admin}/metrics\n"));
}

fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    // Without a reader of standard output there is nothing to do.
    drop(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}
