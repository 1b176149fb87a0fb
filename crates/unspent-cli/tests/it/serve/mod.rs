//! `unspent serve`: what it answers. What it refuses is in `limits`.

mod limits;

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{self, EXAMPLE, browser, parse_json, program, repository, stdout, unspent};

/// A server of its own for every test; ends with it.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start() -> Server {
        let mut child = program()
            .args(["serve", "--port", "0"])
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

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Sends it as it stands.
    fn raw(&self, request: &[u8]) -> Answer {
        let mut stream = self.connect();
        // It may be refused before all of it was sent.
        let _ = stream.write_all(request);
        Answer::read(stream)
    }

    fn get(&self, path: &str) -> Answer {
        self.raw(
            format!("GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.address).as_bytes(),
        )
    }

    fn send(&self, path: &str, headers: &str, body: &[u8]) -> Answer {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n",
            self.address,
            body.len()
        );
        self.raw(&[head.as_bytes(), body].concat())
    }

    fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(path, "Content-Type: application/json\r\n", body.to_string().as_bytes())
    }

    fn draft(&self, preset: &str) -> Value {
        self.get(&format!("/api/presets/{preset}")).json()["draft"].clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Answer {
    status: u16,
    head: String,
    body: String,
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

    fn json(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.body);
        parse_json(&self.body)
    }

    /// What is wrong, of an answer that says so.
    #[track_caller]
    fn trouble(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{}", self.body);
        let error = parse_json(&self.body)["error"].clone();
        assert!(!error["hint"].as_str().unwrap().is_empty());
        error["message"].as_str().unwrap().into()
    }
}

fn command(arguments: &[&str]) -> Value {
    parse_json(stdout(&unspent(arguments)))
}

fn total() -> Value {
    json!({ "kind": "total", "name": null })
}

/// Asks for a draft in a format.
fn export(format: &str, draft: &Value) -> Value {
    json!({ "format": format, "draft": draft, "figure": "curve", "scope": total(), "start": null })
}

#[test]
fn reports_are_the_commands() {
    let server = Server::start();
    assert_eq!(server.get("/api/presets").json(), command(&["presets", "--json"]));
    for preset in ["pl94-persons-us-2020", "paper-2022-08-25", "dhc-units-pr-2022-08-25"] {
        let draft = server.draft(preset);
        let certificate = server.post("/api/certificate", &json!({ "draft": draft })).json();
        assert_eq!(certificate, command(&["certificate", preset, "--json"]));
        let calibrated =
            server.post("/api/calibrate", &json!({ "draft": draft, "epsilon": null, "each_level": true }));
        assert_eq!(
            calibrated.json()["report"],
            command(&["calibrate", preset, "--scope", "level", "--json"])
        );
    }
}

/// While a hand moves: the same guarantees, a little wider.
#[test]
fn hasty_answers_are_true() {
    let server = Server::start();
    for entry in server.get("/api/presets").json().as_array().unwrap() {
        let mut draft = server.draft(entry["preset"].as_str().unwrap());
        draft["levels"][1]["share"] = json!("0.137");
        let ask = |reductions: bool| {
            server.post("/api/certificate", &json!({ "draft": draft, "reductions": reductions })).json()
        };
        let (hasty, full) = (ask(false), ask(true));
        assert_eq!(hasty["reductions"], json!([]));
        let ends = |line: &Value| {
            let end = |name: &str| line["tight"][name].as_str().unwrap().parse::<f64>().unwrap();
            (end("lower"), end("upper"))
        };
        let lines = |certificate: &Value| certificate["lines"].as_array().unwrap().clone();
        assert_eq!(lines(&hasty).len(), lines(&full).len());
        for (hasty, full) in lines(&hasty).iter().zip(&lines(&full)) {
            let (a, b) = (ends(hasty), ends(full));
            assert!(a.0 <= b.1 && b.0 <= a.1, "{hasty} and {full} exclude each other");
            assert!(a.1 <= b.1 * (1.0 + 1e-4), "{hasty} is much wider than {full}");
        }
        let figure = json!({ "figure": "tradeoff", "draft": draft, "start": null, "scope": total() });
        let drawn = server.post("/api/figure", &figure).json();
        // The guarantee at a false-alarm rate of 5 % or so, against what the command says of it.
        let line = drawn["panels"][0]["series"][0]["data"]["line"].as_array().unwrap().clone();
        let near = line.iter().find(|point| point[0].as_f64().unwrap() >= 0.05).unwrap();
        let reading = json!({ "draft": draft, "scope": total(), "prior": "1/1000" });
        let power = server.post("/api/reading", &reading).json()["attacks"][1]["power"].clone();
        let misses = 1.0 - power["upper"].as_str().unwrap().parse::<f64>().unwrap();
        assert!((near[1].as_f64().unwrap() - misses).abs() < 0.03, "{near} {misses}");
    }
}

/// Every path of the description, with answers that have just the described fields.
#[test]
fn the_description_describes() {
    let server = Server::start();
    let api = server.get("/api/openapi.json").json();
    assert_eq!(api["info"]["version"], env!("CARGO_PKG_VERSION"));
    let draft = server.draft("pl94-persons-us-2020");
    let mut moved = draft.clone();
    moved["levels"][0]["share"] = json!("1/7");
    let figure = json!({ "figure": "curve", "draft": moved, "start": draft, "scope": total() });
    let questions = [
        (
            "/api/read",
            json!({ "name": "a.csv", "text": "level,query,rho\nUS,total,1\n", "neighbours": "bounded" }),
        ),
        ("/api/certificate", json!({ "draft": draft, "reductions": true })),
        // With paths that are listed, totals that are exact, and places of which nothing is said.
        ("/api/certificate", json!({ "draft": server.draft("dhc-persons-us-2020"), "reductions": false })),
        ("/api/certificate", json!({ "draft": server.draft("dhc-units-us-2020"), "reductions": false })),
        ("/api/figure", figure.clone()),
        ("/api/noise", json!({ "draft": draft })),
        (
            "/api/reading",
            json!({ "draft": draft, "scope": { "kind": "level", "name": "State" }, "prior": "1/1000" }),
        ),
        ("/api/calibrate", json!({ "draft": draft, "epsilon": "20", "each_level": false })),
        (
            "/api/export",
            json!({ "format": "svg", "draft": draft, "figure": "noise", "scope": total(), "start": null }),
        ),
    ];
    let schema = |path: &str, method: &str| {
        &api["paths"][path][method]["responses"]["200"]["content"]["application/json"]["schema"]
    };
    check(&api, schema("/api/presets", "get"), &server.get("/api/presets").json(), "presets");
    check(&api, schema("/api/presets/{name}", "get"), &json!({ "draft": draft }), "preset");
    for (path, question) in &questions {
        let asked = &api["paths"][*path]["post"]["requestBody"]["content"]["application/json"]["schema"];
        check(&api, asked, question, path);
        let answer = server.post(path, question);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        if *path != "/api/export" {
            check(&api, schema(path, "post"), &answer.json(), path);
        }
    }
    let described = api["paths"].as_object().unwrap().len();
    let tried: HashSet<&str> = questions.iter().map(|(path, _)| *path).collect();
    assert_eq!(described, tried.len() + 3, "every path is tried");
}

/// The little of JSON Schema that the description uses.
fn check(api: &Value, schema: &Value, value: &Value, place: &str) {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap();
        let schema = &api["components"]["schemas"][name];
        assert!(schema.is_object(), "{place}: {name} is not described");
        return check(api, schema, value, place);
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        if !value.is_null() {
            check(api, &choices[0], value, place);
        }
        return;
    }
    if let Some(allowed) = schema["enum"].as_array() {
        assert!(value.is_null() || allowed.contains(value), "{place}: {value}");
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => return,
    };
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(n) if n.is_u64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(items) => {
            items.iter().for_each(|item| check(api, &schema["items"], item, place));
            "array"
        }
        Value::Object(fields) => {
            for name in schema["required"].as_array().into_iter().flatten() {
                assert!(fields.contains_key(name.as_str().unwrap()), "{place}: no {name}");
            }
            for (name, value) in fields.iter().filter(|_| schema.get("properties").is_some()) {
                let schema = schema["properties"]
                    .get(name)
                    .unwrap_or_else(|| panic!("{place}: {name} is not described"));
                check(api, schema, value, &format!("{place}.{name}"));
            }
            "object"
        }
    };
    assert!(kinds.contains(&kind), "{place}: {value} is not {kinds:?}");
}

#[test]
fn files_go_in_and_out() {
    let server = Server::start();
    let read = |name: &str, text: &str, neighbours: Value| {
        server.post("/api/read", &json!({ "name": name, "text": text, "neighbours": neighbours }))
    };
    let example = &support::read(EXAMPLE.as_ref());
    let draft = read("blocks.toml", example, Value::Null).json()["draft"].clone();
    let export = |format: &str| export(format, &draft);
    let exported = server.post("/api/export", &export("toml"));
    assert!(exported.head.contains("content-type: application/toml"));
    assert_eq!(read("again.toml", &exported.body, Value::Null).json()["draft"], draft);
    let csv = server.post("/api/export", &export("csv"));
    assert!(
        csv.head.contains("content-type: text/csv") && csv.body.starts_with("scope,name,label,"),
        "{}",
        csv.body
    );
    let svg = server.post("/api/export", &export("svg"));
    assert!(svg.head.contains("content-type: image/svg+xml") && svg.body.starts_with("<svg"));

    let bad = read("budget.toml", &example.replacen("bounded", "unbounded", 1), Value::Null);
    assert!(bad.trouble(422).contains("neighbours: `unbounded` is not"));
    let error = serde_json::from_str::<Value>(&bad.body).unwrap()["error"].clone();
    let line = example.lines().position(|line| line.starts_with("neighbours")).unwrap() + 1;
    assert_eq!((error["line"].as_u64(), error["field"].as_str()), (Some(line as u64), Some("neighbours")));
    assert!(error["excerpt"].as_str().unwrap().contains("^^^"));
    let table = "level,query,rho\nState,total,1/10\n";
    assert!(read("t.csv", table, Value::Null).trouble(422).contains("does not say what its neighbours are"));
    assert_eq!(read("t.csv", table, json!("add-remove")).json()["draft"]["rho"], "0.1");
}

/// What is stated in a file is so, and what has no share keeps its place.
#[test]
fn calibrated_drafts_say_what_they_keep() {
    let server = Server::start();
    let mut draft = server.draft("pl94-persons-us-2020");
    draft["levels"][1]["share"] = json!("0");
    draft["levels"][2]["shares"][0]["share"] = json!("0");
    let question = |draft: &Value| json!({ "draft": draft, "epsilon": null, "each_level": false });
    let calibrated = server.post("/api/calibrate", &question(&draft)).json();
    let mut after = calibrated["draft"].clone();
    let names = |draft: &Value, list: &str| -> Vec<Value> {
        draft[list].as_array().unwrap().iter().map(|part| part["name"].clone()).collect()
    };
    assert_eq!(
        (names(&after, "levels"), names(&after, "queries")),
        (names(&draft, "levels"), names(&draft, "queries"))
    );
    assert_eq!(after["levels"][1]["share"], "0");
    // Once is enough: there is next to nothing left to spend.
    let again = server.post("/api/calibrate", &question(&after)).json();
    let factor: f64 = again["report"]["rows"][0]["factor"].as_str().unwrap().parse().unwrap();
    assert!((factor - 1.0).abs() < 1e-6, "{factor}");
    let toml = |draft: &Value| server.post("/api/export", &export("toml", draft)).body;
    assert!(toml(&after).contains("\nepsilon = "));
    after["delta"] = json!("1e-20");
    assert!(toml(&after).contains("\nepsilon = "), "a promise is exported as it was stated");
    let report = server.post("/api/certificate", &json!({ "draft": after, "reductions": false })).json();
    assert_eq!((&report["kept"], &report["promises"][0]["kept"]), (&json!(false), &json!(false)));
}

/// Which units were bypassed, what is exact and what is assumed stays with a draft, whatever is done to it.
#[test]
fn what_is_known_of_the_production_stays() {
    let server = Server::start();
    let certificate = |draft: &Value| {
        server.post("/api/certificate", &json!({ "draft": draft, "reductions": false })).json()
    };
    let toml = |draft: &Value| {
        let question =
            json!({ "format": "toml", "draft": draft, "figure": "curve", "scope": total(), "start": null });
        server.post("/api/export", &question).body
    };
    for preset in ["pl94-persons-us-2020", "dhc-persons-us-2020", "pl94-units-us-2020"] {
        let draft = server.draft(preset);
        let text = toml(&draft);
        assert!(text.contains("\n[bypass]\n") && text.contains("\nassumptions = ["), "{text}");
        let question = json!({ "name": "a.toml", "text": text, "neighbours": null });
        assert_eq!(server.post("/api/read", &question).json()["draft"], draft);
        // A level without a share is not released, and no path has it.
        let mut less = draft.clone();
        less["levels"][2]["share"] = json!("0");
        let (before, after) = (certificate(&draft), certificate(&less));
        let name = &draft["levels"][2]["name"];
        let paths = |report: &Value| report["products"][0]["paths"].as_u64().unwrap();
        assert!(1 < paths(&after) && paths(&after) < paths(&before), "{preset}");
        let lines = after["lines"].as_array().unwrap();
        assert!(!lines.iter().any(|line| line["scope"] == "level" && line["name"] == *name));
        // Spent, it still knows of the level, which may get a share again.
        let question = json!({ "draft": less, "epsilon": null, "each_level": false });
        let calibrated = server.post("/api/calibrate", &question).json()["draft"].clone();
        assert_eq!(calibrated["production"], draft["production"], "{preset}");
    }
}

/// Records that stay inside one unit can be looked at like all others.
#[test]
fn every_line_of_a_certificate_can_be_looked_at() {
    let server = Server::start();
    let draft = server.draft("pl94-persons-us-2020");
    let report = server.post("/api/certificate", &json!({ "draft": draft, "reductions": false })).json();
    let lines = report["lines"].as_array().unwrap();
    assert!(lines.iter().any(|line| line["scope"] == "keeping"));
    for line in lines.iter().filter(|line| line["scope"] != "total") {
        let scope = json!({ "kind": line["scope"], "name": line["name"] });
        let reading = json!({ "draft": draft, "scope": scope, "prior": "1/1000" });
        assert_eq!(server.post("/api/reading", &reading).status, 200, "{scope}");
    }
    let scope = json!({ "kind": "keeping", "name": "County" });
    for figure in ["curve", "tradeoff"] {
        let question = json!({ "figure": figure, "draft": draft, "start": null, "scope": scope });
        assert_eq!(server.post("/api/figure", &question).json()["subtitle"], "record-within-County");
    }
    let reading = json!({ "draft": draft, "scope": { "kind": "places", "name": "US" }, "prior": "1/1000" });
    assert!(
        server.post("/api/reading", &reading).trouble(422).contains("level, keeping, attribute or within")
    );
}

#[test]
fn what_is_wrong_is_said() {
    let server = Server::start();
    let draft = server.draft("paper-2022-08-25");
    let json = "Content-Type: application/json\r\n";
    assert!(server.send("/api/certificate", json, b"{").trouble(400).contains("cannot be read"));
    assert!(server.send("/api/certificate", json, b"[1]").trouble(400).contains("cannot be read"));
    assert!(server.send("/api/certificate", json, b"\xff\xfe").trouble(400).contains("cannot be read"));
    let deep = [vec![b'['; 100_000], vec![b']'; 100_000]].concat();
    assert!(server.send("/api/certificate", json, &deep).trouble(400).contains("cannot be read"));
    let long = server.send("/api/certificate", json, &vec![b' '; 10 << 20]);
    assert!(
        long.trouble(413).contains("longer than 1048576 bytes") && long.head.contains("connection: close")
    );
    assert!(
        server
            .send("/api/certificate", "Content-Type: text/plain\r\n", b"{}")
            .trouble(415)
            .contains("text/plain")
    );
    assert!(server.send("/api/nothing", json, b"{}").trouble(404).contains("/api/nothing"));
    assert!(server.get("/api/certificate").trouble(405).contains("POST"));
    assert!(server.get("/../Cargo.toml").trouble(404).contains("there is nothing"));
    assert!(server.get("/api/presets/pl94").trouble(404).contains("`pl94` is not the name of a preset"));
    let put = format!("PUT / HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", server.address);
    assert!(server.raw(put.as_bytes()).trouble(405).contains("PUT"));

    let changed = |path: &[&str], value: Value| {
        let mut draft = draft.clone();
        *path.iter().fold(&mut draft, |place, key| match key.parse::<usize>() {
            Ok(i) => &mut place[i],
            Err(_) => &mut place[*key],
        }) = value;
        server.post("/api/certificate", &json!({ "draft": draft }))
    };
    for (path, value, status, said) in [
        (&["rho"][..], json!(3.65), 400, "invalid type: floating point"),
        (&["rho"], json!("-1"), 422, "rho: `-1` is not"),
        (&["rho"], json!("1e400"), 422, "rho"),
        (&["levels", "2", "share"], json!("1e9999"), 422, "levels[2].share: `1e9999` is not 0 or a share"),
        (&["levels", "2", "share"], json!("1".repeat(5000)), 422, "levels[2].share"),
        (
            &["levels"],
            json!(vec![draft["levels"][0].clone(); 80]),
            422,
            "levels[1].name: `US` is there twice",
        ),
        (&["levels"], json!([]), 422, "nothing is released"),
        (&["queries", "0", "shift"], json!(1u64 << 60), 422, "shift"),
        (&["delta"], Value::Null, 422, "delta"),
        (&["delta"], json!("0"), 422, "delta: `0` is not"),
        (&["surprise"], json!(1), 400, "unknown field `surprise`"),
    ] {
        let message = changed(path, value).trouble(status);
        assert!(message.contains(said), "{path:?}: {message}");
    }
    let shares = &draft["levels"][0]["shares"];
    let level = |i| json!({ "name": format!("level {i}"), "share": "1/1000", "shares": shares });
    let many: Vec<Value> = (0..1001).map(level).collect();
    assert!(
        changed(&["levels"], json!(many)).trouble(422).contains("`1001` is not a number of at most 1000")
    );
}

#[test]
fn the_page_in_a_browser() {
    let server = Server::start();
    let root = repository("");
    let screenshots = root.join("target/explorer");
    std::fs::create_dir_all(&screenshots).unwrap();
    browser::run("explorer.mjs", |script| {
        script
            .env("URL", format!("http://{}/", server.address))
            .env("UNSPENT", env!("CARGO_BIN_EXE_unspent"))
            .env("EXAMPLES", root.join("examples"))
            .env("OUT", screenshots);
    });
}
