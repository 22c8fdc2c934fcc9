//! HTTP by hand, as much as loopback needs: one call for each connection, the answer as it came.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use serde_json::Value;

/// A request or an answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Message {
    /// The first line.
    pub(super) first: String,
    /// The header fields, as they came.
    pub(super) fields: Vec<(String, String)>,
    /// The body, taken out of its chunks.
    pub(super) body: Vec<u8>,
}

impl Message {
    /// Reads a request: its length is said.
    pub(super) fn request(from: &mut impl Read) -> io::Result<Self> {
        let mut read = Vec::new();
        let mut buffer = [0; 4096];
        while end_of_head(&read).is_none() {
            match from.read(&mut buffer)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                n => read.extend_from_slice(&buffer[..n]),
            }
        }
        let mut message = Self::parse(&read);
        let length: usize = message.field("content-length").map_or(0, |text| text.parse().expect("a length"));
        let missing = length.saturating_sub(message.body.len());
        from.take(missing as u64).read_to_end(&mut message.body)?;
        Ok(message)
    }

    /// An answer that has ended with its connection.
    fn answer(raw: &[u8]) -> Self {
        let mut message = Self::parse(raw);
        if message.field("transfer-encoding").is_some_and(|text| text.contains("chunked")) {
            message.body = unchunked(&message.body);
        }
        message
    }

    /// The head, and what came after it as the body.
    fn parse(read: &[u8]) -> Self {
        let end = end_of_head(read).unwrap_or(read.len());
        let head = String::from_utf8_lossy(&read[..end]).into_owned();
        let mut lines = head.split("\r\n");
        let first = lines.next().unwrap_or_default().to_owned();
        let field = |line: &str| line.split_once(':').map(|(name, value)| (name.to_owned(), value.trim().to_owned()));
        let body = read.get(end + 4..).unwrap_or_default().to_vec();
        Self { first, fields: lines.filter_map(field).collect(), body }
    }

    pub(super) fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The status of an answer.
    pub(super) fn status(&self) -> u16 {
        self.first.split(' ').nth(1).and_then(|text| text.parse().ok()).unwrap_or(0)
    }

    /// The method and the path of a request.
    pub(super) fn asks(&self) -> (&str, &str) {
        let mut words = self.first.split(' ');
        (words.next().unwrap_or_default(), words.next().unwrap_or_default())
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }
}

fn end_of_head(read: &[u8]) -> Option<usize> {
    read.windows(4).position(|four| four == b"\r\n\r\n")
}

fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(at) = rest.windows(2).position(|two| two == b"\r\n") {
        let line = String::from_utf8_lossy(&rest[..at]).into_owned();
        let size = line.split(';').next().and_then(|text| usize::from_str_radix(text.trim(), 16).ok()).unwrap_or(0);
        rest = &rest[at + 2..];
        if size == 0 || rest.len() < size {
            break;
        }
        body.extend_from_slice(&rest[..size]);
        rest = rest.get(size + 2..).unwrap_or_default();
    }
    body
}

/// Asks `server` (`host:port`); the answer, and its bytes as they came.
pub(super) fn ask(server: &str, method: &str, path: &str, body: &[u8]) -> io::Result<(Message, Vec<u8>)> {
    let mut stream = TcpStream::connect(server)?;
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {server}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         connect-protocol-version: 1\r\naccept-encoding: identity\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    let mut raw = Vec::new();
    stream.read_to_end(&mut raw)?;
    Ok((Message::answer(&raw), raw))
}

/// The answer to a call that is known to be answered.
pub(super) fn call(server: &str, method: &str, request: &Value) -> Value {
    let body = serde_json::to_vec(request).expect("JSON");
    let (answer, _) = ask(server, "POST", &format!("/{method}"), &body).expect("an answer");
    assert_eq!(answer.status(), 200, "{method} {request}: {}", String::from_utf8_lossy(&answer.body));
    answer.json()
}
