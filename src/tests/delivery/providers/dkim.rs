//! DKIM signatures, verified by RFC 6376 on the mail as it arrived.

use std::path::Path;

use aws_lc_rs::signature::{ED25519, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use campaigns::model::message::MessageChannel;
use providers::model::{Content, Outcome};
use sha2::{Digest as _, Sha256};

use super::{email, provider_of, send};
use crate::kit::MailServer;

/// The public halves of the keys beside this file, as DNS would hold them.
const RSA: &str = "MIIBCgKCAQEApbuWqazWnJEHmc/sJ3IGj47nmzOLi+1oDKPT27mBNGyWDWQrfDDnxZ1sxu5xGWKEtvB5\
    DZeTBQXBjW97Yh9rXD366Zaq3VtQV42oYaemwUbrdgUJxSilDmDYyVG72z8WoX3Fai27d8vLyURCySEJ\
    G/eEFHyHQDgQSgWAFvr6gYRljUvy1jxpS70bl6YK+oxFLkwBdMDSEG+eqBZXUrEMa0nR/PLFz4dK44tf\
    Kzjf1thzbZUQ9BN0z9dYbKGWbxYULykFEWZ8q9dXuaaGFqOf5HqpGO6hDgr/P9a9VOprZ4uBFANML+OJ\
    AFGfQ37mSIchJzMPgTSZ5ErP6tea1kOOxwIDAQAB";
const ED25519_KEY: &str = "VgoFV4A873eAvq/JqYHVpFMFFtxMKgIMbjy+ybxddYc=";

/// Every run of white space as one space, none at the end.
fn collapse_spaces(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        let is_space = matches!(letter, ' ' | '\t');
        if !(is_space && out.ends_with(' ')) {
            out.push(if is_space { ' ' } else { letter });
        }
    }
    out.trim_end_matches(' ').to_owned()
}

/// A field in its relaxed form.
fn relaxed(name: &str, value: &str) -> String {
    let value = value.replace("\r\n", "");
    format!("{}:{}", name.trim().to_lowercase(), collapse_spaces(&value).trim_start())
}

/// The tags of a signature by name.
fn tag<'a>(signature: &'a str, name: &str) -> &'a str {
    let tags = signature.split(';').filter_map(|tag| tag.split_once('='));
    tags.into_iter().find(|(found, _)| found.trim() == name).unwrap().1
}

fn bare(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_whitespace()).collect()
}

/// Verifies the signature of a mail as it arrived.
fn is_signed(mail: &str) -> bool {
    let (head, body) = mail.split_once("\r\n\r\n").unwrap();
    let mut fields: Vec<(String, String)> = Vec::new();
    for line in head.split_inclusive("\r\n") {
        match line.split_once(':').filter(|_| !line.starts_with([' ', '\t'])) {
            Some((name, value)) => fields.push((name.to_owned(), value.to_owned())),
            None => fields.last_mut().unwrap().1.push_str(line),
        }
    }
    let (signature_name, signature) = fields.remove(0);
    assert_eq!(signature_name, "DKIM-Signature", "signatures precede the mail");
    let lines: Vec<String> = body.split("\r\n").map(collapse_spaces).collect();
    let body = format!("{}\r\n", lines.join("\r\n").trim_end_matches("\r\n"));
    if bare(tag(&signature, "bh")) != STANDARD.encode(Sha256::digest(&body)) {
        return false;
    }
    let mut signed = String::new();
    for name in bare(tag(&signature, "h")).split(':') {
        let found = fields.iter().rposition(|(field, _)| field.eq_ignore_ascii_case(name));
        if let Some((field, value)) = found.map(|at| fields.remove(at)) {
            signed.push_str(&relaxed(&field, &value));
            signed.push_str("\r\n");
        }
    }
    let (before, b) = signature.rsplit_once("b=").unwrap();
    signed.push_str(&relaxed(&signature_name, &format!("{before}b=")));
    let b = STANDARD.decode(bare(b)).unwrap();
    let verify = |algorithm: &'static dyn aws_lc_rs::signature::VerificationAlgorithm,
                  key: &str,
                  text: &[u8]| {
        let key = STANDARD.decode(key).unwrap();
        UnparsedPublicKey::new(algorithm, key).verify(text, &b).is_ok()
    };
    match tag(&signature, "a") {
        "rsa-sha256" => verify(&RSA_PKCS1_2048_8192_SHA256, RSA, signed.as_bytes()),
        "ed25519-sha256" => verify(&ED25519, ED25519_KEY, &Sha256::digest(&signed)),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn dkim_signatures_verify_and_break_when_the_mail_is_changed() {
    let server = MailServer::start().await;
    let url = format!("smtp://{}", server.address);
    for key in ["dkim-rsa.pem", "dkim-ed25519.pem"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/delivery/providers");
        let file = folder.join(key).display().to_string();
        let variables = [
            ("MILLRACE_CHANNELS__EMAIL__URL", url.as_str()),
            ("MILLRACE_CHANNELS__EMAIL__FROM", "Größe <hello@mail.example.test>"),
            ("MILLRACE_CHANNELS__EMAIL__DKIM__DOMAIN", "example.test"),
            ("MILLRACE_CHANNELS__EMAIL__DKIM__SELECTOR", "s1"),
            ("MILLRACE_CHANNELS__EMAIL__DKIM__KEY_FILE", &file),
        ];
        let provider = provider_of(&variables, MessageChannel::Email);
        let mut message = email("ann@example.org");
        if let Content::Email(email) = &mut message.content {
            let unsubscribe = format!("<https://example.test/u/{}>", "x".repeat(300));
            email.subject =
                "Ein  Betreff, der   so lang ist, dass er gefaltet wird: ä ö ü ".repeat(5);
            email.headers = vec![
                ("List-Unsubscribe".to_owned(), unsubscribe),
                ("List-Unsubscribe-Post".to_owned(), "List-Unsubscribe=One-Click".to_owned()),
            ];
            email.html = Some("<p>Some  text \t with spaces  \r\n\r\n\r\n</p>\r\n\r\n".to_owned());
        }
        let outcome = send(&*provider, message).await;
        assert!(matches!(outcome, Outcome::Accepted { .. }), "{outcome:?}");
    }
    let taken = server.taken();
    assert_eq!(taken.len(), 2);
    for (taken, algorithm) in taken.iter().zip(["rsa-sha256", "ed25519-sha256"]) {
        let mail = &taken.mail;
        assert!(
            mail.contains(&format!("a={algorithm}; c=relaxed/relaxed; d=example.test; s=s1;")),
            "{mail}"
        );
        assert!(is_signed(mail), "{mail}");
        let one_click = ["list-unsubscribe:", "list-unsubscribe-post:"];
        let covered = bare(mail.split_once("bh=").unwrap().0);
        assert!(one_click.iter().all(|name| covered.contains(name)), "RFC 8058 4: {covered}");
        for (from, to) in [
            ("One-Click", "One-Clack"),
            ("example.test/u/x", "example.test/u/y"),
            ("text", "test"),
            ("From: ", "From: eve@example.org\r\nFrom: "),
        ] {
            assert!(mail.contains(from), "{from}");
            assert!(!is_signed(&mail.replacen(from, to, 1)), "{from}");
        }
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{algorithm}.eml"));
        // For verifiers that are not ours.
        std::fs::write(file, mail).unwrap();
    }
}

#[tokio::test]
async fn mail_from_a_verified_sender_domain_is_also_signed_for_that_domain() {
    let server = MailServer::start().await;
    let url = format!("smtp://{}", server.address);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/delivery/providers");
    let file = folder.join("dkim-ed25519.pem").display().to_string();
    let variables = [
        ("MILLRACE_CHANNELS__EMAIL__URL", url.as_str()),
        ("MILLRACE_CHANNELS__EMAIL__DKIM__DOMAIN", "example.test"),
        ("MILLRACE_CHANNELS__EMAIL__DKIM__SELECTOR", "s1"),
        ("MILLRACE_CHANNELS__EMAIL__DKIM__KEY_FILE", &file),
    ];
    let provider = provider_of(&variables, MessageChannel::Email);
    for own in ["acme.test", "mail.example.test"] {
        let mut message = email("ann@example.org");
        if let Content::Email(email) = &mut message.content {
            email.from = Some(format!("hello@{own}"));
            email.signing_domain = Some(own.to_owned());
        }
        let outcome = send(&*provider, message).await;
        assert!(matches!(outcome, Outcome::Accepted { .. }), "{outcome:?}");
    }
    let taken = server.taken();
    let mail = &taken[0].mail;
    assert!(is_signed(mail), "{mail}");
    let begin = "DKIM-Signature: v=1; a=ed25519-sha256; c=relaxed/relaxed; d=acme.test;";
    let (first, _) = mail.split_once(begin).unwrap();
    assert!(first.contains("d=example.test;"), "{first}");
    let second = mail.strip_prefix(first).unwrap();
    assert!(is_signed(second), "{second}");
    assert_eq!(taken[1].mail.matches("DKIM-Signature:").count(), 1, "the first speaks for it");
}
