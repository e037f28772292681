//! Verification of user tokens and public keys.

use jsonwebtoken::{EncodingKey, Header};
use kernel::WorkspaceId;
use proptest::prelude::*;
use serde_json::{Value, json};
use uuid::Uuid;

use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_795_219_200_000);
const NOW_S: i64 = 1_795_219_200;
const DAY_S: i64 = 86_400;
const SECRET: &str = "mrt_0123456789abcdef0123456789abcdef";

const P256: &str = include_str!("keys/p256.pem");
const P256_PRIVATE: &str = include_str!("keys/p256.private.pem");
const RSA: &str = include_str!("keys/rsa2048.pem");
const RSA_PRIVATE: &str = include_str!("keys/rsa2048.private.pem");

fn workspace() -> WorkspaceId {
    WorkspaceId::new(Uuid::from_u128(7))
}

fn public(pem: &str) -> PublicKey {
    PublicKey::read(workspace(), pem).unwrap()
}

fn keys() -> TokenKeys {
    let secrets = ["mrt_another", SECRET].map(SecretString::from);
    TokenKeys::new(&secrets, vec![public(P256), public(RSA)])
}

fn claims() -> Value {
    json!({"sub": "ann", "exp": NOW_S + 60})
}

fn signed(header: &Header, claims: &Value, key: &EncodingKey) -> String {
    jsonwebtoken::encode(header, claims, key).unwrap()
}

fn by_secret(claims: &Value) -> Result<String> {
    let key = EncodingKey::from_secret(SECRET.as_bytes());
    keys().verify(&signed(&Header::new(Algorithm::HS256), claims, &key), NOW)
}

fn refusal(verdict: Result<String>) -> String {
    verdict.unwrap_or_else(|fault| fault.to_string())
}

fn rsa() -> EncodingKey {
    EncodingKey::from_rsa_pem(RSA_PRIVATE.as_bytes()).unwrap()
}

fn p256() -> EncodingKey {
    EncodingKey::from_ec_pem(P256_PRIVATE.as_bytes()).unwrap()
}

#[test]
fn a_token_signed_by_any_key_yields_its_subject() {
    assert_eq!(by_secret(&claims()).unwrap(), "ann");
    for (algorithm, key) in [(Algorithm::ES256, p256()), (Algorithm::RS256, rsa())] {
        let token = signed(&Header::new(algorithm), &claims(), &key);
        assert_eq!(keys().verify(&token, NOW).unwrap(), "ann");
        assert_eq!(refusal(TokenKeys::default().verify(&token, NOW)), "user token is invalid");
    }
}

#[test]
fn each_key_verifies_its_own_algorithm_only() {
    // Algorithm confusion: a token chooses `alg` itself, and a public key must not serve as an HMAC secret.
    for pem in [RSA, RSA.trim(), P256, P256.trim()] {
        let key = EncodingKey::from_secret(pem.as_bytes());
        for algorithm in [Algorithm::HS256, Algorithm::HS384, Algorithm::HS512] {
            let token = signed(&Header::new(algorithm), &claims(), &key);
            assert!(keys().verify(&token, NOW).is_err(), "{algorithm:?}");
        }
    }
    for algorithm in [Algorithm::RS384, Algorithm::RS512, Algorithm::PS256] {
        let token = signed(&Header::new(algorithm), &claims(), &rsa());
        assert!(keys().verify(&token, NOW).is_err(), "{algorithm:?}");
    }
    for algorithm in [Algorithm::HS384, Algorithm::HS512] {
        let key = EncodingKey::from_secret(SECRET.as_bytes());
        assert!(keys().verify(&signed(&Header::new(algorithm), &claims(), &key), NOW).is_err());
    }
    let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    for algorithm in ["none", "None", "NONE", "hs256", ""] {
        let header = part(&json!({"alg": algorithm, "typ": "JWT"}));
        for signature in ["", "AAAA"] {
            let token = format!("{header}.{}.{signature}", part(&claims()));
            assert!(keys().verify(&token, NOW).is_err(), "{algorithm}");
        }
    }
}

#[test]
fn kid_selects_a_key_and_an_unknown_kid_is_ignored() {
    let with = |kid: &str| Header { kid: Some(kid.to_owned()), ..Header::new(Algorithm::ES256) };
    let verdict = |kid: &str| keys().verify(&signed(&with(kid), &claims(), &p256()), NOW);
    assert!(verdict(&public(P256).id).is_ok());
    assert!(verdict("the backend's own name of it").is_ok());
    assert!(verdict(&public(RSA).id).is_err(), "that key is for another algorithm");
}

#[test]
fn critical_extensions_are_refused() {
    let token = signed(&Header::new(Algorithm::HS256), &claims(), &EncodingKey::from_secret(b"x"));
    assert!(!has_critical_extensions(&token));
    let header = BASE64_URL_SAFE_NO_PAD.encode(r#"{"alg":"HS256","crit":["b64"],"b64":false}"#);
    assert!(has_critical_extensions(&format!("{header}.e30.AAAA")));
}

#[test]
fn tokens_expire_within_a_day() {
    let at = |exp: Value| {
        let mut claims = claims();
        claims["exp"] = exp;
        refusal(by_secret(&claims))
    };
    let (expired, long) = ("user token has expired", "user token must expire within 24 hours");
    for (exp, expected) in [
        (json!(NOW_S - 30), "ann"),
        (json!(NOW_S - 31), expired),
        (json!(1_795_219_200.5), "ann"),
        (json!(NOW_S + DAY_S + 30), "ann"),
        (json!(NOW_S + DAY_S + 31), long),
        (json!(i64::MAX), long),
        (json!(u64::MAX), long),
        (json!(1e308), long),
        (json!(-1), expired),
        (json!("soon"), "user token is invalid"),
        (json!(null), "user token is invalid"),
    ] {
        assert_eq!(at(exp.clone()), expected, "{exp}");
    }
    let mut early = claims();
    early["nbf"] = json!(NOW_S + 30);
    assert!(by_secret(&early).is_ok());
    early["nbf"] = json!(NOW_S + 31);
    assert!(by_secret(&early).is_err());
}

#[test]
fn required_claims_are_checked() {
    for missing in ["sub", "exp"] {
        let mut claims = claims();
        claims.as_object_mut().unwrap().remove(missing);
        assert_eq!(refusal(by_secret(&claims)), "user token is invalid", "without {missing}");
    }
    for (sub, is_taken) in [
        (json!("x".repeat(255)), true),
        (json!("ä".repeat(255)), true),
        (json!("x".repeat(256)), false),
        (json!(""), false),
        (json!("a\u{0}b"), false),
        (json!(7), false),
        (json!(["ann"]), false),
    ] {
        let mut claims = claims();
        claims["sub"] = sub;
        assert_eq!(by_secret(&claims).is_ok(), is_taken, "{}", claims["sub"]);
    }
    let mut for_others = claims();
    for_others["aud"] = json!("elsewhere");
    for_others["iss"] = json!("https://issuer.example");
    assert!(by_secret(&for_others).is_ok(), "the key says whose it is");
}

#[test]
fn a_changed_token_is_refused() {
    for (algorithm, key) in [
        (Algorithm::HS256, EncodingKey::from_secret(SECRET.as_bytes())),
        (Algorithm::ES256, p256()),
    ] {
        let token = signed(&Header::new(algorithm), &claims(), &key);
        for at in 0..token.len() {
            let mut bytes = token.clone().into_bytes();
            // The last character of a part may hold spare bits, so the change is made large.
            bytes[at] = if bytes[at].is_ascii_uppercase() { b'0' } else { b'Q' };
            let changed = String::from_utf8(bytes).unwrap();
            assert!(changed == token || keys().verify(&changed, NOW).is_err(), "at {at}");
        }
    }
    let key = EncodingKey::from_secret(SECRET.as_bytes());
    let mut claims = claims();
    claims["pad"] = json!("x".repeat(TOKEN_BYTES_MAX));
    assert!(keys().verify(&signed(&Header::new(Algorithm::HS256), &claims, &key), NOW).is_err());
}

#[test]
fn only_p256_and_rsa_public_keys_are_registered() {
    assert_eq!(public(P256).algorithm, KeyAlgorithm::Es256);
    assert_eq!(public(RSA).algorithm, KeyAlgorithm::Rs256);
    assert_eq!(public(RSA).id, public(&format!("\n{RSA}\n\n")).id, "the same key has the same id");
    let elsewhere = PublicKey::read(WorkspaceId::new(Uuid::from_u128(8)), RSA).unwrap();
    assert_ne!(public(RSA).id, elsewhere.id, "in another workspace it is another one");
    let refusal = |pem: &str| PublicKey::read(workspace(), pem).unwrap_err().to_string();
    for private in [P256_PRIVATE, RSA_PRIVATE] {
        assert!(refusal(private).starts_with("the key is a private key"), "{}", refusal(private));
    }
    for (pem, words) in [
        (include_str!("keys/rsa2047.pem"), "must have between 2048 and 8192 bits, not 2047"),
        (include_str!("keys/rsa2048.pkcs1.pem"), "must be a PUBLIC KEY, not a RSA PUBLIC KEY"),
        (include_str!("keys/p384.pem"), "must be of the curve P-256 (ES256) or RSA (RS256)"),
        ("", "must be one PEM block"),
        ("ssh-rsa AAAA", "must be one PEM block"),
        ("-----BEGIN PUBLIC KEY-----\n!!\n-----END PUBLIC KEY-----", "is not valid PEM"),
        (&format!("{RSA}{P256}"), "must be one PEM block"),
        (&"x".repeat(16_385), "must be at most 16384 bytes"),
    ] {
        assert!(refusal(pem).contains(words), "{} / {words}", refusal(pem));
    }
}

proptest! {
    #[test]
    fn malformed_tokens_are_refused_without_a_panic(text in "\\PC{0,80}", parts in "[A-Za-z0-9_-]{0,40}\\.[A-Za-z0-9_-]{0,40}\\.[A-Za-z0-9_-]{0,40}") {
        prop_assert!(keys().verify(&text, NOW).is_err());
        prop_assert!(keys().verify(&parts, NOW).is_err());
        prop_assert!(PublicKey::read(workspace(), &text).is_err());
    }
}
