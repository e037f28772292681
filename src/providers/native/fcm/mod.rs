//! Firebase Cloud Messaging, HTTP v1:
//! https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages

mod token;

use bytes::Bytes;
use http::{Request, StatusCode, header};
use kernel::Clock;
use secrecy::ExposeSecret as _;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use self::token::{Account, Tokens};
use super::{
    config::FcmSettings,
    push::{Pushed, TTL_SECONDS_DEFAULT, base, is_address, key, timeout},
};
use crate::{
    client::{Answer, Client, Fault},
    model::{Device, Outcome, Outgoing, Platform, PushContent},
    whatsapp::text,
};

#[derive(Debug)]
pub(super) struct Fcm {
    url: String,
    timeout: std::time::Duration,
    tokens: Tokens,
    client: Client,
    clock: Clock,
}

#[derive(Deserialize)]
struct Taken {
    name: String,
}

#[derive(Deserialize)]
struct Refused {
    error: Problem,
}

#[derive(Default, Deserialize)]
struct Problem {
    #[serde(default)]
    message: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    details: Vec<Detail>,
}

/// One of several kinds of detail; its fields distinguish them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Detail {
    error_code: Option<String>,
    #[serde(default)]
    field_violations: Vec<Violation>,
}

#[derive(Deserialize)]
struct Violation {
    #[serde(default)]
    field: String,
}

impl Problem {
    /// FCM's own code where it names one, else that of Google's APIs.
    fn code(&self) -> &str {
        self.details.iter().find_map(|detail| detail.error_code.as_deref()).unwrap_or(&self.status)
    }

    /// Whether it is about the registration token itself.
    fn is_about_the_token(&self) -> bool {
        let mut fields = self.details.iter().flat_map(|detail| &detail.field_violations);
        fields.any(|violation| violation.field == "message.token")
    }
}

impl Fcm {
    pub(super) fn new(settings: FcmSettings, client: Client, clock: Clock) -> anyhow::Result<Self> {
        let file = settings.service_account_file.as_deref();
        let text = key("service_account", settings.service_account, file)?;
        let account = Account::read(text.expose_secret())?;
        let project = settings.project_id.unwrap_or_else(|| account.project_id.clone());
        Ok(Self {
            url: format!("{}/v1/projects/{project}/messages:send", base(&settings.url)),
            timeout: timeout(settings.timeout_seconds),
            tokens: Tokens::new(account, client.clone(), clock.clone())?,
            client,
            clock,
        })
    }

    pub(super) async fn push(
        &self,
        message: &Outgoing,
        content: &PushContent,
        device: &Device,
    ) -> Pushed {
        let body = Bytes::from(body(message, content, device).to_string());
        let mut token = match self.tokens.token(None).await {
            Ok(token) => token,
            Err(outcome) => return outcome.into(),
        };
        let mut answer = self.call(&token, body.clone()).await;
        if answer.as_ref().is_ok_and(is_token_stale) {
            token = match self.tokens.token(Some(&token)).await {
                Ok(token) => token,
                Err(outcome) => return outcome.into(),
            };
            answer = self.call(&token, body).await;
        }
        match answer {
            Ok(answer) => self.pushed(&answer),
            Err(fault) => fault.once().into(),
        }
    }

    async fn call(&self, token: &str, body: Bytes) -> Result<Answer, Fault> {
        let request = Request::post(&self.url)
            .header(header::AUTHORIZATION, format!("Bearer {token}"))
            .header(header::CONTENT_TYPE, "application/json")
            .body(body)
            .map_err(|error| Fault {
                code: "connection",
                reason: error.to_string(),
                was_sent: false,
            })?;
        self.client.call(request, self.timeout).await
    }

    fn pushed(&self, answer: &Answer) -> Pushed {
        if answer.status.is_success() {
            let provider_id = answer.json::<Taken>().map(|taken| taken.name);
            return Outcome::Accepted { provider_id, is_delivered: true }.into();
        }
        let Some(Refused { error }) = answer.json() else {
            let code = answer.status.as_str().to_owned();
            return answer.refusal(code, &answer.text(), self.clock.now()).into();
        };
        let code = error.code();
        let is_gone =
            code == "UNREGISTERED" || (code == "INVALID_ARGUMENT" && error.is_about_the_token());
        let outcome = answer.refusal(code.to_owned(), &error.message, self.clock.now());
        Pushed { outcome, is_gone }
    }
}

/// Whether it is our own token that was not believed, rather than Apple's or a browser's.
fn is_token_stale(answer: &Answer) -> bool {
    answer.status == StatusCode::UNAUTHORIZED
        && answer
            .json::<Refused>()
            .is_none_or(|refused| refused.error.code() != "THIRD_PARTY_AUTH_ERROR")
}

/// The message as FCM takes it, with what concerns the device's platform.
fn body(message: &Outgoing, content: &PushContent, device: &Device) -> Value {
    let mut data: Map<_, _> = (content.data.iter())
        .map(|(name, value)| (name.clone(), Value::String(text(value))))
        .collect();
    data.insert("messageId".to_owned(), json!(message.id));
    if let Some(link) = &content.deep_link {
        data.insert("deepLink".to_owned(), json!(link));
    }
    let mut notification = json!({ "body": content.body });
    if let Some(title) = &content.title {
        notification["title"] = json!(title);
    }
    if let Some(image) = &content.image {
        notification["image"] = json!(image);
    }
    let (platform, settings) = match device.platform {
        Platform::Android => ("android", of_android(content)),
        Platform::Ios => ("apns", of_ios(content)),
        Platform::Web => ("webpush", of_web(content)),
    };
    json!({ "message": {
        "token": device.token,
        "notification": notification,
        "data": data,
        platform: settings,
    }})
}

fn of_android(content: &PushContent) -> Value {
    let ttl = content.ttl_seconds.unwrap_or(TTL_SECONDS_DEFAULT);
    let mut android = json!({
        "priority": if content.high_priority { "HIGH" } else { "NORMAL" },
        "ttl": format!("{ttl}s"),
    });
    if let Some(key) = &content.collapse_key {
        android["collapse_key"] = json!(key);
    }
    if let Some(icon) = content.icon.as_ref().filter(|icon| !is_address(icon)) {
        android["notification"] = json!({ "icon": icon });
    }
    android
}

fn of_ios(content: &PushContent) -> Value {
    let mut headers = json!({ "apns-priority": if content.high_priority { "10" } else { "5" } });
    if content.ttl_seconds == Some(0) {
        headers["apns-expiration"] = json!("0");
    }
    if let Some(key) = &content.collapse_key {
        headers["apns-collapse-id"] = json!(super::apns::collapse_id(key));
    }
    let mut aps = json!({ "sound": "default" });
    if content.image.is_some() {
        aps["mutable-content"] = json!(1);
    }
    json!({ "headers": headers, "payload": { "aps": aps } })
}

fn of_web(content: &PushContent) -> Value {
    let ttl = content.ttl_seconds.unwrap_or(TTL_SECONDS_DEFAULT);
    let mut web = json!({ "headers": {
        "TTL": ttl.to_string(),
        "Urgency": if content.high_priority { "high" } else { "normal" },
    }});
    if let Some(icon) = &content.icon {
        web["notification"] = json!({ "icon": icon });
    }
    if let Some(link) = content.deep_link.as_ref().filter(|link| link.starts_with("https://")) {
        web["fcm_options"] = json!({ "link": link });
    }
    web
}
