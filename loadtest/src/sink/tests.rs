//! Sinks, spoken to as servers do.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use super::*;

fn talk(sink: &Sink, said: &str, until: &str) -> String {
    let mut stream = TcpStream::connect(sink.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    stream.write_all(said.as_bytes()).unwrap();
    let (mut heard, mut buffer) = (String::new(), [0; 1024]);
    while !heard.contains(until) {
        let read = stream.read(&mut buffer).unwrap();
        assert!(read > 0, "{heard}");
        heard.push_str(&String::from_utf8_lossy(&buffer[..read]));
    }
    heard
}

#[test]
fn mail_is_taken_and_told_apart_by_its_id() {
    let sink = Sink::listen(Protocol::Smtp, "127.0.0.1:0".parse().unwrap()).unwrap();
    let mail = |id: &str| {
        format!(
            "MAIL FROM:<a@b.test>\r\nRCPT TO:<c@d.test>\r\nDATA\r\nX-Message-ID: {id}\r\n\r\n..hi\r\n.\r\n"
        )
    };
    let said = format!("EHLO me\r\n{}{}{}QUIT\r\n", mail("one"), mail("two"), mail("one"));
    let heard = talk(&sink, &said, "221");
    assert_eq!(heard.matches("250 2.0.0 taken").count(), 3);
    let taken = sink.taken();
    assert_eq!((taken.messages(), taken.doubled()), (2, 1));
    assert!(taken.first <= taken.last && taken.bytes > 0);
}

#[test]
fn the_gateway_goes_by_the_idempotency_key() {
    let sink = Sink::listen(Protocol::Http, "127.0.0.1:0".parse().unwrap()).unwrap();
    let said = "POST /sms HTTP/1.1\r\nhost: x\r\nidempotency-key: k\r\ncontent-length: 2\r\n\r\n{}";
    let heard = talk(&sink, said, "{}");
    assert!(heard.starts_with("HTTP/1.1 200"), "{heard}");
    assert_eq!(sink.count(), 1);
}
