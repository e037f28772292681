//! Reads lines and mails from a connection, bounded.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

use super::session::MAIL_BYTES_MAX;

/// Bytes of a command: RFC 5321 4.5.3.1.4 wants 512, extensions make it longer.
const LINE_BYTES_MAX: usize = 4096;
/// Bytes of a mail that are read. Reports stand before the message that they return, so the rest may be dropped.
const KEPT_BYTES_MAX: usize = 1 << 20;

/// A command that was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// The whole line, without its end.
    Whole(String),
    /// Longer than the limit; it was discarded.
    TooLong,
    /// The client closed the connection.
    End,
}

/// A mail that was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Mail {
    /// Its beginning, up to the limit of what is read.
    Whole(Vec<u8>),
    /// Larger than the limit.
    TooLarge,
    End,
}

pub(super) async fn line(reader: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Line> {
    let mut line = Vec::new();
    let mut is_long = false;
    loop {
        let Some((piece, ends)) = piece(reader).await? else { return Ok(Line::End) };
        is_long |= line.len() + piece.len() > LINE_BYTES_MAX;
        if !is_long {
            line.extend_from_slice(&piece);
        }
        if ends {
            let text = String::from_utf8_lossy(&line);
            let text = text.trim_end_matches(['\r', '\n']).to_owned();
            return Ok(if is_long { Line::TooLong } else { Line::Whole(text) });
        }
    }
}

/// Reads a mail up to its end: a dot alone between two CRLF. A bare line feed is part of the mail, so that a second
/// mail cannot be smuggled in the first.
pub(super) async fn mail(reader: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Mail> {
    let mut kept = Vec::new();
    let (mut seen, mut begins, mut before_was_cr) = (0_usize, true, false);
    let mut start: Vec<u8> = Vec::new();
    loop {
        let Some((piece, ends)) = piece(reader).await? else { return Ok(Mail::End) };
        if begins {
            // The beginning of a line may arrive in pieces; it decides whether the mail ends.
            start.extend_from_slice(&piece);
            if start.len() < 3 && !ends {
                continue;
            }
            if start == b".\r\n" {
                break;
            }
        }
        let line = if begins { std::mem::take(&mut start) } else { piece };
        let unstuffed =
            if begins && line.first() == Some(&b'.') { &line[1..] } else { line.as_slice() };
        seen = seen.saturating_add(unstuffed.len());
        let room = KEPT_BYTES_MAX.saturating_sub(kept.len()).min(unstuffed.len());
        kept.extend_from_slice(&unstuffed[..room]);
        let is_crlf = line.ends_with(b"\r\n") || (before_was_cr && line == b"\n");
        before_was_cr = line.last() == Some(&b'\r');
        begins = ends && is_crlf;
    }
    Ok(if seen > MAIL_BYTES_MAX { Mail::TooLarge } else { Mail::Whole(kept) })
}

/// Bytes up to and including the next line feed, or as many as have arrived; whether they end the line.
async fn piece(reader: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<(Vec<u8>, bool)>> {
    let there = reader.fill_buf().await?;
    if there.is_empty() {
        return Ok(None);
    }
    let end = there.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
    let piece = there[..end.unwrap_or(there.len())].to_vec();
    reader.consume(piece.len());
    Ok(Some((piece, end.is_some())))
}

#[cfg(test)]
mod tests {
    use tokio::io::BufReader;

    use super::*;

    /// A reader that has so many bytes at a time.
    fn reader(text: &[u8], capacity: usize) -> BufReader<&[u8]> {
        BufReader::with_capacity(capacity, text)
    }

    #[tokio::test]
    async fn a_mail_ends_where_the_standard_says_however_it_comes() {
        for capacity in [1, 2, 3, 5, 64] {
            for (sent, read, rest) in [
                (&b"a\r\n.\r\nQUIT\r\n"[..], &b"a\r\n"[..], "QUIT"),
                (b".\r\nQUIT\r\n", b"", "QUIT"),
                (b"..a\r\n.b\r\n...\r\n.\r\nQUIT\r\n", b".a\r\nb\r\n..\r\n", "QUIT"),
                (
                    b"a\n.\nb\n.\r\nc\r\n.\nd\r\n.\r\nQUIT\r\n",
                    b"a\n.\nb\n.\r\nc\r\n\nd\r\n",
                    "QUIT",
                ),
                (b"a\r\n\r\n.\r\nMAIL\r\n", b"a\r\n\r\n", "MAIL"),
            ] {
                let mut reader = reader(sent, capacity);
                let mail = mail(&mut reader).await.unwrap();
                assert_eq!(mail, Mail::Whole(read.to_vec()), "{capacity} {sent:?}");
                assert_eq!(line(&mut reader).await.unwrap(), Line::Whole(rest.to_owned()));
            }
        }
        assert_eq!(mail(&mut reader(b"a\r\n.", 8)).await.unwrap(), Mail::End);
    }

    #[tokio::test]
    async fn a_long_mail_is_cut_and_a_longer_one_refused() {
        let of = |bytes: usize| [vec![b'x'; bytes - 2], b"\r\n.\r\n".to_vec()].concat();
        let long = of(KEPT_BYTES_MAX + 9);
        let Mail::Whole(kept) = mail(&mut reader(&long, 4096)).await.unwrap() else { panic!() };
        assert_eq!(kept.len(), KEPT_BYTES_MAX);
        let (fits, large) = (of(MAIL_BYTES_MAX), of(MAIL_BYTES_MAX + 1));
        assert!(matches!(mail(&mut reader(&fits, 65_536)).await.unwrap(), Mail::Whole(_)));
        assert_eq!(mail(&mut reader(&large, 65_536)).await.unwrap(), Mail::TooLarge);
    }

    #[tokio::test]
    async fn a_long_command_is_thrown_away() {
        let text = [vec![b'x'; LINE_BYTES_MAX - 1], b"\nNOOP\n".to_vec()].concat();
        let mut fits = reader(&text, 100);
        assert!(matches!(line(&mut fits).await.unwrap(), Line::Whole(_)));
        let text = [vec![b'x'; LINE_BYTES_MAX], b"\nNOOP\n".to_vec()].concat();
        let mut long = reader(&text, 100);
        assert_eq!(line(&mut long).await.unwrap(), Line::TooLong);
        assert_eq!(line(&mut long).await.unwrap(), Line::Whole("NOOP".to_owned()));
        assert_eq!(line(&mut long).await.unwrap(), Line::End);
    }
}
