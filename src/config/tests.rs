//! Precedence of sources, and refusals with their texts.

use secrecy::ExposeSecret as _;

use super::*;

/// Accepts every channel: the providers' crate tests their settings.
struct AnyChannel;

impl ProviderSettings for AnyChannel {
    fn check_channel(&self, _: kernel::Channel, _: toml::Table) -> Result<(), String> {
        Ok(())
    }

    fn check_callbacks(&self, _: &Callbacks) -> Result<(), Error> {
        Ok(())
    }
}

fn environment(variables: &[(&str, &str)], file: Option<&str>) -> (Environment, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    if let Some(text) = file {
        std::fs::write(folder.path().join("millrace.toml"), text).unwrap();
    }
    let variables =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    (Environment { variables, folder: folder.path().to_owned() }, folder)
}

fn flags(values: &[(&'static str, &'static str, &str)]) -> Flags {
    let values = values.iter().map(|(flag, key, value)| (*flag, *key, (*value).to_owned()));
    Flags { config: None, values: values.collect() }
}

fn load(flags: &Flags, variables: &[(&str, &str)], file: Option<&str>) -> Result<Settings, String> {
    let (environment, _folder) = environment(variables, file);
    Settings::from_sources(flags, &environment, &AnyChannel).map_err(|error| error.to_string())
}

#[test]
fn a_ratio_may_have_a_fraction_in_every_source() {
    let name = "MILLRACE_TELEMETRY__TRACES_RATIO";
    for (variable, file, expected) in [
        (None, None, 0.01),
        (Some("0.5"), None, 0.5),
        (Some("1"), None, 1.0),
        (Some("0.25"), Some("[telemetry]\ntraces_ratio = 1"), 0.25),
        (None, Some("[telemetry]\ntraces_ratio = 0"), 0.0),
    ] {
        let variables: Vec<_> = variable.map(|value| (name, value)).into_iter().collect();
        let ratio = load(&Flags::default(), &variables, file).unwrap().telemetry.traces_ratio;
        assert!((ratio - expected).abs() < 1e-12, "{variable:?} {file:?}: {ratio}");
    }
    for wrong in ["many", "1.5", "-0.1", "NaN"] {
        let refused = load(&Flags::default(), &[(name, wrong)], None).unwrap_err();
        assert!(refused.contains("traces_ratio") || refused.contains(name), "{refused}");
    }
}

#[test]
fn defaults_are_those_of_the_contract() {
    let settings = load(&Flags::default(), &[], None).unwrap();
    assert_eq!(settings.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(settings.admin_listen.to_string(), "127.0.0.1:9090");
    assert_eq!(settings.data_dir, std::env::current_dir().unwrap().join("data"));
    assert_eq!(settings.public_url().as_str(), "http://127.0.0.1:8080/");
    assert_eq!(settings.roles, [Role::Api, Role::Delivery]);
    assert!(settings.database_url.is_none() && settings.clickhouse_url.is_none());
    assert_eq!(settings.spool.durability, Durability::Fsync);
    assert!(settings.notices.is_empty());
    assert_eq!(settings.rate_limits.test_sends.per_minute, 20);
    let management = settings.rate_limits.management;
    assert_eq!((management.per_second, management.burst), (1_000, 2_000));
    let http = &settings.http;
    assert_eq!((http.connections_max, http.peer_connections_max), (10_000, 1_000));
    assert_eq!((http.body_rate_bytes, http.body_grace_seconds), (1_024, 2));
    assert_eq!(http.verified_body_bytes(), 96 << 20);
    // A request of `POST /users` may have 64 MiB, and must fit into a workspace's share.
    assert!(http.workspace_body_bytes() > web::http::USERS_BODY_BYTES_MAX);
    assert_eq!(settings.limits.message_engagements_per_minute, 20);
    let (peer, key) = (settings.rate_limits.sdk_peer, settings.rate_limits.sdk_key);
    assert_eq!((peer.per_second, peer.burst, key.per_second), (200, 1_000, 5_000));
    let work = settings.rate_limits.sdk_profile_work;
    assert_eq!((work.per_second, work.burst), (2_000, 50_000));
    let failed = settings.rate_limits.failed_lookups;
    assert_eq!((failed.per_second, failed.burst), (20, 100));
    assert_eq!(settings.sdk.identity, kernel::Identity::Required);
    assert!(settings.sdk.trusted_events.is_empty());
    let auth = &settings.auth;
    assert_eq!((auth.unconfirmed_seconds, auth.unconfirmed_tracking_seconds), (300, 3_600));
}

#[test]
fn required_fields_of_a_section_may_come_from_several_flags() {
    let max = ("--set", "delivery.caps.push.max", "3");
    let hours = ("--set", "delivery.caps.push.hours", "24");
    for order in [[max, hours], [hours, max]] {
        assert!(load(&flags(&order), &[], None).is_ok(), "{order:?}");
    }
    let refusal = load(&flags(&[max]), &[], None).unwrap_err();
    assert!(refusal.contains("--set") && refusal.contains("hours"), "{refusal}");
}

#[test]
fn a_flag_beats_a_variable_which_beats_the_file_which_beats_the_default() {
    let flag = [("--listen", "listen", "127.0.0.1:4")];
    let variable = [("MILLRACE_LISTEN", "127.0.0.1:3")];
    let file = "listen = \"127.0.0.1:2\"";
    let port = |flags: &[_], variables: &[_], file| {
        load(&self::flags(flags), variables, file).unwrap().listen.port()
    };
    assert_eq!(port(&[], &[], None), 8080);
    assert_eq!(port(&[], &[], Some(file)), 2);
    assert_eq!(port(&[], &variable, Some(file)), 3);
    assert_eq!(port(&flag, &variable, Some(file)), 4);
    assert_eq!(port(&flag, &[], Some(file)), 4);
}

#[test]
fn sections_are_merged_key_by_key() {
    let settings = load(
        &Flags::default(),
        &[("MILLRACE_SPOOL__DURABILITY", "os")],
        Some("[spool]\nlimit_bytes = 1_000_000_000"),
    )
    .unwrap();
    assert_eq!(settings.spool.limit_bytes, 1_000_000_000);
    assert_eq!(settings.spool.durability, Durability::Os);
    assert_eq!(settings.spool.segment_bytes, 67_108_864);
}

#[test]
fn variables_are_converted_to_the_type_of_their_setting() {
    let settings = load(
        &Flags::default(),
        &[
            ("MILLRACE_SPOOL__LIMIT_BYTES", "900000000"),
            ("MILLRACE_ROLES", "api, delivery"),
            ("MILLRACE_RATE_LIMITS__MANAGEMENT__PER_SECOND", "7"),
            ("MILLRACE_SECURITY__ALLOW_PRIVATE_WEBHOOK_TARGETS", "true"),
            ("DATABASE_URL", "postgres://u:p@h/d"),
            ("CLICKHOUSE_URL", ""),
            ("MILLRACE_LIBCHDB", "/opt/libchdb.so"),
            ("MILLRACE_POSTGRES_BIN", "/opt/bin"),
            ("MILLRACE_PUBLIC_URL", "https://example.test/base"),
            ("MILLRACE_HTTP__TRUSTED_PROXIES", "10.0.0.0/8, ::1"),
        ],
        None,
    )
    .unwrap();
    assert_eq!(settings.http.trusted_proxies, ["10.0.0.0/8", "::1"].map(|p| p.parse().unwrap()));
    assert_eq!(settings.spool.limit_bytes, 900_000_000);
    assert_eq!(settings.roles, [Role::Api, Role::Delivery]);
    assert!(settings.security.allow_private_webhook_targets);
    assert_eq!(settings.database_url.unwrap().expose_secret(), "postgres://u:p@h/d");
    assert_eq!(settings.rate_limits.management.per_second, 7);
    assert!(settings.clickhouse_url.is_none(), "an empty variable is an unset one");
    assert_eq!(settings.engines.libchdb.unwrap(), Path::new("/opt/libchdb.so"));
    assert_eq!(settings.engines.postgres_bin.unwrap(), Path::new("/opt/bin"));
    assert_eq!(settings.public_url.unwrap().as_str(), "https://example.test/base");
}

/// Variables, the file, and the text of the refusal.
type Refusal =
    (&'static [(&'static str, &'static str)], Option<&'static str>, &'static [&'static str]);

#[test]
fn refusals_name_the_source_and_the_key() {
    let none = Flags::default();
    let cases: [Refusal; 28] = [
        (
            &[("MILLRACE_CLICKHOUSE__CLUSTER", "main")],
            None,
            &["clickhouse.cluster", "clickhouse_url"],
        ),
        (
            &[("CLICKHOUSE_URL", "http://h:8123/db")],
            Some("[clickhouse]\ncluster = \"main\"\nshards = 2"),
            &["clickhouse.shards", "must be 1"],
        ),
        (&[], Some("lisen = 1"), &["millrace.toml", "unknown field `lisen`"]),
        (&[], Some("[spool]\nlimit = 1"), &["millrace.toml", "unknown field `limit`", "`spool`"]),
        (&[], Some("[smtp]\nurl = 1"), &["millrace.toml", "unknown field `smtp`"]),
        (&[], Some("listen = 5"), &["millrace.toml", "`listen`"]),
        (&[], Some("listen = \n"), &["millrace.toml:1"]),
        (&[], Some("[channels.fax]\nurl = \"x\""), &["unknown field `fax`", "`channels`"]),
        (&[("MILLRACE_LISTEN", "nowhere")], None, &["MILLRACE_LISTEN", "socket address"]),
        (&[("MILLRACE_SPOOL__LIMIT", "1")], None, &["MILLRACE_SPOOL__LIMIT", "unknown field"]),
        (&[("MILLRACE_SPOOL__LIMIT_BYTES", "much")], None, &["MILLRACE_SPOOL__LIMIT_BYTES"]),
        (&[("MILLRACE_SPOOL__LIMIT_BYTES", "1")], None, &["spool.limit_bytes", "four segments"]),
        (&[("MILLRACE_HTTP__PUBLIC_BODY_BYTES", "134217728")], None, &["http.public_body_bytes"]),
        (&[("MILLRACE_HTTP__PEER_BODY_BYTES", "33554433")], None, &["http.peer_body_bytes"]),
        (&[("MILLRACE_HTTP__WORKSPACE_BODY_PERCENT", "101")], None, &["workspace_body_percent"]),
        (&[("MILLRACE_HTTP__WORKSPACE_BODY_PERCENT", "0")], None, &["between 1 and 100"]),
        (&[("MILLRACE_HTTP__PEER_CONNECTIONS_MAX", "0")], None, &["http.peer_connections_max"]),
        (
            &[("MILLRACE_LIMITS__MESSAGE_ENGAGEMENTS_PER_MINUTE", "0")],
            None,
            &["limits.message_engagements_per_minute", "at least 1"],
        ),
        (&[("MILLRACE_ROLES", ",")], None, &["roles", "at least one"]),
        (&[("MILLRACE_SECURITY__MASTER_KEY", "short")], None, &["security.master_key", "32"]),
        (&[("MILLRACE_AUTH__SESSION_SECRET", "short")], None, &["auth.session_secret", "32"]),
        (&[("MILLRACE_SDK__IDENTITY", "maybe")], None, &["MILLRACE_SDK__IDENTITY", "required"]),
        (&[], Some("[sdk]\nsecret = \"x\""), &["unknown field `secret`", "`sdk`"]),
        (&[], Some("[sdk]\ntrusted_events = [\"\"]"), &["sdk.trusted_events", "255"]),
        (&[], Some("[sdk]\ntrusted_events = 5"), &["trusted_events"]),
        (
            &[("MILLRACE_AUTH__UNCONFIRMED_SECONDS", "0")],
            None,
            &["auth.unconfirmed_seconds", "at least 1"],
        ),
        (
            &[("MILLRACE_AUTH__UNCONFIRMED_TRACKING_SECONDS", "299")],
            None,
            &["auth.unconfirmed_tracking_seconds", "at least"],
        ),
        (
            &[("MILLRACE_AUTH__UNCONFIRMED_TRACKING_SECONDS", "604801")],
            None,
            &["auth.unconfirmed_tracking_seconds", "604800"],
        ),
    ];
    for (variables, file, expected) in cases {
        let refusal = load(&none, variables, file).unwrap_err();
        for part in expected {
            assert!(refusal.contains(part), "{refusal:?} should contain {part:?}");
        }
        assert_eq!(refusal.lines().count(), 1, "{refusal:?} should be one line");
    }
}

#[test]
fn a_file_that_was_named_must_exist() {
    let refusal = load(&Flags::default(), &[("MILLRACE_CONFIG", "absent.toml")], None).unwrap_err();
    assert!(refusal.contains("absent.toml"), "{refusal}");
}

#[test]
fn an_unknown_variable_with_the_prefix_is_ignored_with_a_warning() {
    let settings = load(&Flags::default(), &[("MILLRACE_API_KEY", "x")], None).unwrap();
    assert_eq!(settings.notices.len(), 1);
    assert!(settings.notices[0].contains("MILLRACE_API_KEY"), "{:?}", settings.notices);
}

#[test]
fn channels_are_set_by_the_file_and_by_variables() {
    let settings = load(
        &Flags::default(),
        &[
            ("MILLRACE_ROLES", "delivery"),
            ("MILLRACE_CHANNELS__EMAIL__FROM", "Shop <hello@example.test>"),
            ("MILLRACE_CHANNELS__EMAIL__URL", "smtp://user:secret@127.0.0.1:1025"),
            ("MILLRACE_CHANNELS__EMAIL__CONNECTIONS", "3"),
            ("MILLRACE_CHANNELS__EMAIL__HEADERS__X_MAILER", "m"),
        ],
        Some("[channels.sms]\nprovider = \"http\"\nurl = \"http://h/sms\"\nheaders = { Authorization = \"Bearer secret\" }"),
    )
    .unwrap();
    assert_eq!(settings.roles, [Role::Delivery]);
    let tables = settings.channels.read(|_, table| Ok(table)).unwrap();
    let [(_, email), (_, sms)] = &tables[..] else { panic!("{tables:?}") };
    assert_eq!(email["url"].as_str(), Some("smtp://user:secret@127.0.0.1:1025"));
    assert_eq!(email["from"].as_str(), Some("Shop <hello@example.test>"));
    assert_eq!(email["connections"].as_str(), Some("3"), "its provider knows its type");
    assert_eq!(sms["headers"]["Authorization"].as_str(), Some("Bearer secret"));
    assert!(settings.notices.is_empty());
    let shown = format!("{settings:?}");
    assert!(!shown.contains("secret@") && !shown.contains("Bearer"), "settings print no secrets");
    let refusal = settings.channels.read(|_, _| Err::<(), _>("missing\nfield".to_owned()));
    assert_eq!(refusal.unwrap_err().to_string(), "channels.email: missing field");
}

#[test]
fn credentials_of_callbacks_may_come_from_several_variables() {
    #[derive(Debug, Deserialize)]
    struct Credentials {
        username: String,
        password: SecretString,
    }

    let (name, word) = (
        ("MILLRACE_CALLBACKS__INFOBIP__USERNAME", "in"),
        ("MILLRACE_CALLBACKS__INFOBIP__PASSWORD", "p"),
    );
    let read = |given: &[(&str, &str)]| {
        let callbacks = load(&Flags::default(), given, None).unwrap().callbacks;
        assert!(callbacks.has("infobip") && !format!("{callbacks:?}").contains("\"p\""));
        callbacks.credentials::<Credentials>("infobip")
    };
    let both = read(&[name, word]).unwrap().unwrap();
    assert_eq!((both.username.as_str(), both.password.expose_secret()), ("in", "p"));
    for (given, missing) in [(name, "password"), (word, "username")] {
        let refusal = read(&[given]).unwrap_err().to_string();
        assert_eq!(refusal, format!("callbacks.infobip: missing field `{missing}`"));
    }
}

#[test]
fn invalid_settings_of_callbacks_are_refused_by_name() {
    let limit =
        |text| load(&Flags::default(), &[("MILLRACE_CALLBACKS__SOFT_BOUNCE_LIMIT", text)], None);
    assert_eq!(limit("5").unwrap().callbacks.soft_bounce_limit, 5);
    for (given, named) in [
        ("soft_bounce_limit = \"x\"", "`soft_bounce_limit`: "),
        ("generic = { secrets = \"x\" }", "`generic`: unknown field `secrets`"),
        ("generic = {}", "`generic`: missing field `secret`"),
    ] {
        let refusal =
            load(&Flags::default(), &[], Some(&format!("[callbacks]\n{given}"))).unwrap_err();
        assert!(refusal.contains(named), "{refusal}");
    }
    assert!(limit("many").unwrap_err().contains("soft_bounce_limit"));
}
