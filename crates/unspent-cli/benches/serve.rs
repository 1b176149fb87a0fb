//! How fast the explorer's server answers: a slider's move for every preset, and requests a second for one
//! certificate.
//!
//! Beside it, in the same run, the smallest thing the server can say: what the network and this client take.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const CLIENTS: usize = 8;
const SECONDS: u64 = 3;

struct Server {
    child: Child,
    address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

struct Client<'s> {
    server: &'s Server,
    stream: BufReader<TcpStream>,
}

impl Client<'_> {
    fn new(server: &Server) -> Client<'_> {
        let stream = TcpStream::connect(&server.address).unwrap();
        stream.set_nodelay(true).unwrap();
        Client { server, stream: BufReader::new(stream) }
    }

    /// The body, and the milliseconds that the server took.
    fn ask(&mut self, method: &str, path: &str, body: &str) -> (Vec<u8>, f64) {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
             \r\n{body}",
            self.server.address,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes()).unwrap();
        let (mut length, mut milliseconds) = (0, 0.0);
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).unwrap();
            let (name, value) = line.trim_end().split_once(": ").unwrap_or((line.trim_end(), ""));
            match name {
                "" => break,
                "content-length" => length = value.parse().unwrap(),
                "server-timing" => milliseconds = value.rsplit('=').next().unwrap().parse().unwrap(),
                status if status.starts_with("HTTP/1.1") => assert!(status.contains(" 200 "), "{status}"),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).unwrap();
        (body, milliseconds)
    }

    fn draft(&mut self, preset: &str) -> Value {
        let (body, _) = self.ask("GET", &format!("/api/presets/{preset}"), "");
        serde_json::from_slice::<Value>(&body).unwrap()["draft"].clone()
    }
}

/// Requests a second, of several clients at a time.
fn rate(server: &Server, method: &str, path: &str, body: impl Fn(usize) -> String + Sync) -> f64 {
    let end = Instant::now() + Duration::from_secs(SECONDS);
    let counts: usize = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|k| {
                let body = &body;
                scope.spawn(move || {
                    let mut client = Client::new(server);
                    let mut count = 0;
                    while Instant::now() < end {
                        client.ask(method, path, &body(k * 1_000_000 + count));
                        count += 1;
                    }
                    count
                })
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).sum()
    });
    counts as f64 / SECONDS as f64
}

fn main() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_unspent"))
        .args(["serve", "--port", "0"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.split("http://").nth(1).unwrap().split('/').next().unwrap().to_string();
    let server = Server { child, address };
    let mut client = Client::new(&server);

    println!("A slider's move, milliseconds of the server (median of 21 different ones; largest)");
    let (presets, _) = client.ask("GET", "/api/presets", "");
    for entry in serde_json::from_slice::<Value>(&presets).unwrap().as_array().unwrap() {
        let preset = entry["preset"].as_str().unwrap();
        let mut draft = client.draft(preset);
        let mut row = format!("  {preset:<26}");
        for (what, figure) in
            [("certificate", None), ("curve", Some("curve")), ("trade-off", Some("tradeoff"))]
        {
            let mut times: Vec<f64> = (0..21)
                .map(|i| {
                    draft["levels"][1]["share"] = json!(format!("0.{}", 100 + 17 * i));
                    let total = json!({ "scope": "total", "name": null });
                    let (path, body) = match figure {
                        None => (
                            "/api/certificate",
                            json!({ "release": [{ "draft": draft }], "reductions": false }),
                        ),
                        Some(f) => (
                            "/api/figure",
                            json!({ "figure": f, "draft": draft, "start": null, "part": total }),
                        ),
                    };
                    client.ask("POST", path, &body.to_string()).1
                })
                .collect();
            times.sort_by(f64::total_cmp);
            row += &format!("  {what} {:5.1} ({:5.1})", times[10], times[20]);
        }
        println!("{row}");
    }

    println!("Requests a second, {CLIENTS} clients for {SECONDS} seconds");
    let draft = client.draft("paper-2022-08-25");
    let same = json!({ "release": [{ "draft": draft }], "reductions": false }).to_string();
    println!(
        "  the 80-fold certificate, the same again      {:7.0}",
        rate(&server, "POST", "/api/certificate", |_| same.clone())
    );
    let other = |i: usize| {
        let mut draft = draft.clone();
        draft["levels"][1]["share"] = json!(format!("0.274{i}"));
        json!({ "release": [{ "draft": draft }], "reductions": false }).to_string()
    };
    println!(
        "  the same with another share in every request {:7.0}",
        rate(&server, "POST", "/api/certificate", other)
    );
    println!(
        "  a style sheet, for comparison                {:7.0}",
        rate(&server, "GET", "/charts.css", |_| String::new())
    );
}
