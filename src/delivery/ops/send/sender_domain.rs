//! Checks that a rendered message is sent from a domain of its workspace.

use campaigns::model::message::address_of;
use kernel::{Error, Result, WorkspaceId};
use providers::model::Content;
use sender_domains::{
    model::Sender,
    ops::{not_verified, sender},
};
use sqlx::PgConnection;

use crate::DeliveryState;

/// The code of a message that was not sent because of its sender.
pub(crate) const NOT_VERIFIED: &str = "sender_not_verified";

/// The results for the domains of a batch so far.
#[derive(Debug, Default)]
pub(crate) struct Senders(Vec<(String, Sender)>);

impl Senders {
    /// Checks the sender of a message; one in the workspace's own domain is to be signed for it.
    /// Returns the reason of a refusal.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) async fn check(
        &mut self,
        app: &DeliveryState,
        connection: &mut PgConnection,
        workspace: WorkspaceId,
        content: &mut Content,
    ) -> Result<Option<String>> {
        let Content::Email(email) = content else { return Ok(None) };
        let Some(from) = email.from.as_deref() else { return Ok(None) };
        let Some(address) = address_of(from) else {
            return Ok(Some("must be an email address".to_owned()));
        };
        let domain = address.domain();
        let known = self.0.iter().position(|(known, _)| known == domain);
        let at = if let Some(at) = known {
            at
        } else {
            let found = sender(connection, app.sender_setup(), workspace, domain).await?;
            self.0.push((domain.to_owned(), found));
            self.0.len() - 1
        };
        match self.0.get(at) {
            Some((_, Sender::Unknown)) => Ok(Some(not_verified(domain))),
            Some((_, Sender::Verified { domain, .. })) => {
                email.signing_domain = Some(domain.clone());
                Ok(None)
            }
            _ => Ok(None),
        }
    }
}

/// Refuses a message from a domain that is not the workspace's.
///
/// # Errors
/// A bad request that names the sender.
pub(crate) async fn refuse_unknown(
    app: &DeliveryState,
    workspace: WorkspaceId,
    content: &mut Content,
) -> Result<()> {
    let mut connection = app.db().acquire().await?;
    let refused = Senders::default().check(app, &mut connection, workspace, content).await?;
    refused.map_or(Ok(()), |problem| Err(Error::invalid("message.from", problem)))
}
