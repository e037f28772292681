//! `/callbacks/generic/{channel}`: what gateways of one's own say, signed by Standard Webhooks.

use axum::{
    extract::{Request, State},
    http::HeaderMap,
};
use delivery::{model::Keyword, ops::keywords};
use kernel::{Channel, Error, Timestamp};
use web::http::{ApiError, ApiResult, Path, RawBytes};

use super::{CALL_BYTES_MAX, body, header, json, set_up};
use crate::{
    CallbackState,
    model::{Generic, Secret, Signal, standard, standard_head},
    ops,
};

const GATEWAY: &str = "gateway";

pub(super) async fn tell(
    State(app): State<CallbackState>,
    Path(channel): Path<String>,
    headers: HeaderMap,
    request: Request,
) -> ApiResult<()> {
    let proof = Proof::of_head(&app, &headers)?;
    let channel: Channel = channel.parse().map_err(|_| Error::NotFound("Channel"))?;
    let RawBytes { bytes, held: _held } = body::<CALL_BYTES_MAX>(&app, request).await?;
    proof.proves(&bytes)?;
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
    ops::take(&app, GATEWAY, channel.as_str(), reports).await.map(drop).map_err(ApiError)
}

/// What the head of a call says that is signed by the operator's own secret, in the right shape.
pub(super) struct Proof<'c> {
    secret: &'c Secret,
    now: Timestamp,
    head: (&'c str, &'c str, &'c str),
}

impl<'c> Proof<'c> {
    /// Judges the head of a call, before its body is read.
    pub(super) fn of_head(app: &'c CallbackState, headers: &'c HeaderMap) -> ApiResult<Self> {
        let secret = set_up(app.sources().generic.as_ref())?;
        let part = |name| header(headers, name);
        let head = (part("webhook-id"), part("webhook-timestamp"), part("webhook-signature"));
        let now = app.clock().now();
        standard_head(now, head)?;
        Ok(Self { secret, now, head })
    }

    /// Judges the whole call.
    pub(super) fn proves(&self, bytes: &[u8]) -> ApiResult<()> {
        Ok(standard(self.secret, self.now, self.head, bytes)?)
    }
}
