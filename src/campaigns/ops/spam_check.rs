//! Spam checks of emails before they are sent.

use content::spam::{self, Mail, Report, Verdict};
use kernel::{CampaignId, EmailAddress, Error, Result, WorkspaceId};

use super::{NOT_FOUND, update::latest_definition};
use crate::{
    CampaignState,
    model::{
        Definition, Variant,
        checks::{Check, CheckId},
        message::{Content, EmailMessage, address_of},
    },
    store,
};

/// The email to check.
#[derive(Debug, Clone)]
pub enum Subject {
    /// Sent with the request.
    Given(Box<EmailMessage>),
    /// The emails of a campaign.
    Of {
        campaign: CampaignId,
        /// The variant; the first that is not the control group if absent.
        variant: Option<String>,
    },
}

/// Checks an email.
///
/// # Errors
/// Not found; a bad request if the variant is not an email.
pub async fn spam_check(
    app: &CampaignState,
    workspace: WorkspaceId,
    subject: Subject,
) -> Result<Report> {
    let mail = match subject {
        Subject::Given(email) => mail_of(&email),
        Subject::Of { campaign, variant } => {
            let campaign = store::find(app.db(), workspace, campaign).await?.ok_or(NOT_FOUND)?;
            let variant = variant_of(latest_definition(&campaign), variant.as_deref())?;
            let no_email = || Error::invalid("variantId", "must be a variant with an email");
            mail_of(email_of(variant).ok_or_else(no_email)?)
        }
    };
    spam::check(app.spamd(), mail, app.clock().now()).await
}

fn variant_of<'d>(definition: &'d Definition, id: Option<&str>) -> Result<&'d Variant> {
    let variants = &definition.variants;
    let found = match id {
        Some(id) => variants.iter().find(|variant| variant.id == id),
        None => variants.iter().find(|variant| !variant.is_control()),
    };
    found.ok_or(Error::NotFound("Variant"))
}

fn email_of(variant: &Variant) -> Option<&EmailMessage> {
    match &variant.message.as_ref()?.content {
        Content::Email(email) => Some(email),
        _ => None,
    }
}

fn mail_of(email: &EmailMessage) -> Mail {
    let from = email.from.as_deref();
    let named = from.and_then(|from| from.rsplit_once('<')).map(|(name, _)| name.trim());
    let named = named.map(|name| name.trim_matches('"').to_owned());
    Mail {
        subject: email.subject.clone().unwrap_or_default(),
        from: from.and_then(address_of).map(EmailAddress::into_string),
        from_name: email.from_name.clone().or(named).filter(|name| !name.is_empty()),
        html: email.html.clone(),
        text: email.text.clone(),
    }
}

/// The launch check `spam_score`: the worst score of a campaign's emails. It warns and never fails, since
/// filters make mistakes.
///
/// # Errors
/// If the check cannot be run.
pub async fn spam_score(app: &CampaignState, definition: &Definition) -> Result<Check> {
    let id = CheckId::SpamScore;
    let mut worst: Option<(String, Report)> = None;
    for variant in definition.variants.iter().filter(|variant| !variant.is_control()) {
        let Some(email) = email_of(variant) else { continue };
        let report = spam::check(app.spamd(), mail_of(email), app.clock().now()).await?;
        if worst.as_ref().is_none_or(|(_, worst)| report.score > worst.score) {
            worst = Some((variant.id.clone(), report));
        }
    }
    let Some((variant, report)) = worst else {
        return Ok(Check::pass(id, "there is no email to check"));
    };
    let (score, threshold) = (report.score, report.threshold);
    let summary = format!("variant {variant} scores {score:.1}, and is spam from {threshold:.1}");
    Ok(match report.verdict {
        Verdict::Pass => Check::pass(id, summary),
        Verdict::Warn | Verdict::Fail => Check::warn(id, summary),
    })
}
