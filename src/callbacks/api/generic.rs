//! `/callbacks/generic/{channel}`: what gateways of one's own say, signed by Standard Webhooks.

use axum::{extract::State, http::HeaderMap};

use super::{CALL_BYTES_MAX, header, json};
use crate::{
    app::App,
    callbacks::{
        model::{Generic, Signal, Unproven, standard},
        ops,
    },
    delivery::{model::Keyword, ops::keywords},
    http::{Path, RawBytes},
    kernel::{Channel, Error, Result},
};

/// The teller.
const GATEWAY: &str = "gateway";

pub(super) async fn tell(
    State(app): State<App>,
    Path(channel): Path<String>,
    headers: HeaderMap,
    RawBytes { bytes, held: _held }: RawBytes<CALL_BYTES_MAX>,
) -> Result<()> {
    proven(&app, &headers, &bytes)?;
    let channel: Channel = channel.parse().map_err(|_| Error::NotFound("Channel"))?;
    let Generic(signals) = Generic::read(&json(&bytes)?)?;
    let mut reports = Vec::with_capacity(signals.len());
    for signal in signals {
        match signal {
            Signal::Report(report) => reports.push(report),
            Signal::TextBack(text) => {
                if let Some(keyword) = Keyword::read(&text.text) {
                    keywords::obey(&app, channel, GATEWAY, &text, keyword).await?;
                }
            }
        }
    }
    ops::take(&app, GATEWAY, channel.as_str(), reports).await.map(drop)
}

/// Judges a call signed by the secret of one's own.
pub(super) fn proven(app: &App, headers: &HeaderMap, bytes: &[u8]) -> Result<()> {
    let secret = app.tellers().generic.as_ref().ok_or(Unproven::Missing)?;
    let part = |name| header(headers, name);
    let proof = (part("webhook-id"), part("webhook-timestamp"), part("webhook-signature"));
    Ok(standard(secret, app.clock().now(), proof, bytes)?)
}
