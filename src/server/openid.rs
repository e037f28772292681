//! The OpenID provider of the console, and the client that calls it.

use std::{sync::Arc, time::Duration};

use anyhow::Context as _;
use config::Settings;
use kernel::Clock;
use members::openid::{CallFailed, CallFuture, OpenId, OpenIdOptions, ProviderCalls};
use providers::client::{Client, ClientOptions, roots};

use crate::app::ConsoleSite;

/// How long the provider may take for one call.
const CALL_MAX: Duration = Duration::from_secs(10);

/// The console, where the settings want one.
pub(super) fn console(settings: &Settings, clock: &Clock) -> anyhow::Result<Option<ConsoleSite>> {
    if settings.console == config::Console::Off {
        return Ok(None);
    }
    let openid = provider(settings, clock)?.map(Arc::new);
    Ok(Some(ConsoleSite { public_url: settings.public_url(), openid }))
}

fn provider(settings: &Settings, clock: &Clock) -> anyhow::Result<Option<OpenId>> {
    let config::OpenId { issuer, client_id, client_secret } = settings.openid.clone();
    let (Some(issuer), Some(client_id), Some(client_secret)) = (issuer, client_id, client_secret)
    else {
        return Ok(None);
    };
    let mut redirect_url = settings.public_url();
    redirect_url.set_path(console::OPENID_CALLBACK);
    let client = ClientOptions { roots: Arc::new(roots(None)?), http2_only: false };
    let options = OpenIdOptions {
        issuer,
        client_id,
        client_secret,
        redirect_url,
        calls: Arc::new(Calls(Client::new(&client))),
        clock: clock.clone(),
    };
    let provider = OpenId::new(options).map_err(anyhow::Error::msg);
    Ok(Some(provider.context("openid.issuer cannot be used")?))
}

/// Calls of the provider by the client that calls other providers, too.
#[derive(Debug)]
struct Calls(Client);

impl ProviderCalls for Calls {
    fn call(&self, request: http::Request<Vec<u8>>) -> CallFuture {
        let client = self.0.clone();
        Box::pin(async move {
            let request = request.map(Into::into);
            let answer = client.call(request, CALL_MAX).await;
            let answer = answer.map_err(|fault| CallFailed(fault.reason))?;
            let mut response = http::Response::new(answer.body.to_vec());
            *response.status_mut() = answer.status;
            *response.headers_mut() = answer.headers;
            Ok(response)
        })
    }
}
