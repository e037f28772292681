//! Redaction of a campaign's secrets: the credentials of webhooks.

use serde_json::Value;

use super::{
    Change, Definition, Difference,
    message::{Auth, Content, Secret, WebhookMessage, carries_credentials, userinfo},
    variant::Variant,
};

impl Variant {
    /// The message, if it is a webhook.
    pub fn webhook(&self) -> Option<&WebhookMessage> {
        match &self.message.as_ref()?.content {
            Content::Webhook(webhook) => Some(webhook),
            _ => None,
        }
    }

    pub fn webhook_mut(&mut self) -> Option<&mut WebhookMessage> {
        match &mut self.message.as_mut()?.content {
            Content::Webhook(webhook) => Some(webhook),
            _ => None,
        }
    }
}

impl Definition {
    /// The definition with redacted secrets.
    #[must_use]
    pub fn hidden(mut self) -> Self {
        for webhook in self.variants.iter_mut().filter_map(Variant::webhook_mut) {
            for (_, secret) in webhook.secrets_mut() {
                Secret::HIDDEN.clone_into(secret);
            }
            if let Some(hidden) = webhook.url.as_deref().and_then(userinfo::hidden) {
                webhook.url = Some(hidden);
            }
        }
        self
    }
}

/// A serialized campaign with redacted secrets.
pub fn snapshot(mut written: Value) -> Value {
    hide_in_campaign(&mut written);
    written
}

impl Difference {
    /// The difference with redacted secrets. It still shows that a secret changed.
    #[must_use]
    pub fn hidden(mut self) -> Self {
        hide_at(&self.path, [&mut self.before, &mut self.after]);
        self
    }
}

impl Change {
    /// The change with redacted secrets.
    #[must_use]
    pub fn hidden(mut self) -> Self {
        hide_at(&self.path, [&mut self.before, &mut self.after]);
        self
    }
}

/// Redacts the secrets in values at a JSON Pointer of a campaign.
fn hide_at(path: &str, values: [&mut Value; 2]) {
    let steps: Vec<&str> = path.split('/').skip(1).collect();
    let hide: fn(&mut Value) = match steps.as_slice() {
        [] => hide_in_campaign,
        ["variants"] => hide_in_variants,
        ["variants", _] => hide_in_variant,
        ["variants", _, "message"] => hide_in_message,
        ["variants", _, "message", "url"] => hide_in_url,
        ["variants", _, "message", "auth"] => hide_in_auth,
        ["variants", _, "message", "headers"] => hide_in_headers,
        ["variants", _, "message", "auth", field] if Auth::SECRETS.contains(field) => hide_text,
        ["variants", _, "message", "headers", name] if carries_credentials(name) => hide_text,
        _ => return,
    };
    values.into_iter().for_each(hide);
}

fn hide_in_campaign(campaign: &mut Value) {
    campaign.get_mut("variants").into_iter().for_each(hide_in_variants);
}

fn hide_in_variants(variants: &mut Value) {
    variants.as_array_mut().into_iter().flatten().for_each(hide_in_variant);
}

fn hide_in_variant(variant: &mut Value) {
    variant.get_mut("message").into_iter().for_each(hide_in_message);
}

fn hide_in_message(message: &mut Value) {
    message.get_mut("url").into_iter().for_each(hide_in_url);
    message.get_mut("auth").into_iter().for_each(hide_in_auth);
    message.get_mut("headers").into_iter().for_each(hide_in_headers);
}

fn hide_in_auth(auth: &mut Value) {
    for name in Auth::SECRETS {
        auth.get_mut(*name).into_iter().for_each(hide_text);
    }
}

fn hide_in_headers(headers: &mut Value) {
    let headers = headers.as_object_mut().into_iter().flatten();
    headers.filter(|(name, _)| carries_credentials(name)).for_each(|(_, value)| hide_text(value));
}

fn hide_in_url(url: &mut Value) {
    if let Some(hidden) = url.as_str().and_then(userinfo::hidden) {
        *url = hidden.into();
    }
}

fn hide_text(value: &mut Value) {
    if value.is_string() {
        *value = Secret::HIDDEN.into();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::differences;

    fn campaign(token: &str, body: &str) -> Value {
        let auth = |token: &str| json!({"type": "bearer", "token": token});
        json!({
            "name": "A",
            "variants": [
                {"id": "a", "message": {"url": "https://x.test", "auth": auth(token),
                    "headers": {"x-api-key": token, "X-Plan": "kept"},
                    "body": {"auth": {"type": "bearer", "token": body}}}},
                {"id": "b", "message": {"url": "https://x.test", "token": "kept",
                    "auth": {"type": "basic", "username": "ann", "password": token}}},
                {"id": "c"},
            ],
        })
    }

    #[test]
    fn a_snapshot_hides_credentials_and_nothing_else() {
        let hidden = snapshot(campaign("s3cret", "part of the body"));
        assert!(!hidden.to_string().contains("s3cret"), "{hidden}");
        assert_eq!(hidden["variants"][0]["message"]["auth"]["token"], "********");
        assert_eq!(hidden["variants"][0]["message"]["body"]["auth"]["token"], "part of the body");
        let headers = &hidden["variants"][0]["message"]["headers"];
        assert_eq!(*headers, json!({"x-api-key": "********", "X-Plan": "kept"}));
        assert_eq!(hidden["variants"][1]["message"]["auth"]["username"], "ann");
        assert_eq!(hidden["variants"][1]["message"]["token"], "kept");
    }

    #[test]
    fn differences_show_that_a_secret_changed_but_not_its_value() {
        let (old, new) = (campaign("s3cret-1", "x"), campaign("s3cret-2", "y"));
        let shorter = json!({"name": "A", "variants": [{"id": "c"}]});
        let without = json!({"name": "A"});
        let mut bare = old.clone();
        bare["variants"][0]["message"].as_object_mut().unwrap().remove("auth");
        bare["variants"][0]["message"].as_object_mut().unwrap().remove("headers");
        let mut other_key = old.clone();
        other_key["variants"][0]["message"]["headers"] = json!({"X-Other-Key": "s3cret-3"});
        for (before, after) in [
            (&old, &new),
            (&old, &shorter),
            (&without, &new),
            (&old, &bare),
            (&bare, &new),
            (&old, &other_key),
        ] {
            let found = differences(before, after);
            assert!(!found.is_empty());
            for difference in found {
                let shown = serde_json::to_string(&difference.hidden()).unwrap();
                assert!(!shown.contains("s3cret"), "{shown}");
            }
        }
        let found: Vec<_> = differences(&old, &new).into_iter().map(Difference::hidden).collect();
        let token = found.iter().find(|it| it.path == "/variants/0/message/auth/token").unwrap();
        assert_eq!((&token.before, &token.after), (&json!("********"), &json!("********")));
        let key = found.iter().find(|it| it.path == "/variants/0/message/headers/x-api-key");
        let key = key.unwrap();
        assert_eq!((&key.before, &key.after), (&json!("********"), &json!("********")));
        let body =
            found.iter().find(|it| it.path == "/variants/0/message/body/auth/token").unwrap();
        assert_eq!((&body.before, &body.after), (&json!("x"), &json!("y")));
    }
}
