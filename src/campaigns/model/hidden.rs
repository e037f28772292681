//! What a campaign says without its secrets: the credentials of webhooks.

use serde_json::Value;

use super::{
    Change, Definition, Difference,
    message::{Auth, Content, Secret},
    variant::Variant,
};

/// Where secrets are in a campaign that is written out: the steps of a JSON Pointer, none for any.
const SECRETS: [Option<&str>; 4] = [Some("variants"), None, Some("message"), Some("auth")];

impl Variant {
    /// The credentials of its webhook.
    pub fn auth(&self) -> Option<&Auth> {
        match &self.message.as_ref()?.content {
            Content::Webhook(webhook) => webhook.auth.as_ref(),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub fn auth_mut(&mut self) -> Option<&mut Auth> {
        match &mut self.message.as_mut()?.content {
            Content::Webhook(webhook) => webhook.auth.as_mut(),
            _ => None,
        }
    }
}

impl Definition {
    /// What it says, its secrets hidden.
    #[must_use]
    pub fn hidden(mut self) -> Self {
        for auth in self.variants.iter_mut().filter_map(Variant::auth_mut) {
            if let Some((_, secret)) = auth.secret_mut() {
                secret.set(Secret::HIDDEN.to_owned());
            }
        }
        self
    }
}

/// A written campaign, its secrets hidden.
pub fn snapshot(mut written: Value) -> Value {
    hide(&mut written, &SECRETS);
    written
}

impl Difference {
    /// The difference, its secrets hidden. That a secret is another one is still told.
    #[must_use]
    pub fn hidden(mut self) -> Self {
        hide_at(&self.path, [&mut self.before, &mut self.after]);
        self
    }
}

impl Change {
    /// The change, its secrets hidden.
    #[must_use]
    pub fn hidden(mut self) -> Self {
        hide_at(&self.path, [&mut self.before, &mut self.after]);
        self
    }
}

/// Hides the secrets in values that stand at a path.
fn hide_at(path: &str, values: [&mut Value; 2]) {
    let mut below = &SECRETS[..];
    for step in path.split('/').skip(1) {
        let Some((expected, rest)) = below.split_first() else {
            // A field of the credentials themselves.
            if Auth::SECRETS.contains(&step) {
                values.into_iter().for_each(hide_text);
            }
            return;
        };
        if expected.is_some_and(|expected| expected != step) {
            return;
        }
        below = rest;
    }
    for value in values {
        hide(value, below);
    }
}

fn hide(value: &mut Value, below: &[Option<&str>]) {
    match (below.split_first(), value) {
        (Some((None, rest)), Value::Array(items)) => {
            for item in items {
                hide(item, rest);
            }
        }
        (Some((Some(name), rest)), Value::Object(fields)) => {
            if let Some(field) = fields.get_mut(*name) {
                hide(field, rest);
            }
        }
        (None, Value::Object(fields)) => {
            for name in Auth::SECRETS {
                fields.get_mut(*name).into_iter().for_each(hide_text);
            }
        }
        _ => {}
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
    use crate::campaigns::model::differences;

    fn campaign(token: &str, body: &str) -> Value {
        let auth = |token: &str| json!({"type": "bearer", "token": token});
        json!({
            "name": "A",
            "variants": [
                {"id": "a", "message": {"url": "https://x.test", "auth": auth(token),
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
        assert_eq!(hidden["variants"][1]["message"]["auth"]["username"], "ann");
        assert_eq!(hidden["variants"][1]["message"]["token"], "kept");
    }

    #[test]
    fn differences_tell_that_a_secret_is_another_and_not_which() {
        let (old, new) = (campaign("s3cret-1", "x"), campaign("s3cret-2", "y"));
        let shorter = json!({"name": "A", "variants": [{"id": "c"}]});
        let without = json!({"name": "A"});
        let mut bare = old.clone();
        bare["variants"][0]["message"].as_object_mut().unwrap().remove("auth");
        for (before, after) in
            [(&old, &new), (&old, &shorter), (&without, &new), (&old, &bare), (&bare, &new)]
        {
            let found = differences(before, after);
            assert!(!found.is_empty());
            for difference in found {
                let shown = serde_json::to_string(&difference.hidden()).unwrap();
                assert!(!shown.contains("s3cret"), "{shown}");
            }
        }
        let told: Vec<_> = differences(&old, &new).into_iter().map(Difference::hidden).collect();
        let token = told.iter().find(|it| it.path == "/variants/0/message/auth/token").unwrap();
        assert_eq!((&token.before, &token.after), (&json!("********"), &json!("********")));
        let body = told.iter().find(|it| it.path == "/variants/0/message/body/auth/token").unwrap();
        assert_eq!((&body.before, &body.after), (&json!("x"), &json!("y")));
    }
}
