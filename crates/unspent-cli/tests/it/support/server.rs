//! A server to be asked, and questions about drafts.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::{parse_json, program};

/// A server of its own for every test; ends with it.
pub struct Server {
    pub child: Child,
    /// Host and port.
    pub address: String,
}

impl Server {
    /// One with time for every answer, however busy the machine is.
    pub fn start() -> Server {
        Server::that_answers_within(90)
    }

    pub fn that_answers_within(seconds: u64) -> Server {
        let mut child = program()
            .args(["serve", "--port", "0", "--answer-within", &seconds.to_string()])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address =
            line.split("http://").nth(1).and_then(|rest| rest.split('/').next()).expect("an address");
        Server { address: address.into(), child }
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        stream
    }

    /// Sends it as it stands.
    pub fn raw(&self, request: &[u8]) -> Answer {
        let mut stream = self.connect();
        // It may be refused before all of it was sent.
        let _ = stream.write_all(request);
        Answer::read(stream)
    }

    pub fn get(&self, path: &str) -> Answer {
        self.raw(
            format!("GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.address).as_bytes(),
        )
    }

    pub fn send(&self, path: &str, headers: &str, body: &[u8]) -> Answer {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n",
            self.address,
            body.len()
        );
        self.raw(&[head.as_bytes(), body].concat())
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(path, "Content-Type: application/json\r\n", body.to_string().as_bytes())
    }

    pub fn draft(&self, preset: &str) -> Value {
        self.get(&format!("/api/presets/{preset}")).json()["draft"].clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What came back.
pub struct Answer {
    pub status: u16,
    /// In small letters.
    pub head: String,
    pub body: String,
}

impl Answer {
    fn read(mut stream: TcpStream) -> Answer {
        let mut bytes = vec![];
        // A connection that is closed on a body not yet sent may end with a reset.
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0);
        Answer { status, head: head.to_lowercase(), body: body.into() }
    }

    pub fn json(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.body);
        parse_json(&self.body)
    }

    /// What is wrong, of an answer that says so.
    #[track_caller]
    pub fn trouble(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{}", self.body);
        let error = parse_json(&self.body)["error"].clone();
        assert!(!error["hint"].as_str().unwrap().is_empty());
        error["message"].as_str().unwrap().into()
    }
}

/// The whole of a release.
pub fn total() -> Value {
    json!({ "scope": "total", "name": null })
}

/// What does this draft guarantee?
pub fn certificate_of(draft: &Value, reductions: bool) -> Value {
    json!({ "release": [{ "draft": draft }], "reductions": reductions })
}

/// What does the best attacker gain of a part of it?
pub fn reading_of(draft: &Value, part: &Value) -> Value {
    json!({ "release": [{ "draft": draft }], "part": part, "prior": "1/1000" })
}

/// How much less noise keeps what it states?
pub fn calibration_of(draft: &Value, scaling: &str) -> Value {
    json!({ "allocation": { "draft": draft }, "scaling": scaling })
}

/// What is in this file?
pub fn file(name: &str, text: &str, neighbours: Option<&str>) -> Value {
    json!({ "allocation": { "file": { "name": name, "text": text, "neighbours": neighbours } } })
}

/// The draft as a file to take away.
pub fn export_of(draft: &Value, format: &str) -> Value {
    json!({ "format": format, "draft": draft, "figure": "curve", "part": total(), "start": null })
}
