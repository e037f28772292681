//! What the tables of channels are read as, and refused with.

use secrecy::ExposeSecret as _;

use super::*;

fn channels(text: &str) -> Channels {
    toml::from_str(text).unwrap()
}

fn refusal(text: &str) -> String {
    channels(text).carriers().unwrap_err().to_string()
}

#[test]
fn a_channel_is_read_as_what_its_provider_wants() {
    let read = channels(
        "[email]\nurl = \"smtps://u:p@mail.example.test\"\nconnections = \"8\"\n\
         [email.dkim]\ndomain = \"example.test\"\nselector = \"s1\"\nkey_file = \"k.pem\"\n\
         [sms]\nprovider = \"http\"\nurl = \"http://h/sms\"\nheaders = { Authorization = \"x\" }",
    );
    assert!(read.set().contains(Channel::Email) && read.set().contains(Channel::Sms));
    assert!(!read.set().contains(Channel::Push));
    let carriers = read.carriers().unwrap();
    let [(Channel::Email, Carrier::Smtp(smtp)), (Channel::Sms, Carrier::Http(http))] =
        &carriers[..]
    else {
        panic!("{carriers:?}")
    };
    assert_eq!((smtp.connections, smtp.timeout_seconds), (8, 30));
    assert_eq!(smtp.dkim.as_ref().unwrap().selector, "s1");
    assert_eq!(http.headers["Authorization"].expose_secret(), "x");
    assert!(!format!("{read:?}{carriers:?}").contains("u:p@"), "no secrets are shown");
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
