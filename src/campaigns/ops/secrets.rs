//! Secrets of webhooks: sealed before they are stored, and bound to the server they were given for.

use engines::vault::{ForeignSeal, Vault};
use kernel::{Error, FieldError, Result, WorkspaceId};
use secrecy::ExposeSecret as _;

use crate::model::{
    Campaign, Definition, Variant,
    message::{Origin, Secret, SecretPlace, WebhookMessage, userinfo},
};

/// The answer to a hidden secret where none is stored.
const NOT_STORED: &str = "must be given: no secret is stored";
/// The answer to a hidden secret that is stored for another server.
const OTHER_ORIGIN: &str =
    "must be given again: the stored secret is for another scheme, host or port of the URL";
/// The answer to a text that only looks sealed.
const NOT_SEALED_HERE: &str = "must not begin with sealed:1:";
/// The answer to Liquid that decides where a secret goes.
const TEMPLATED: &str =
    "must not have Liquid before its path, because the message carries credentials";

/// The answer to credentials in a URL.
const IN_URL: &str = "must not have a user name or password before its host: send them in auth";

/// Seals every secret of a new definition. A hidden secret stands for the stored one in the same position of
/// the same variant in `before`, the first with the same scheme, host and port; an unchanged secret stays as
/// it is stored.
///
/// # Errors
/// One for each hidden secret that is not stored for this server, for each text that looks sealed and is not
/// the stored one, for each URL with a templated host although the message carries secrets, and for each URL
/// with credentials other than the stored ones for this server.
pub(super) fn seal(
    vault: &Vault,
    workspace: WorkspaceId,
    new: &mut Definition,
    before: &[&Definition],
) -> Result<()> {
    let mut faults = Vec::new();
    for (at, variant) in new.variants.iter_mut().enumerate() {
        let id = variant.id.clone();
        let Some(webhook) = variant.webhook_mut() else { continue };
        let origin = webhook.origin();
        let with_credentials = webhook.url.as_deref().filter(|url| userinfo::of(url).is_some());
        let stored_url = with_credentials.map(|url| stored_url(before, &id, url, &origin));
        let mut fault = |field: &str, problem: &str| {
            faults.push(FieldError::new(format!("variants[{at}].message.{field}"), problem));
        };
        if origin == Origin::Templated && webhook.carries_secrets() {
            fault("url", TEMPLATED);
            continue;
        }
        match stored_url {
            None => {}
            Some(Some(url)) => webhook.url = Some(url),
            Some(None) => {
                fault("url", IN_URL);
                continue;
            }
        }
        for (place, secret) in webhook.secrets_mut() {
            let stored = stored(before, &id, &place, &origin);
            match sealed(vault, workspace, secret, stored) {
                Ok(text) => *secret = text,
                Err(problem) => fault(&place.to_string(), problem),
            }
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(Error::Invalid(faults)) }
}

/// A secret's stored value.
#[derive(Debug, Clone, Copy)]
enum Stored<'a> {
    Missing,
    /// Stored, but for another server.
    Elsewhere,
    Here(&'a str),
}

/// The messages of a variant that are webhooks.
fn webhooks<'a>(
    before: &[&'a Definition],
    variant: &str,
) -> impl Iterator<Item = &'a WebhookMessage> {
    before.iter().filter_map(move |definition| {
        definition.variants.iter().find(|other| other.id == variant)?.webhook()
    })
}

/// The URL that one with credentials stands for: a stored one, sent unchanged or as displayed, or another of
/// the same server with the stored credentials, if its own are hidden.
fn stored_url(before: &[&Definition], variant: &str, url: &str, origin: &Origin) -> Option<String> {
    let is_hidden = userinfo::of(url) == Some(Secret::HIDDEN);
    webhooks(before, variant).find_map(|webhook| {
        let stored = webhook.url.as_deref()?;
        let credentials = userinfo::of(stored)?;
        if stored == url || userinfo::hidden(stored).is_some_and(|shown| shown == url) {
            return Some(stored.to_owned());
        }
        let is_same_server = matches!(origin, Origin::Fixed(_)) && webhook.origin() == *origin;
        (is_hidden && is_same_server).then(|| userinfo::replaced(url, credentials)).flatten()
    })
}

fn stored<'a>(
    before: &[&'a Definition],
    variant: &str,
    place: &SecretPlace,
    origin: &Origin,
) -> Stored<'a> {
    let mut stored = Stored::Missing;
    for webhook in webhooks(before, variant) {
        let Some(secret) = webhook.secret(place) else { continue };
        if webhook.origin() == *origin {
            return Stored::Here(secret);
        }
        stored = Stored::Elsewhere;
    }
    stored
}

fn sealed(
    vault: &Vault,
    workspace: WorkspaceId,
    sent: &str,
    stored: Stored<'_>,
) -> Result<String, &'static str> {
    if sent == Secret::HIDDEN {
        return match stored {
            Stored::Missing => Err(NOT_STORED),
            Stored::Elsewhere => Err(OTHER_ORIGIN),
            Stored::Here(stored) => Ok(sealed_once(vault, workspace, stored)),
        };
    }
    let Stored::Here(stored) = stored else {
        return if Vault::is_sealed(sent) {
            Err(NOT_SEALED_HERE)
        } else {
            Ok(vault.seal(workspace, sent))
        };
    };
    if Vault::is_sealed(sent) {
        return if stored == sent { Ok(sent.to_owned()) } else { Err(NOT_SEALED_HERE) };
    }
    let opened = vault.open(workspace, stored).ok().flatten();
    Ok(if opened.is_some_and(|opened| opened.expose_secret() == sent) {
        stored.to_owned()
    } else {
        vault.seal(workspace, sent)
    })
}

fn sealed_once(vault: &Vault, workspace: WorkspaceId, stored: &str) -> String {
    if Vault::is_sealed(stored) { stored.to_owned() } else { vault.seal(workspace, stored) }
}

/// Seals the secrets of a stored definition that were stored before sealing existed.
pub(super) fn seal_stored(vault: &Vault, workspace: WorkspaceId, definition: &mut Definition) {
    for webhook in definition.variants.iter_mut().filter_map(Variant::webhook_mut) {
        for (_, secret) in webhook.secrets_mut() {
            *secret = sealed_once(vault, workspace, secret);
        }
    }
}

/// A stored campaign with all its secrets sealed, including its pending draft.
pub(super) fn sealed_campaign(
    vault: &Vault,
    workspace: WorkspaceId,
    campaign: &Campaign,
) -> Campaign {
    let mut campaign = campaign.clone();
    seal_stored(vault, workspace, &mut campaign.definition);
    if let Some(draft) = &mut campaign.pending_draft {
        seal_stored(vault, workspace, &mut draft.definition);
    }
    campaign
}

/// A stored variant with opened secrets in its headers, for rendering only.
///
/// # Errors
/// If one was sealed with another master key.
pub fn with_open_headers(
    vault: &Vault,
    workspace: WorkspaceId,
    variant: &Variant,
) -> Result<Variant, ForeignSeal> {
    let mut variant = variant.clone();
    for (place, secret) in variant.webhook_mut().map(|it| it.secrets_mut()).unwrap_or_default() {
        if let (SecretPlace::Header(_), Some(opened)) = (place, vault.open(workspace, secret)?) {
            opened.expose_secret().clone_into(secret);
        }
    }
    Ok(variant)
}
