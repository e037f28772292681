//! The running server that tables come from or go to, and the key by which it is asked.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use bytes::Bytes;
use clap::Args;
use config::Settings;
use http::{
    Method, Request, StatusCode,
    header::{AUTHORIZATION, CONTENT_TYPE},
    request::Builder,
};
use kernel::{Clock, KeyId};
use providers::client::{Client, ClientOptions, Fault, OpenAnswer, roots};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use url::Url;
use web::auth::{
    KeyKind, ScopeSet,
    keys::{self, NewKey},
};

use super::super::stores;

/// How long a server has to say that it lives.
const LIVE_WAIT_MAX: Duration = Duration::from_secs(10);
/// Longest time without anything of an answer.
pub(super) const SILENCE_MAX: Duration = Duration::from_mins(3);
/// Bytes of an answer that is read whole.
const ANSWER_BYTES_MAX: usize = 16 << 20;

/// Which server and workspace.
#[derive(Debug, Args)]
pub(super) struct Access {
    /// The name of the workspace; may be left out with an API key, which is of one
    #[arg(long, value_name = "NAME", required_unless_present = "api_key")]
    workspace: Option<String>,
    /// Address of the server [default: the one in the settings]
    #[arg(long, value_name = "URL")]
    url: Option<Url>,
    /// An API key of the workspace. Without one the command makes one and revokes it at its end. Visible to other
    /// users of the machine, unlike the variable
    #[arg(long, value_name = "KEY", env = "MILLRACE_API_KEY", hide_env_values = true)]
    api_key: Option<String>,
}

/// A server that answers, and a key.
#[derive(Debug)]
pub(super) struct ServerAccess {
    client: Client,
    base: Url,
    key: SecretString,
    /// The key's id, where this command made it.
    pub(super) own_key: Option<KeyId>,
    /// What the key is of, in words.
    pub(super) target: String,
}

/// The body of an error.
#[derive(Debug, Deserialize)]
struct ErrorBody {
    message: String,
    #[serde(default)]
    errors: Vec<String>,
}

impl Access {
    /// Finds the server, and makes a key with these scopes where none is given.
    pub(super) async fn open(
        &self,
        settings: &Settings,
        scopes: ScopeSet,
        label: &str,
    ) -> anyhow::Result<ServerAccess> {
        let base = match &self.url {
            Some(url) => url.clone(),
            None => Url::parse(&format!("http://{}", reachable(settings.listen)))?,
        };
        let authorities = settings.security.ca_file.as_ref().map(std::fs::read).transpose();
        let authorities = authorities.context("cannot read security.ca_file")?;
        let roots = Arc::new(roots(authorities.as_deref())?);
        let client = Client::new(&ClientOptions { roots, http2_only: false });
        let live = Request::get(base.join("/livez")?.as_str()).body(Bytes::new())?;
        client.call(live, LIVE_WAIT_MAX).await.map_err(|fault| {
            anyhow::anyhow!(
                "no server answers at {base} ({}): start `millrace serve`, or name the address with --url",
                fault.reason
            )
        })?;
        let (key, own_key) = self.key(settings, scopes, label).await?;
        let name = self.workspace.clone().or_else(|| id_of(key.expose_secret()));
        let target = format!("{} at {base}", name.unwrap_or_default());
        Ok(ServerAccess { client, base, key, own_key, target })
    }

    async fn key(
        &self,
        settings: &Settings,
        scopes: ScopeSet,
        label: &str,
    ) -> anyhow::Result<(SecretString, Option<KeyId>)> {
        let given = self.api_key.as_deref().filter(|key| !key.is_empty());
        let Some(workspace) = self.workspace.clone() else {
            return Ok((given.context("name the workspace with --workspace")?.into(), None));
        };
        if let Some(given) = given {
            // A key of another workspace in the environment must not decide where rows go.
            let id = id_of(given).context("this is no API key")?;
            let known = stores::with_postgres(settings, async |pool| {
                Ok(keys::list(pool, &workspace).await?)
            });
            let is_of_workspace = known.await?.iter().any(|key| key.id == id);
            anyhow::ensure!(is_of_workspace, "the API key is not of the workspace {workspace}");
            return Ok((given.into(), None));
        }
        let created = stores::with_postgres(settings, async |pool| {
            // Only `keys create` makes workspaces.
            keys::find_workspace(pool, &workspace).await?;
            let new = NewKey {
                workspace: workspace.clone(),
                organization: None,
                scopes,
                label: Some(label.to_owned()),
                currency: None,
                country: None,
                kind: KeyKind::Api,
            };
            Ok(keys::create(pool, Clock::system().now(), new).await?)
        })
        .await?;
        Ok((created.token, Some(created.id)))
    }
}

impl ServerAccess {
    /// Begins a request for a path with its query.
    pub(super) async fn get(&self, path: &str) -> anyhow::Result<Result<OpenAnswer, Fault>> {
        self.open(self.request(path)?.body(Bytes::new())).await
    }

    /// Sends rows in JSON; `is_stamped` where they are events to which a server gave their times.
    pub(super) async fn post(
        &self,
        path: &str,
        json: Bytes,
        is_stamped: bool,
    ) -> anyhow::Result<Result<OpenAnswer, Fault>> {
        let mut request = self.request(path)?.method(Method::POST);
        if is_stamped {
            request = request.header("millrace-timestamps", "received");
        }
        self.open(request.body(json)).await
    }

    fn request(&self, path: &str) -> anyhow::Result<Builder> {
        let bearer = format!("Bearer {}", self.key.expose_secret());
        let request = Request::builder().uri(self.base.join(path)?.as_str());
        Ok(request.header(AUTHORIZATION, bearer).header(CONTENT_TYPE, "application/json"))
    }

    async fn open(
        &self,
        request: http::Result<Request<Bytes>>,
    ) -> anyhow::Result<Result<OpenAnswer, Fault>> {
        let request = request.context("an API key has letters, digits, - and _ only")?;
        Ok(self.client.open(request, SILENCE_MAX).await)
    }

    /// Revokes the key that this command made.
    pub(super) async fn close(&self, settings: &Settings) -> anyhow::Result<()> {
        match self.own_key {
            Some(key) => revoke(settings, key).await,
            None => Ok(()),
        }
    }
}

/// Revokes a key; one that is not there any more is no error.
pub(super) async fn revoke(settings: &Settings, key: KeyId) -> anyhow::Result<()> {
    stores::with_postgres(settings, async |pool| {
        match keys::revoke(pool, Clock::system().now(), key).await {
            Err(kernel::Error::NotFound(_)) => Ok(()),
            revoked => Ok(revoked?),
        }
    })
    .await
}

/// Reads an answer whole.
pub(super) async fn whole(answer: &mut OpenAnswer) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    while let Some(piece) = answer.next(SILENCE_MAX).await? {
        if bytes.len() + piece.len() <= ANSWER_BYTES_MAX {
            bytes.extend_from_slice(&piece);
        }
    }
    Ok(bytes)
}

/// The error of an answer, in one line.
pub(super) fn refusal(status: StatusCode, body: &[u8]) -> anyhow::Error {
    match serde_json::from_slice::<ErrorBody>(body) {
        Ok(error) if error.errors.is_empty() => {
            anyhow::anyhow!("the server answered {status}: {}", error.message)
        }
        Ok(error) => anyhow::anyhow!("the server answered {status}: {}", error.errors.join("; ")),
        Err(_) => anyhow::anyhow!("the server answered {status}"),
    }
}

/// Where a listener is reached from this machine.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

/// The public part of a key: what stands between its first two underscores.
fn id_of(key: &str) -> Option<String> {
    let id = key.split('_').nth(1)?;
    id.parse::<KeyId>().ok().map(|id| id.as_str().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_on_every_address_is_reached_on_loopback() {
        for (listen, reached) in [
            ("0.0.0.0:80", "127.0.0.1:80"),
            ("[::]:80", "[::1]:80"),
            ("10.1.2.3:80", "10.1.2.3:80"),
        ] {
            assert_eq!(reachable(listen.parse().unwrap()).to_string(), reached);
        }
    }

    #[test]
    fn errors_are_repeated_in_one_line() {
        let line = |body: &str| refusal(StatusCode::BAD_REQUEST, body.as_bytes()).to_string();
        let one = r#"{"message":"Bad Request","errors":["a is wrong","b is wrong"]}"#;
        assert!(line(one).ends_with("400 Bad Request: a is wrong; b is wrong"), "{}", line(one));
        assert!(line(r#"{"message":"No"}"#).ends_with(": No"));
        assert!(line("<html>").ends_with("400 Bad Request"));
    }
}
