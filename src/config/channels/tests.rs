//! Reading and refusing the tables of channels.

use secrecy::ExposeSecret as _;

use super::*;

fn channels(text: &str) -> Channels {
    toml::from_str(text).unwrap()
}

fn refusal(text: &str) -> String {
    channels(text).providers().unwrap_err().to_string()
}

#[test]
fn a_channel_is_read_as_its_providers_settings() {
    let read = channels(
        "[email]\nurl = \"smtps://u:p@mail.example.test\"\nconnections = \"8\"\n\
         [email.dkim]\ndomain = \"example.test\"\nselector = \"s1\"\nkey_file = \"k.pem\"\n\
         [sms]\nprovider = \"http\"\nurl = \"http://h/sms\"\nheaders = { Authorization = \"x\" }",
    );
    assert!(read.set().contains(Channel::Email) && read.set().contains(Channel::Sms));
    assert!(!read.set().contains(Channel::Push));
    let providers = read.providers().unwrap();
    let [(Channel::Email, ProviderConfig::Smtp(smtp)), (Channel::Sms, ProviderConfig::Http(http))] =
        &providers[..]
    else {
        panic!("{providers:?}")
    };
    assert_eq!((smtp.connections, smtp.timeout_seconds), (8, 20));
    assert_eq!(smtp.dkim.as_ref().unwrap().selector, "s1");
    assert_eq!(http.headers["Authorization"].expose_secret(), "x");
    assert!(!format!("{read:?}{providers:?}").contains("u:p@"), "no secrets are shown");
}

#[test]
fn refusals_name_the_channel_and_the_key() {
    let table = [
        (
            "[sms]\nprovider = \"pigeon\"",
            "channels.sms",
            "unknown provider `pigeon`, expected one of",
        ),
        ("[sms]\nprovider = \"smtp\"", "channels.sms", "unknown provider `smtp`"),
        ("[sms]\nprovider = 1", "channels.sms", "`provider` must be a string"),
        ("[sms]\nfrom = \"x\"", "channels.sms", "missing field `provider`"),
        ("[sms]\nprovider = \"http\"", "channels.sms", "missing field `url`"),
        ("[sms]\nurl = \"http://h\"\ntopic = \"t\"", "channels.sms", "unknown field `topic`"),
        (
            "[push]\nprovider = \"http\"\nurl = \"h\"",
            "channels.push",
            "must be an http or https URL",
        ),
        ("[email]\nurl = \"smtp://\"", "channels.email", "`url` must be smtp://host"),
        ("[email]\nurl = \"smtp://h?tls=no\"", "channels.email", "`url` must be smtp://host"),
        ("[email]\nurl = \"smtp://h\"\nconnections = 0", "channels.email", "at least 1"),
        ("[email]\nurl = \"smtp://h\"\ndkim = { domain = \"d\" }", "channels.email", "`selector`"),
    ];
    for (text, channel, problem) in table {
        let refusal = refusal(text);
        assert!(refusal.contains(channel) && refusal.contains(problem), "{text}: {refusal}");
        assert_eq!(refusal.lines().count(), 1, "{refusal}");
    }
}

#[test]
fn named_providers_are_read_and_missing_keys_are_named() {
    let read = channels(
        "[sms]\nprovider = \"twilio\"\naccount_sid = \"AC1\"\nauth_token = \"hidden\"\n\
         [whatsapp]\nprovider = \"whatsapp\"\nphone_number_id = \"7\"\naccess_token = \"hidden\"\n\
         [viber]\nprovider = \"infobip\"\nurl = \"https://x.api.test\"\napi_key = \"hidden\"\n\
         [push]\nprovider = \"native\"\n[push.apns]\nteam_id = \"T\"\nkey_id = \"K\"\ntopic = \"t\"\n\
         key = \"hidden\"\n",
    );
    let providers = read.providers().unwrap();
    for (channel, provider) in &providers {
        match provider {
            ProviderConfig::Twilio(twilio) => {
                assert_eq!(twilio.url.expose_secret(), "https://api.twilio.com");
            }
            ProviderConfig::Whatsapp(whatsapp) => {
                assert_eq!(
                    (whatsapp.api_version.as_str(), whatsapp.language.as_str()),
                    ("v23.0", "en")
                );
            }
            ProviderConfig::Infobip(infobip) => assert_eq!(infobip.template_type, "OTP_TEMPLATE"),
            ProviderConfig::Native(native) => {
                let apns = native.apns.as_ref().unwrap();
                assert_eq!(apns.url.expose_secret(), "https://api.push.apple.com");
                assert!(native.fcm.is_none() && native.web_push.is_none());
            }
            other => panic!("{channel}: {other:?}"),
        }
    }
    assert_eq!(providers.len(), 4);
    assert!(!format!("{providers:?}").contains("hidden"), "no secrets are shown");
    for (text, problem) in [
        ("[sms]\nprovider = \"twilio\"", "missing field `account_sid`"),
        ("[sms]\nprovider = \"twilio\"\naccount_sid = \"A\"", "missing field `auth_token`"),
        (
            "[sms]\nprovider = \"infobip\"",
            "unknown provider `infobip`, expected one of twilio, http",
        ),
        ("[whatsapp]\nprovider = \"whatsapp\"", "missing field `phone_number_id`"),
        ("[viber]\nprovider = \"infobip\"", "missing field `url`"),
        ("[viber]\nprovider = \"infobip\"\nurl = \"ftp://x\"", "must be an http or https URL"),
        ("[push]\nprovider = \"native\"\nfcm = { key = 1 }", "unknown field `key`"),
        ("[push]\nprovider = \"native\"\napns = { team_id = \"T\" }", "missing field `key_id`"),
        ("[push]\nprovider = \"native\"\nweb_push = {}", "missing field `subject`"),
        ("[push]\nprovider = \"fcm\"", "expected one of native, http"),
    ] {
        let refusal = refusal(text);
        assert!(refusal.contains(problem), "{text}: {refusal}");
    }
}

#[test]
fn from_domains_belong_to_email_with_any_provider() {
    let of = |given: &str| {
        let text = format!("[email]\nurl = \"http://h/mail\"\nfrom_domains = {given}");
        let read = channels(&text);
        read.providers().unwrap();
        read.from_domains().map_err(|refusal| refusal.to_string())
    };
    let both = ["example.test", "xn--bcher-kva.test"].map(str::to_owned).to_vec();
    assert_eq!(of("[\"Example.test\", \"bücher.test\"]"), Ok(both.clone()));
    assert_eq!(of("\"example.test, bücher.test,\""), Ok(both));
    assert_eq!(of("[]"), Ok(Vec::new()));
    for (given, problem) in [
        ("[\"a b\"]", "`a b` is not a domain"),
        ("\"@example.test\"", "`@example.test` is not a domain"),
        ("[1]", "must be a list of domains"),
        ("true", "must be a list of domains"),
    ] {
        let refusal = of(given).unwrap_err();
        assert!(refusal.contains("channels.email.from_domains"), "{refusal}");
        assert!(refusal.contains(problem), "{refusal}");
    }
    assert!(refusal("[sms]\nurl = \"http://h\"\nfrom_domains = []").contains("unknown field"));
}
