//! A DNS server that knows the TXT records a test gives it, and nothing else.

use std::{
    collections::HashMap,
    net::{SocketAddr, UdpSocket},
    sync::Arc,
};

use parking_lot::Mutex;

/// What is answered for a name.
#[derive(Debug, Clone)]
pub(crate) enum Answered {
    Texts(Vec<String>),
    Failure,
    Silence,
}

/// A DNS server on a free port, for as long as the process lives. Names that it does not know do not exist.
#[derive(Debug, Clone)]
pub(crate) struct DnsServer {
    pub(crate) address: SocketAddr,
    names: Arc<Mutex<HashMap<String, Answered>>>,
}

/// Bytes of a message's head.
const HEAD: usize = 12;
/// Bits of the second flags byte of an answer: recursion is available, and the code.
const NO_ERROR: u8 = 0x80;
const SERVER_FAILURE: u8 = 0x82;
const NO_SUCH_NAME: u8 = 0x83;

impl DnsServer {
    pub(crate) fn start() -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let server = Self { address, names: Arc::default() };
        let names = Arc::clone(&server.names);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok((length, from)) = socket.recv_from(&mut buffer) {
                if let Some(answer) = answer(&buffer[..length], &names.lock()) {
                    socket.send_to(&answer, from).unwrap();
                }
            }
        });
        server
    }

    /// Answers so for a name from now on.
    pub(crate) fn set(&self, name: &str, answered: Answered) {
        self.names.lock().insert(name.to_owned(), answered);
    }

    /// Answers these texts for a name from now on.
    pub(crate) fn set_texts(&self, name: &str, texts: &[&str]) {
        let texts = texts.iter().map(|text| (*text).to_owned()).collect();
        self.set(name, Answered::Texts(texts));
    }

    /// Knows a name no more.
    pub(crate) fn remove(&self, name: &str) {
        self.names.lock().remove(name);
    }
}

fn answer(question: &[u8], names: &HashMap<String, Answered>) -> Option<Vec<u8>> {
    let (name, end) = name_of(question)?;
    let (code, texts) = match names.get(&name) {
        None => (NO_SUCH_NAME, Vec::new()),
        Some(Answered::Texts(texts)) => (NO_ERROR, texts.clone()),
        Some(Answered::Failure) => (SERVER_FAILURE, Vec::new()),
        Some(Answered::Silence) => return None,
    };
    // The question's id; an answer to what was asked to recurse.
    let mut out = vec![question[0], question[1], 0x81, code, 0, 1, 0];
    out.extend([u8::try_from(texts.len()).unwrap(), 0, 0, 0, 0]);
    out.extend(&question[HEAD..end]);
    for text in texts {
        let mut strings = Vec::new();
        for part in text.as_bytes().chunks(255) {
            strings.push(u8::try_from(part.len()).unwrap());
            strings.extend(part);
        }
        // The name of the question, TXT, IN, and a minute to live.
        out.extend([0xc0, 0x0c, 0, 16, 0, 1, 0, 0, 0, 60]);
        out.extend(u16::try_from(strings.len()).unwrap().to_be_bytes());
        out.extend(strings);
    }
    Some(out)
}

/// The name that is asked for, and where the question ends.
fn name_of(question: &[u8]) -> Option<(String, usize)> {
    let (mut labels, mut at) = (Vec::new(), HEAD);
    loop {
        let length = usize::from(*question.get(at)?);
        if length == 0 {
            let name = labels.join(".").to_ascii_lowercase();
            // The end of the name, the type and the class.
            return Some((name, at + 5)).filter(|(_, end)| *end <= question.len());
        }
        let label = question.get(at + 1..at + 1 + length)?;
        labels.push(String::from_utf8_lossy(label).into_owned());
        at += 1 + length;
    }
}
