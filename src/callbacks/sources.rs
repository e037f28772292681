//! Who may tell, and how each is known: the settings, read.

use std::{collections::HashMap, sync::Arc};

use anyhow::Context as _;
use config::{Callbacks, WhatsappCallbacks};
use parking_lot::Mutex;
use providers::client::{Client, ClientOptions, roots};
use secrecy::SecretString;

use super::model::{Basic, Certificate, Mailgun, Secret, SigningKey};

/// Amazon's certificates that are kept; they change about once a year.
const CERTIFICATES_MAX: usize = 16;

/// The sources that are set up; callbacks of others do not exist.
#[derive(Debug)]
pub struct CallbackSources {
    /// Twilio, by its auth token.
    pub twilio: Option<SecretString>,
    pub whatsapp: Option<WhatsappCallbacks>,
    pub infobip: Option<Basic>,
    pub ses: Option<Ses>,
    pub sendgrid: Option<SigningKey>,
    pub postmark: Option<Basic>,
    pub mailgun: Option<Mailgun>,
    pub resend: Option<Secret>,
    /// Gateways and mail servers of one's own.
    pub generic: Option<Secret>,
}

/// Amazon SES, by SNS.
#[derive(Debug)]
pub struct Ses {
    /// The topics that are ours.
    pub topics: Vec<String>,
    /// Fetches certificates, and confirms subscriptions.
    pub client: Client,
    given: Option<Certificate>,
    fetched: Mutex<HashMap<String, Certificate>>,
}

impl Ses {
    /// The certificate at an address, where it is known.
    pub fn certificate(&self, url: &str) -> Option<Certificate> {
        self.given.clone().or_else(|| self.fetched.lock().get(url).cloned())
    }

    pub fn keep(&self, url: &str, certificate: &Certificate) {
        let mut fetched = self.fetched.lock();
        if fetched.len() >= CERTIFICATES_MAX {
            fetched.clear();
        }
        fetched.insert(url.to_owned(), certificate.clone());
    }
}

impl CallbackSources {
    /// Reads the settings.
    ///
    /// # Errors
    /// When one of them cannot be used, with its key and the reason in one line.
    pub fn from_settings(settings: &config::Settings) -> anyhow::Result<Self> {
        let Callbacks { ses, sendgrid, mailgun, resend, generic, .. } = &settings.callbacks;
        let refused =
            |key: &'static str| move |why: &'static str| anyhow::anyhow!("callbacks.{key} {why}");
        let basic = |credentials: &Option<config::BasicCredentials>| {
            credentials.as_ref().map(|one| Basic::new(&one.username, &one.password))
        };
        Ok(Self {
            twilio: settings.callbacks.twilio_auth_token.clone(),
            whatsapp: settings.callbacks.whatsapp.clone(),
            infobip: basic(&settings.callbacks.infobip),
            ses: ses.as_ref().map(|ses| read_ses(ses, settings)).transpose()?,
            sendgrid: sendgrid
                .as_ref()
                .map(|one| SigningKey::read(&one.public_key))
                .transpose()
                .map_err(refused("sendgrid.public_key"))?,
            postmark: basic(&settings.callbacks.postmark),
            mailgun: mailgun
                .as_ref()
                .map(|one| Mailgun::read(&one.signing_key))
                .transpose()
                .map_err(refused("mailgun.signing_key"))?,
            resend: resend
                .as_ref()
                .map(|one| Secret::read(&one.secret))
                .transpose()
                .map_err(refused("resend.secret"))?,
            generic: generic
                .as_ref()
                .map(|one| Secret::read(&one.secret))
                .transpose()
                .map_err(refused("generic.secret"))?,
        })
    }
}

fn read_ses(ses: &config::Ses, settings: &config::Settings) -> anyhow::Result<Ses> {
    let given = ses.certificate.as_ref().map(|path| {
        let shown = path.display();
        let pem = std::fs::read(path)
            .with_context(|| format!("callbacks.ses.certificate: cannot read {shown}"))?;
        Certificate::read(&pem)
            .map_err(|why| anyhow::anyhow!("callbacks.ses.certificate: {shown} {why}"))
    });
    let extra = settings.security.ca_file.as_ref().map(std::fs::read).transpose();
    let extra = extra.context("security.ca_file cannot be read")?;
    let roots = Arc::new(roots(extra.as_deref())?);
    Ok(Ses {
        topics: ses.topic_arns.clone(),
        client: Client::new(&ClientOptions { roots, http2_only: false }),
        given: given.transpose()?,
        fetched: Mutex::default(),
    })
}
