//! Sealing the secrets of what a campaign is to say, before it is kept.

use secrecy::ExposeSecret as _;

use crate::{
    campaigns::model::{
        Definition,
        message::{Auth, Secret},
        variant::Variant,
    },
    kernel::{Error, FieldError, Result, WorkspaceId},
    vault::Vault,
};

/// What a secret that is hidden is answered with where none is kept.
const NOT_KEPT: &str = "must be given: no secret is kept";
/// What a text that only looks sealed is answered with.
const NOT_SEALED_HERE: &str = "must not begin with sealed:1:";

/// Seals every secret. One that is sent hidden is the one its variant has in `before`, in the first of
/// these that has one; one that is no other than that stays as it is kept.
///
/// # Errors
/// One for each secret that is hidden and not kept, and for each text that is sealed by nobody of ours.
pub(super) fn seal(
    vault: &Vault,
    workspace: WorkspaceId,
    new: &mut Definition,
    before: &[&Definition],
) -> Result<()> {
    let mut faults = Vec::new();
    for (at, variant) in new.variants.iter_mut().enumerate() {
        let id = variant.id.clone();
        let Some((field, secret)) = variant.auth_mut().and_then(Auth::secret_mut) else { continue };
        let kept = before.iter().find_map(|definition| kept(definition, &id));
        match sealed(vault, workspace, secret, kept) {
            Ok(text) => secret.set(text),
            Err(problem) => {
                faults
                    .push(FieldError::new(format!("variants[{at}].message.auth.{field}"), problem));
            }
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(Error::Invalid(faults)) }
}

fn kept<'a>(definition: &'a Definition, variant: &str) -> Option<&'a Secret> {
    let variant = definition.variants.iter().find(|other| other.id == variant)?;
    Variant::auth(variant)?.secret()
}

fn sealed(
    vault: &Vault,
    workspace: WorkspaceId,
    sent: &Secret,
    kept: Option<&Secret>,
) -> Result<String, &'static str> {
    let sent = sent.as_str();
    if sent == Secret::HIDDEN {
        let kept = kept.ok_or(NOT_KEPT)?.as_str();
        return Ok(if Vault::is_sealed(kept) {
            kept.to_owned()
        } else {
            vault.seal(workspace, kept)
        });
    }
    if kept.is_some_and(|kept| kept.as_str() == sent && Vault::is_sealed(sent)) {
        return Ok(sent.to_owned());
    }
    if vault.open(workspace, sent).map_err(|_| NOT_SEALED_HERE)?.is_some() {
        return Ok(sent.to_owned());
    }
    let is_same = |kept: &&Secret| {
        let opened = vault.open(workspace, kept.as_str());
        opened.is_ok_and(|opened| opened.is_some_and(|opened| opened.expose_secret() == sent))
    };
    Ok(kept
        .filter(is_same)
        .map_or_else(|| vault.seal(workspace, sent), |kept| kept.as_str().to_owned()))
}
