//! Valid and invalid session tokens.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_772_366_400_000);
const NOW_S: i64 = 1_772_366_400;

fn sessions() -> Sessions {
    Sessions::from_secret(&SecretString::from("0123456789abcdef0123456789abcdef")).unwrap()
}

fn workspace() -> WorkspaceId {
    WorkspaceId::new(Uuid::from_u128(7))
}

fn new_session() -> NewSession {
    NewSession {
        workspace: workspace(),
        actor: "ann@example.test".to_owned(),
        scopes: "compliance:*".parse().unwrap(),
        ttl: Duration::from_hours(1),
    }
}

fn claims() -> Value {
    json!({"sub": "ann", "aud": "millrace", "workspaceId": workspace(), "scopes": ["compliance:read"], "exp": NOW_S + 60})
}

fn signed(header: &Header, claims: &Value) -> SecretString {
    SecretString::from(jsonwebtoken::encode(header, claims, &sessions().sign).unwrap())
}

fn verdict(claims: &Value) -> Result<Session> {
    sessions().verify(&signed(&Header::new(Algorithm::HS256), claims), NOW)
}

#[test]
fn a_created_token_is_accepted() {
    let token = sessions().create(NOW, new_session()).unwrap();
    assert!(Session::may_be(&token));
    let session = sessions().verify(&token, NOW).unwrap();
    assert_eq!(session.workspace, workspace());
    assert_eq!(session.actor, "ann@example.test");
    assert_eq!(session.scopes, "compliance:*".parse().unwrap());
}

#[test]
fn a_token_ends_with_its_time_and_thirty_seconds() {
    let token = sessions().create(NOW, new_session()).unwrap();
    let at = |seconds: i64| {
        sessions().verify(&token, Timestamp::from_millis(NOW.millis() + seconds * 1000))
    };
    assert!(at(3600 + 30).is_ok());
    assert_eq!(at(3600 + 31).unwrap_err().to_string(), "Session token expired");
    assert!(at(-30).is_ok());
    assert!(at(-31).is_err());
}

#[test]
fn every_required_claim_is_checked() {
    assert!(verdict(&claims()).is_ok());
    for missing in ["sub", "aud", "workspaceId", "scopes", "exp"] {
        let mut claims = claims();
        claims.as_object_mut().unwrap().remove(missing);
        assert!(verdict(&claims).is_err(), "without {missing}");
    }
    for (name, wrong) in [
        ("aud", json!("other")),
        ("workspaceId", json!("not a uuid")),
        ("exp", json!("soon")),
        ("exp", json!(NOW_S - 31)),
        ("nbf", json!(NOW_S + 31)),
        ("scopes", json!("*")),
    ] {
        let mut claims = claims();
        claims[name] = wrong;
        assert!(verdict(&claims).is_err(), "{name} {}", claims[name]);
    }
}

#[test]
fn a_token_lives_at_most_thirty_days_and_has_an_id() {
    const DAYS_30: i64 = 30 * 86_400;
    let one = sessions().verify(&sessions().create(NOW, new_session()).unwrap(), NOW).unwrap();
    let other = sessions().verify(&sessions().create(NOW, new_session()).unwrap(), NOW).unwrap();
    assert!(one.id.is_some() && one.id != other.id);
    assert_eq!(one.issued_at, Some(NOW));
    let longest = NewSession { ttl: TTL_MAX, ..new_session() };
    assert!(sessions().verify(&sessions().create(NOW, longest).unwrap(), NOW).is_ok());
    let with = |iat: Value, exp: i64| {
        let mut claims = claims();
        claims["iat"] = iat;
        claims["exp"] = json!(exp);
        verdict(&claims)
    };
    for (iat, exp, is_taken) in [
        (json!(null), NOW_S + DAYS_30 + 30, true),
        (json!(null), NOW_S + DAYS_30 + 31, false),
        (json!(NOW_S), NOW_S + DAYS_30, true),
        (json!(NOW_S - 100), NOW_S + DAYS_30 - 70, true),
        (json!(NOW_S - 100), NOW_S + DAYS_30 - 69, false),
        (json!(NOW_S + 30), NOW_S + 60, true),
        (json!(NOW_S + 31), NOW_S + 60, false),
        (json!(0.5), NOW_S + 60, false),
        (json!(1e300), NOW_S + 60, false),
        (json!("now"), NOW_S + 60, false),
        (json!(NOW_S), i64::MAX, false),
    ] {
        assert_eq!(with(iat.clone(), exp).is_ok(), is_taken, "{iat} {exp}");
    }
    for wrong in [json!(""), json!("x".repeat(256)), json!(7)] {
        let mut claims = claims();
        claims["jti"] = wrong;
        assert!(verdict(&claims).is_err(), "{}", claims["jti"]);
    }
}

#[test]
fn a_role_stands_for_scopes() {
    let with_role = |role: &str| {
        let mut claims = claims();
        claims.as_object_mut().unwrap().remove("scopes");
        claims["role"] = json!(role);
        verdict(&claims)
    };
    assert_eq!(with_role("admin").unwrap().scopes, ScopeSet::all());
    let viewer = with_role("viewer").unwrap().scopes;
    assert!(viewer.has(ScopeName::ComplianceRead) && !viewer.has(ScopeName::ComplianceWrite));
    let editor = with_role("editor").unwrap().scopes;
    assert!(editor.has(ScopeName::SettingsWrite) && !editor.has(ScopeName::CampaignsDelete));
    assert!(with_role("emperor").is_err());
}

#[test]
fn other_algorithms_keys_and_key_ids_are_refused() {
    let claims = claims();
    for algorithm in [Algorithm::HS384, Algorithm::HS512] {
        assert!(sessions().verify(&signed(&Header::new(algorithm), &claims), NOW).is_err());
    }
    let foreign = Header { kid: Some("other".to_owned()), ..Header::new(Algorithm::HS256) };
    assert!(sessions().verify(&signed(&foreign, &claims), NOW).is_err());
    let other = Sessions::from_secret(&SecretString::from("x".repeat(32))).unwrap();
    let token = other.create(NOW, new_session()).unwrap();
    assert!(sessions().verify(&token, NOW).is_err());
}

#[test]
fn an_unsigned_token_is_refused() {
    use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
    let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let header = part(&json!({"alg": "none", "typ": "JWT"}));
    for signature in ["", "AAAA"] {
        let token = SecretString::from(format!("{header}.{}.{signature}", part(&claims())));
        assert!(sessions().verify(&token, NOW).is_err());
    }
}

#[test]
fn a_changed_token_is_refused() {
    let token = sessions().create(NOW, new_session()).unwrap().expose_secret().to_owned();
    for at in (0..token.len()).step_by(7) {
        let mut bytes = token.clone().into_bytes();
        // The last character of a part may have unused bits, so the change is made large.
        bytes[at] = if bytes[at].is_ascii_uppercase() { b'0' } else { b'Q' };
        let changed = String::from_utf8(bytes).unwrap();
        assert!(sessions().verify(&SecretString::from(changed), NOW).is_err(), "at {at}");
    }
}

#[test]
fn invalid_sessions_are_not_created() {
    for new in [
        NewSession { scopes: ScopeSet::NONE, ..new_session() },
        NewSession { ttl: Duration::ZERO, ..new_session() },
        NewSession { ttl: TTL_MAX + Duration::from_secs(1), ..new_session() },
        NewSession { actor: String::new(), ..new_session() },
        NewSession { actor: "x".repeat(256), ..new_session() },
    ] {
        assert!(sessions().create(NOW, new).is_err());
    }
}

#[test]
fn the_secret_in_the_data_directory_is_made_once_and_private() {
    let directory = tempfile::tempdir().unwrap();
    let first = Sessions::from_data_dir(directory.path()).unwrap();
    let second = Sessions::from_data_dir(directory.path()).unwrap();
    let token = first.create(NOW, new_session()).unwrap();
    assert!(second.verify(&token, NOW).is_ok());
    let path = directory.path().join("session.key");
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    assert!(matches!(Sessions::from_data_dir(directory.path()), Err(SecretFault::Exposed(_))));
}

#[test]
fn a_short_secret_is_refused() {
    let refused = Sessions::from_secret(&SecretString::from("x".repeat(31)));
    assert!(matches!(refused, Err(SecretFault::TooShort)));
}
