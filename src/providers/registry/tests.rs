//! Reading and refusing the tables of channels.

use config::{Environment, Flags, ProviderSettings as _, Settings};

use super::*;

fn channels(text: &str) -> Channels {
    toml::from_str(text).unwrap()
}

fn refusal(text: &str) -> String {
    read_channels(&channels(text)).unwrap_err().to_string()
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
    let settings = read_channels(&read).unwrap();
    let [(Channel::Email, smtp), (Channel::Sms, http)] = &settings[..] else {
        panic!("{settings:?}")
    };
    assert_eq!((smtp.name, http.name), ("smtp", "http"));
    let (smtp, http) = (format!("{:?}", smtp.settings), format!("{:?}", http.settings));
    assert!(smtp.starts_with("SmtpSettings {"), "{smtp}");
    for part in ["connections: 8", "timeout_seconds: 20", "selector: \"s1\""] {
        assert!(smtp.contains(part), "{part}: {smtp}");
    }
    assert!(http.starts_with("GatewaySettings {") && http.contains("\"Authorization\""), "{http}");
    assert!(!format!("{read:?}{smtp}{http}").contains("u:p@"), "no secrets are shown");
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
    let settings = read_channels(&read).unwrap();
    for ((channel, ProviderSetup { settings, .. }), parts) in settings.iter().zip([
        &["TwilioSettings {"][..],
        &["WhatsappSettings {", "api_version: \"v23.0\"", "language: \"en\""],
        &["NativeSettings {", "fcm: None", "apns: Some", "web_push: None"],
        &["InfobipSettings {", "template_type: \"OTP_TEMPLATE\""],
    ]) {
        let shown = format!("{settings:?}");
        for part in parts {
            assert!(shown.contains(part), "{channel}: {part}: {shown}");
        }
        assert!(!shown.contains("hidden"), "no secrets are shown");
    }
    assert_eq!(settings.len(), 4);
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
        ("[sms]\nurl = \"http://h\"\nfrom_domains = []", "unknown field `from_domains`"),
    ] {
        let refusal = refusal(text);
        assert!(refusal.contains(problem), "{text}: {refusal}");
    }
}

#[test]
fn settings_are_refused_while_they_are_loaded() {
    let load = |text: &str| {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("millrace.toml"), text).unwrap();
        let environment =
            Environment { folder: folder.path().to_owned(), ..Environment::default() };
        Settings::from_sources(&Flags::default(), &environment, &Registry)
    };
    let refusal = load("[channels.email]\nfrom = \"a@b.test\"").unwrap_err().to_string();
    assert_eq!(refusal, "channels.email: missing field `provider`");
    load("[channels.email]\nurl = \"smtp://mail.example.test\"").unwrap();
}

#[test]
fn every_provider_has_a_name_and_paths_of_its_own() {
    let mut names: Vec<&str> = PROVIDERS.iter().map(|entry| entry.name).collect();
    let mut paths: Vec<&str> = callbacks().map(|(_, entry)| entry.path).collect();
    for all in [&mut names, &mut paths] {
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count, "{all:?}");
    }
    assert!(paths.iter().all(|path| path.starts_with("/callbacks/")), "{paths:?}");
}

#[test]
fn only_failures_of_the_channel_are_its_faults() {
    let codes: Vec<&str> = channel_fault_codes().collect();
    for code in ["401", "407", "535", "5.7.8", "auth", "20003", "190", "InvalidProviderToken"] {
        assert!(codes.contains(&code), "{code}");
    }
    for code in ["404", "429", "503", "5.1.1", "21610", "131050", "UNREGISTERED", "BadDeviceToken"]
    {
        assert!(!codes.contains(&code), "{code}");
    }
}

#[test]
fn unknown_and_invalid_credentials_of_callbacks_are_refused_by_name() {
    for (given, problem) in [
        ("resend = { secret = \"whsec_x\" }", None),
        ("twilio_auth_token = \"t\"", None),
        (
            "resent = { secret = \"x\" }",
            Some("callbacks: unknown key `resent`, expected one of soft_bounce_limit, generic, "),
        ),
        (
            "resend = { secrets = \"x\" }",
            Some("callbacks.resend: unknown field `secrets`, expected `secret`"),
        ),
        ("infobip = { username = \"u\" }", Some("callbacks.infobip: missing field `password`")),
    ] {
        let read: Callbacks = toml::from_str(given).unwrap();
        let refusal = Registry.check_callbacks(&read).err().map(|it| it.to_string());
        match (refusal, problem) {
            (None, None) => {}
            (Some(refusal), Some(problem)) => assert!(refusal.starts_with(problem), "{refusal}"),
            (refusal, _) => panic!("{given}: {refusal:?}"),
        }
    }
}
