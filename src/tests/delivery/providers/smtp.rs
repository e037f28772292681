//! Mail through a server that answers by the recipient's name.

use std::sync::Arc;

use campaigns::model::message::MessageChannel;
use providers::{
    Provider,
    model::{Content, Effect, Outcome, Outgoing, Reference},
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _};
use tokio_rustls::TlsAcceptor;

use super::{TIMEOUT_SECONDS, WORKSPACE, email, provider_of, send};
use crate::kit::MailServer;

const ACCEPTED: Outcome = Outcome::Accepted { provider_id: None, is_delivered: true };

fn provider_at(url: &str, more: &[(&str, &str)]) -> Arc<dyn Provider> {
    let mut variables = vec![
        ("MILLRACE_CHANNELS__EMAIL__URL", url),
        ("MILLRACE_CHANNELS__EMAIL__FROM", "Shop <hello@example.test>"),
        ("MILLRACE_CHANNELS__EMAIL__TIMEOUT_SECONDS", TIMEOUT_SECONDS),
    ];
    variables.extend(more);
    provider_of(&variables, MessageChannel::Email)
}

fn retry(code: &str, outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Retry { code: got, .. } if got == code)
}

#[tokio::test]
async fn each_smtp_reply_maps_to_an_outcome() {
    let server = MailServer::start().await;
    let provider = provider_at(&format!("smtp://{}", server.address), &[]);
    let to = |name: &str| send(&*provider, email(&format!("{name}@example.org")));
    assert_eq!(to("ann").await, ACCEPTED);
    assert!(retry("4.2.0", &to("later").await));
    let gone = to("unknown").await;
    let Outcome::Rejected { code, reason, effect } = &gone else { panic!("{gone:?}") };
    assert_eq!((code.as_str(), effect), ("5.1.1", &Some(Effect::HardBounce)));
    assert_eq!(reason, "5.1.1 No such user");
    for (name, expected) in [("full", "5.2.2"), ("spam", "5.7.1")] {
        let refused = to(name).await;
        let Outcome::Rejected { code, effect, .. } = &refused else { panic!("{refused:?}") };
        assert_eq!((code.as_str(), effect), (expected, &Some(Effect::SoftBounce)));
    }
    assert!(retry("connection", &to("hangup").await));
    assert!(retry("421", &to("busy").await));
    let mut large = email("cut@example.org");
    if let Content::Email(email) = &mut large.content {
        // More than the buffers of a connection hold, so that the end cannot have been written.
        email.text = Some("more of it\r\n".repeat(2 << 20));
    }
    let cut = send(&*provider, large).await;
    assert!(retry("connection", &cut), "{cut:?}");
    for name in ["vanish", "silent"] {
        let unknown = to(name).await;
        assert!(matches!(unknown, Outcome::Unknown { .. }), "{name}: {unknown:?}");
    }
    assert_eq!(to("bob").await, ACCEPTED, "a server that hung up is called again");
    let taken: Vec<_> = server.taken().into_iter().map(|mail| mail.to).collect();
    assert_eq!(taken, ["ann@example.org", "bob@example.org"], "no refused mail is given twice");
}

#[tokio::test]
async fn mail_arrives_with_the_rendered_subject_body_and_headers() {
    let server = MailServer::start().await;
    let bounces = ("MILLRACE_CHANNELS__EMAIL__BOUNCE_DOMAIN", "bounce.example.test");
    let provider = provider_at(&format!("smtp://{}", server.address), &[bounces]);
    let message = email("ann@example.org");
    let id = message.id;
    assert_eq!(send(&*provider, message).await, ACCEPTED);
    let [taken] = &server.taken()[..] else { panic!("one mail") };
    let reference = Reference::of_bounce_address(&taken.from).unwrap();
    assert_eq!(reference, Reference { workspace: WORKSPACE, message: id });
    assert!(taken.from.ends_with("@bounce.example.test"));
    for part in [
        "From: Shop <hello@example.test>\r\n".to_owned(),
        "To: ann@example.org\r\n".to_owned(),
        format!("Message-ID: <{reference}@example.test>\r\n"),
        format!("X-Message-Id: {reference}\r\n"),
        "Content-Type: text/html".to_owned(),
        "Hello\r\n.\r\n..dots\r\n".to_owned(),
        "<p>H=C3=A4llo</p>".to_owned(),
    ] {
        assert!(taken.mail.contains(&part), "{part}\n{}", taken.mail);
    }
    assert!(!taken.is_encrypted);
}

#[tokio::test]
async fn smtp_connections_are_reused_and_bounded() {
    let server = MailServer::start().await;
    let few = ("MILLRACE_CHANNELS__EMAIL__CONNECTIONS", "3");
    let provider = provider_at(&format!("smtp://{}", server.address), &[few]);
    assert_eq!(provider.batch_max(), 3);
    let batch: Vec<Outgoing> = (0..60)
        .map(|n| email(&format!("{}+{n}@example.org", if n % 5 == 0 { "unknown" } else { "ann" })))
        .collect();
    let sent = provider.send(&batch).await;
    let accepted = sent.iter().filter(|sent| sent.outcome == ACCEPTED).count();
    assert_eq!((sent.len(), accepted, server.taken().len()), (60, 48, 48));
    for (n, sent) in sent.iter().enumerate() {
        assert_eq!(
            sent.outcome == ACCEPTED,
            n % 5 != 0,
            "outcomes are in the order of the messages"
        );
    }
    assert_eq!(server.conversations(), 3, "a refused recipient does not end the conversation");
}

#[tokio::test]
async fn an_unreachable_mail_server_is_retried_later() {
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = closed.local_addr().unwrap();
    drop(closed);
    let outcome =
        send(&*provider_at(&format!("smtp://{address}"), &[]), email("ann@example.org")).await;
    assert!(retry("connection", &outcome), "{outcome:?}");
    // One that takes the connection and says nothing.
    let mute = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = mute.local_addr().unwrap();
    let outcome =
        send(&*provider_at(&format!("smtp://{address}"), &[]), email("ann@example.org")).await;
    assert!(retry("timeout", &outcome), "{outcome:?}");
}

/// A certificate of `localhost` and its key, and the file in which it is trusted.
fn certificate() -> (TlsAcceptor, tempfile::NamedTempFile) {
    let pem = include_str!("localhost.pem");
    let key = PrivateKeyDer::from_pem_slice(pem.as_bytes()).unwrap();
    let certificate = CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), pem).unwrap();
    (TlsAcceptor::from(Arc::new(tls)), file)
}

#[tokio::test]
async fn starttls_is_used_when_offered_and_enforced_when_required() {
    let (tls, authority) = certificate();
    let server = MailServer::with_tls(tls).await;
    let port = server.address.port();
    let trusting = [("MILLRACE_SECURITY__CA_FILE", authority.path().to_str().unwrap())];
    let outcome = |url: String, more: Vec<(&'static str, &str)>| {
        let provider = provider_at(&url, &more);
        async move {
            let outcome = send(&*provider, email("ann@example.org")).await;
            assert!(!format!("{outcome:?}").contains("wrong"), "no password is shown");
            outcome
        }
    };
    // Where it is only taken if offered, a certificate that proves nothing is no reason to stay in the open.
    assert_eq!(outcome(format!("smtp://localhost:{port}"), vec![]).await, ACCEPTED);
    let required = format!("smtp://localhost:{port}?tls=required");
    assert!(
        retry("tls", &outcome(required.clone(), vec![]).await),
        "the certificate has no trusted issuer"
    );
    assert_eq!(outcome(required, trusting.to_vec()).await, ACCEPTED);
    let named = format!("smtp://ann:right@localhost:{port}?tls=required");
    assert_eq!(outcome(named, trusting.to_vec()).await, ACCEPTED);
    let wrong = format!("smtp://ann:wrong@localhost:{port}?tls=required");
    assert!(retry("auth", &outcome(wrong, trusting.to_vec()).await));
    let taken = server.taken();
    assert!(taken.iter().all(|mail| mail.is_encrypted), "{taken:?}");
    assert_eq!(taken.len(), 3);
    assert_eq!(taken[2].login.as_deref(), Some("AUTH PLAIN AGFubgByaWdodA=="));
    let open = MailServer::start().await;
    let must = format!("smtp://localhost:{}?tls=required", open.address.port());
    assert!(retry("tls", &outcome(must, trusting.to_vec()).await), "it is not offered");
    assert!(open.taken().is_empty());
}
