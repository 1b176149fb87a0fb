//! Who asks `unspent serve`, how much and how long: what it answers, and what it bears.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;

use serde_json::{Value, json};

use crate::support::server::{Server, certificate_of, file};
use crate::support::{program, stderr};

#[test]
fn only_this_machine_and_its_page_are_answered() {
    let server = Server::start();
    let port = server.address.rsplit(':').next().unwrap();
    let named = |host: &str| {
        server.raw(format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").as_bytes())
    };
    for host in [
        format!("localhost:{port}"),
        format!("127.0.0.1:{port}"),
        format!("[::1]:{port}"),
        format!("LOCALHOST:{port}"),
    ] {
        assert_eq!(named(&host).status, 200, "{host}");
    }
    for host in [
        format!("example.org:{port}"),
        "example.org".into(),
        "127.0.0.1".into(),
        "127.0.0.1:1".into(),
        format!("192.0.2.1:{port}"),
        format!("localhost.example.org:{port}"),
        format!("127.0.0.1.example.org:{port}"),
        format!("[[127.0.0.1]]:{port}"),
        format!("[127.0.0.1]:{port}"),
        format!("127.0.0.1:{port}\r\nHost: example.org"),
        format!("127.0.0.1:+{port}"),
        format!("127.0.0.1:0{port}"),
        String::new(),
    ] {
        named(&host).trouble(421);
    }
    assert_eq!(server.raw(b"GET / HTTP/1.0\r\n\r\n").status, 421);
    let absolute =
        format!("GET http://example.org/ HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", server.address);
    server.raw(absolute.as_bytes()).trouble(421);
    let body = br#"{"draft":null}"#;
    let from = |origin: &str| {
        let headers = format!("Content-Type: application/json\r\nOrigin: {origin}\r\n");
        server.send("/api/certificate", &headers, body).status
    };
    assert_eq!(from("http://example.org"), 403);
    assert_eq!(from("null"), 403);
    assert_eq!(from(&format!("http://{}\r\nOrigin: http://example.org", server.address)), 403);
    assert_eq!(from(&format!("http://example.org\r\nOrigin: http://{}", server.address)), 403);
    assert_eq!(from(&format!("http://{}", server.address)), 400);

    let page = server.get("/");
    assert!(
        page.head.contains("content-security-policy: default-src 'none'; script-src 'self'"),
        "{}",
        page.head
    );
    for header in
        ["x-content-type-options: nosniff", "referrer-policy: no-referrer", "frame-ancestors 'none'"]
    {
        assert!(page.head.contains(header), "{header}");
    }
    // Every part of it that it names is there.
    for part in page.body.split(['"']).filter(|text| text.starts_with('/') && text.contains('.')) {
        assert_eq!(server.get(part).status, 200, "{part}");
    }
    assert!(server.get("/explorer/main.js").head.contains("content-type: text/javascript"));
}

/// Many who send nonsense, too much, or nothing at all: others are still answered, and memory stays bounded.
#[test]
fn hostile_clients_are_borne() {
    let server = Server::start();
    let draft = server.draft("paper-2022-08-25");
    let question = certificate_of(&draft, false);
    let expected = server.post("/api/certificate", &question).json();
    // Senders who never finish, at every stage of a request.
    let stages = ["", "POST /api/cert", "POST /api/certificate HTTP/1.1\r\nHost: x", ""];
    let slow: Vec<TcpStream> = (0..64)
        .map(|i| {
            let mut stream = server.connect();
            let begun = format!(
                "POST /api/certificate HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
                 Content-Length: 1000000\r\n\r\n{{",
                server.address
            );
            let text = if i % 4 == 3 { begun.as_str() } else { stages[i % 4] };
            stream.write_all(text.as_bytes()).unwrap();
            stream
        })
        .collect();
    assert_eq!(server.post("/api/certificate", &question).json(), expected);
    let mut unlike = draft.clone();
    for (i, level) in unlike["levels"].as_array_mut().unwrap().iter_mut().enumerate() {
        for (j, share) in level["shares"].as_array_mut().unwrap().iter_mut().enumerate() {
            share["share"] = json!(format!("{}/{}", 1 + i * 7 + j, 997 + 2 * i + 31 * j));
        }
    }
    thread::scope(|scope| {
        for i in 0..64 {
            let (server, unlike, question, expected) = (&server, &unlike, &question, &expected);
            scope.spawn(move || {
                let json = "Content-Type: application/json\r\n";
                let answer = match i % 4 {
                    0 => server.send("/api/certificate", json, &vec![b'['; 1 << 20]),
                    1 => server.send("/api/certificate", json, &vec![b'1'; 10 << 20]),
                    2 => server.post("/api/certificate", &certificate_of(unlike, true)),
                    _ => server.post("/api/certificate", question),
                };
                match i % 4 {
                    0 => assert_eq!(answer.status, 400),
                    // Refused before all was sent: the refusal may be lost on the way, the connection is
                    // closed.
                    1 => assert!([0, 413].contains(&answer.status), "{}", answer.status),
                    2 => assert!([200, 503].contains(&answer.status), "{}", answer.body),
                    _ if answer.status == 503 => assert!(answer.trouble(503).contains("too many")),
                    _ => assert_eq!(answer.json(), *expected),
                }
            });
        }
    });
    assert_eq!(server.post("/api/certificate", &question).json(), expected);
    if let Ok(status) = std::fs::read_to_string(format!("/proc/{}/status", server.child.id())) {
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let kilobytes: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
        assert!(kilobytes < 512 << 10, "{kilobytes} kB");
    }
    drop(slow);
}

/// A draft with that many levels and queries, whose shares are fractions of `digits` digits that have nothing
/// in common.
fn unlike(levels: usize, queries: usize, digits: usize) -> Value {
    let mut next = 0;
    let mut share = || {
        next += 1;
        format!("{}{}/{}{}1", "3".repeat(digits - 5), 10_000 + next, "7".repeat(digits - 5), 1_000 + next)
    };
    let names: Vec<String> = (0..queries).map(|i| format!("q{i}")).collect();
    let levels: Vec<Value> = (0..levels)
        .map(|i| {
            let shares: Vec<Value> =
                names.iter().map(|query| json!({ "query": query, "share": share() })).collect();
            json!({ "name": format!("l{i}"), "share": share(), "shares": shares })
        })
        .collect();
    let asked: Vec<Value> =
        names.iter().map(|query| json!({ "name": query, "attributes": [], "shift": 1 })).collect();
    json!({
        "name": "unlike", "source": null, "record": "person", "neighbours": "bounded", "delta": "1e-10",
        "conversion": "canonne-kamath-steinke", "epsilon": null, "nested": true, "attributes": [],
        "queries": asked,
        "rho": "2", "levels": levels, "table": null
    })
}

/// What is small to send and long to work out is refused by name, or goes as far as it must.
#[test]
fn heavy_questions_are_limited() {
    let server = Server::start();
    let read = |name: &str, text: &str| {
        server.post("/api/read", &file(name, text, name.ends_with(".csv").then_some("bounded")))
    };
    let numbers = ["1e-9223372036854775808", "1e9223372036854775807", "1/1e-9223372036854775808"];
    for number in numbers {
        let text = format!("level,query,sigma2\nUS,total,{number}\n");
        assert!(read("a.csv", &text).trouble(422).contains("with a decimal exponent between"));
    }
    let fraction = |i: usize| format!("{}{i}/{}1{i}", "3".repeat(116), "7".repeat(116));
    let rhos: String = (1000..1240).map(|i| format!("q{i} = \"{}\"\n", fraction(i))).collect();
    let toml =
        format!("name = \"a\"\nneighbours = \"bounded\"\n[[levels]]\nname = \"a\"\n[levels.rho]\n{rhos}");
    assert!(read("a.toml", &toml).trouble(422).contains("level `a`: its shares are fractions too long"));
    let line = |i: usize| format!("l,q{i},1,attribute{i}\n");
    let table = |n: usize| format!("level,query,rho,attributes\n{}", (0..n).map(line).collect::<String>());
    assert!(read("a.csv", &table(5_000)).trouble(422).contains("queries: `5000` is not a number of at most"));
    assert!(read("a.csv", &table(24_000)).trouble(422).contains("are more than the 262144 that are read"));
    assert_eq!(read("a.csv", &table(900)).status, 200);
    let many = certificate_of(&unlike(1_000, 5, 6), false);
    let refused = |question: &Value| {
        let cause = server.post("/api/certificate", question).trouble(422);
        assert!(cause.contains("a certificate of so many lines"), "{cause}");
    };
    refused(&many);
    let mut wide = unlike(40, 5, 6);
    let names: Vec<String> = (0..1_000).map(|i| format!("a{i}")).collect();
    wide["attributes"] = json!(names);
    for query in wide["queries"].as_array_mut().unwrap() {
        query["attributes"] = json!(names);
    }
    let wide = certificate_of(&wide, false);
    refused(&wide);
    // Three thousand budgets without a common denominator are added up to seventeen digits.
    let question = json!({ "allocation": { "draft": unlike(1_000, 3, 90) } });
    let spending = server.post("/api/spending", &question).json();
    assert_eq!(spending["measurements"].as_array().unwrap().len(), 3_000);
    assert_ne!(spending["rho"]["lower"], spending["rho"]["upper"]);
}

/// Whoever leaves frees the place. Whoever asks what takes a moment does not wait for who stays.
#[test]
fn work_ends_with_the_connection() {
    // Takes minutes, if it is let.
    let heavy = certificate_of(&unlike(40, 25, 100), true).to_string();
    let request = |server: &Server| {
        let Server { address, .. } = server;
        let length = heavy.len();
        format!(
            "POST /api/certificate HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{heavy}"
        )
    };
    let server = Server::start();
    for _ in 0..3 {
        let mut stream = server.connect();
        stream.write_all(request(&server).as_bytes()).unwrap();
        // A question behind it shows that it has begun.
        let draft = server.draft("paper-2022-08-25");
        assert_eq!(server.post("/api/certificate", &certificate_of(&draft, false)).status, 200);
        drop(stream);
        assert_eq!(server.post("/api/certificate", &certificate_of(&draft, true)).status, 200);
    }
    // And one that stays is told when its time is up.
    let short = Server::that_answers_within(1);
    let refused = short.raw(request(&short).as_bytes()).trouble(422);
    assert!(refused.contains("the answer took longer than 1 second"), "{refused}");
}

/// A crowd that begins requests and does not end them keeps nobody out.
#[test]
fn half_open_connections_make_room() {
    let server = Server::start();
    let mut crowd: Vec<TcpStream> = (0..300)
        .map(|_| {
            let mut stream = server.connect();
            stream.write_all(b"GET / HTTP/1.1\r\n").unwrap();
            stream
        })
        .collect();
    assert_eq!(server.get("/").status, 200);
    // Not because their time was up: the last ones are still waited for, the first ones had to go.
    let mut is_open = |i: usize| {
        let stream: &mut TcpStream = &mut crowd[i];
        stream.set_nonblocking(true).unwrap();
        matches!(stream.read(&mut [0]), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock)
    };
    assert!(is_open(299) && is_open(200));
    assert!(!is_open(0) && !is_open(100));
}

#[test]
fn addresses_are_checked() {
    let run = |arguments: &[&str]| {
        let output = program().arg("serve").args(arguments).output().unwrap();
        (output.status.code(), stderr(&output).to_string())
    };
    assert_eq!(
        run(&["--port", "70000"]),
        (
            Some(2),
            "error: --port: `70000` is not a number between 0 and 65535\n\
             hint: 0 takes any port that is free\n"
                .into()
        )
    );
    assert!(run(&["--listen", "here"]).1.starts_with("error: --listen: `here` is not an IP address"));
    let server = Server::start();
    let (code, error) = run(&["--port", server.address.rsplit(':').next().unwrap()]);
    assert_eq!(code, Some(1));
    assert!(error.contains("cannot listen") && error.contains("another program has that port"), "{error}");
    // Told to listen to others, it warns.
    let (_, error) = run(&["--listen", "192.0.2.1"]);
    assert!(error.starts_with("warning: whoever can reach 192.0.2.1 can use this page"), "{error}");
}
