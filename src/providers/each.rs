//! Sends a batch by one call for each message, all at the same time.

use std::future::Future;

use futures_util::future::join_all;

use super::{Sending, Sent};
use crate::model::{Outcome, Outgoing};

/// Messages that are tried at the same time by one call of [`super::Provider::send`].
pub(super) const CALLS_MAX: usize = 64;

/// Calls `one` for each message of `batch`, at the same time.
pub(super) fn each<'a, F, D>(batch: &'a [Outgoing], one: F) -> Sending<'a>
where
    F: Fn(&'a Outgoing) -> D + Send + 'a,
    D: Future<Output = Sent> + Send + 'a,
{
    Box::pin(async move { join_all(batch.iter().map(one)).await })
}

/// A refusal by Millrace: the provider was not called.
pub(super) fn refused(code: &str, reason: &str) -> Outcome {
    Outcome::Rejected { code: code.to_owned(), reason: reason.to_owned(), effect: None }
}

/// The outcome of a message with the content of another channel.
pub(super) fn misplaced() -> Sent {
    refused("content", "the message is of another channel").into()
}
