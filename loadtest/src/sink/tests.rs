//! Sinks, spoken to as servers do.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use super::*;

fn talk(sink: &Sink, request: &str, until: &str) -> String {
    let mut stream = TcpStream::connect(sink.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let (mut reply, mut buffer) = (String::new(), [0; 1024]);
    while !reply.contains(until) {
        let read = stream.read(&mut buffer).unwrap();
        assert!(read > 0, "{reply}");
        reply.push_str(&String::from_utf8_lossy(&buffer[..read]));
    }
    reply
}

#[test]
fn messages_are_counted_once_by_their_id() {
    let sink = Sink::listen(Protocol::Smtp, "127.0.0.1:0".parse().unwrap()).unwrap();
    let mail = |id: &str| {
        format!(
            "MAIL FROM:<a@b.test>\r\nRCPT TO:<c@d.test>\r\nDATA\r\nX-Message-ID: {id}\r\n\r\n..hi\r\n.\r\n"
        )
    };
    let request = format!("EHLO me\r\n{}{}{}QUIT\r\n", mail("one"), mail("two"), mail("one"));
    let reply = talk(&sink, &request, "221");
    assert_eq!(reply.matches("250 2.0.0 taken").count(), 3);
    let taken = sink.taken();
    assert_eq!((taken.messages(), taken.doubled()), (2, 1));
    assert!(taken.first <= taken.last && taken.bytes > 0);
}

#[test]
fn the_gateway_goes_by_the_idempotency_key() {
    let sink = Sink::listen(Protocol::Http, "127.0.0.1:0".parse().unwrap()).unwrap();
    let request =
        "POST /sms HTTP/1.1\r\nhost: x\r\nidempotency-key: k\r\ncontent-length: 2\r\n\r\n{}";
    let reply = talk(&sink, request, "{}");
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    assert_eq!(sink.count(), 1);
}
