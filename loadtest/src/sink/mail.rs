//! A mail server that takes everything: enough of RFC 5321 for a sender, with pipelining (RFC 2920).

use std::io;

use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
};

use super::Log;

/// The header that names the message.
const ID_HEADER: &str = "x-message-id:";

/// Talks until the peer is done.
pub(super) async fn talk(stream: TcpStream, log: &Log) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    stream.write_all(b"220 sink ESMTP\r\n").await?;
    let mut line = String::new();
    loop {
        line.clear();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(());
        }
        let verb = line.trim_end().split([' ', ':']).next().unwrap_or_default().to_uppercase();
        let answer: &[u8] = match verb.as_str() {
            "EHLO" => b"250-sink\r\n250-PIPELINING\r\n250-8BITMIME\r\n250 SMTPUTF8\r\n",
            "DATA" => {
                stream.write_all(b"354 go on\r\n").await?;
                let (id, bytes) = message(&mut stream).await?;
                log.take(id, bytes);
                b"250 2.0.0 taken\r\n"
            }
            "QUIT" => {
                stream.write_all(b"221 bye\r\n").await?;
                return Ok(());
            }
            "HELO" | "MAIL" | "RCPT" | "RSET" | "NOOP" => b"250 2.0.0 ok\r\n",
            _ => b"500 5.5.2 what?\r\n",
        };
        stream.write_all(answer).await?;
    }
}

/// Reads a message to its final dot: its id, and its bytes.
async fn message(stream: &mut BufReader<TcpStream>) -> io::Result<(String, usize)> {
    let (mut id, mut bytes, mut line) = (String::new(), 0, Vec::new());
    loop {
        line.clear();
        let read = stream.read_until(b'\n', &mut line).await?;
        if read == 0 || line == b".\r\n" {
            return Ok((id, bytes));
        }
        bytes += read;
        if id.is_empty()
            && line.len() > ID_HEADER.len()
            && line[..ID_HEADER.len()].eq_ignore_ascii_case(ID_HEADER.as_bytes())
        {
            id = String::from_utf8_lossy(&line[ID_HEADER.len()..]).trim().to_owned();
        }
    }
}
