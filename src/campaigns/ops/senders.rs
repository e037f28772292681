//! Whether a campaign's emails are sent from domains of its workspace.

use content::template;
use kernel::{Channel, EmailAddress, FieldError, Result, WorkspaceId};
use sender_domains::{
    model::{Purpose, Sender},
    ops::{not_verified, sender},
};

use super::enabled_channels;
use crate::{
    CampaignState,
    model::{
        Definition, Variant,
        checks::{self, Check, CheckId, CheckStatus},
        message::{Content, address_of},
    },
};

/// The senders in a campaign's variants, with the index of the variant. Templated ones are checked when a
/// message is sent.
fn fixed_senders(definition: &Definition) -> Vec<(usize, EmailAddress)> {
    let of = |variant: &Variant| match &variant.message.as_ref()?.content {
        Content::Email(email) if !variant.is_control() => {
            let from = email.from.as_deref().filter(|from| !template::has_markup(from))?;
            address_of(from)
        }
        _ => None,
    };
    let variants = definition.variants.iter().enumerate();
    variants.filter_map(|(at, variant)| Some((at, of(variant)?))).collect()
}

/// The status of each sender. None if this process has no email provider: the process that has one checks the
/// sender when a message is sent.
async fn senders(
    app: &CampaignState,
    workspace: WorkspaceId,
    definition: &Definition,
) -> Result<Vec<(usize, EmailAddress, Sender)>> {
    let mut senders = Vec::new();
    if app.enabled_channels().contains(Channel::Email) {
        for (at, from) in fixed_senders(definition) {
            let found = sender(app.db(), app.sender_setup(), workspace, from.domain()).await?;
            senders.push((at, from, found));
        }
    }
    Ok(senders)
}

/// The first sender in a domain that the workspace does not own.
///
/// # Errors
/// If the store fails.
pub(super) async fn fault(
    app: &CampaignState,
    workspace: WorkspaceId,
    definition: &Definition,
) -> Result<Option<FieldError>> {
    let senders = senders(app, workspace, definition).await?;
    let unknown = senders.into_iter().find(|(_, _, found)| *found == Sender::Unknown);
    Ok(unknown.map(|(at, from, _)| {
        FieldError::new(format!("variants[{at}].message.from"), not_verified(from.domain()))
    }))
}

/// Whether the channel has a provider and the senders belong to the workspace; a warning if recommended DNS
/// records are missing.
///
/// # Errors
/// If the store fails.
pub async fn check(
    app: &CampaignState,
    workspace: WorkspaceId,
    definition: &Definition,
) -> Result<Check> {
    let provider = checks::sender(definition, enabled_channels::anywhere(app).await?);
    if provider.status != CheckStatus::Pass {
        return Ok(provider);
    }
    if let Some(fault) = fault(app, workspace, definition).await? {
        return Ok(Check::fail(CheckId::SenderConfigured, fault.to_string()));
    }
    let mut warnings: Vec<String> = Vec::new();
    for (_, _, found) in senders(app, workspace, definition).await? {
        if let Sender::Verified { domain, missing } = found
            && !missing.is_empty()
        {
            let missing: Vec<&str> = missing.into_iter().map(Purpose::name).collect();
            let warning = format!("{domain} lacks DNS records for {}", missing.join(", "));
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
    }
    if warnings.is_empty() {
        return Ok(provider);
    }
    Ok(Check::warn(CheckId::SenderConfigured, warnings.join("; ")))
}
