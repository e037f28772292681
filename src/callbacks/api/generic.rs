//! `/callbacks/generic/{channel}`: reports of the operator's gateways, signed by Standard Webhooks.

use axum::{
    extract::{Request, State},
    http::HeaderMap,
};
use delivery::{model::Keyword, ops::keywords};
use kernel::{Channel, Error, Timestamp};
use providers::{
    callback::{Head, Secret, StandardHead, json},
    gateway::{Generic, Signal},
};
use web::http::{ApiError, ApiResult, Path, RawBytes};

use super::{CALL_BYTES_MAX, body, set_up};
use crate::{CallbackState, ops};

const GATEWAY: &str = "gateway";

pub(super) async fn receive(
    State(app): State<CallbackState>,
    Path(channel): Path<String>,
    headers: HeaderMap,
    request: Request,
) -> ApiResult<()> {
    let signed = Signed::check_head(&app, &headers)?;
    let channel: Channel = channel.parse().map_err(|_| Error::NotFound("Channel"))?;
    let RawBytes { bytes, held: _held } = body::<CALL_BYTES_MAX>(&app, request).await?;
    signed.check(&bytes)?;
    let Generic(signals) = Generic::read(&json::read(&bytes)?)?;
    let mut reports = Vec::with_capacity(signals.len());
    for signal in signals {
        match signal {
            Signal::Report(report) => reports.push(report),
            Signal::TextBack(text) => {
                if let Some(keyword) = Keyword::read(&text.text) {
                    keywords::apply_keyword(&app, channel, GATEWAY, &text, keyword).await?;
                }
            }
        }
    }
    ops::apply(&app, GATEWAY, channel.as_str(), reports).await.map_err(ApiError)
}

/// The head of a call that is signed with the operator's secret.
pub(super) struct Signed<'c> {
    secret: &'c Secret,
    now: Timestamp,
    head: StandardHead<'c>,
}

impl<'c> Signed<'c> {
    /// Checks the head of a call, before its body is read.
    pub(super) fn check_head(app: &'c CallbackState, headers: &'c HeaderMap) -> ApiResult<Self> {
        let secret = set_up(app.sources().generic.as_ref())?;
        let now = app.clock().now();
        let head = Head { headers, now };
        let head = StandardHead {
            id: head.header("webhook-id"),
            timestamp: head.header("webhook-timestamp"),
            signatures: head.header("webhook-signature"),
        };
        head.check_shape(now)?;
        Ok(Self { secret, now, head })
    }

    /// Checks the signature of the body.
    pub(super) fn check(&self, bytes: &[u8]) -> ApiResult<()> {
        Ok(self.head.check(self.secret, self.now, bytes)?)
    }
}
