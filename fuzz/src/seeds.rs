//! Seeds made of what the repository has.

use std::fs;
use std::path::Path;

use unspent::file::Draft;
use unspent::{Allocation, Preset};

use crate::Random;

pub(crate) fn none() -> Vec<Vec<u8>> {
    vec![]
}

/// For targets that make something of any bytes.
pub(crate) fn random() -> Vec<Vec<u8>> {
    let mut random = Random::new(20_260_101);
    (1..=12).map(|length| random.bytes(8 * length)).collect()
}

pub(crate) fn numbers() -> Vec<Vec<u8>> {
    ["104/4099", "3.65", "1e-10", "-2.50E+2", "+.5", "293764/114921", "0.1/0.3", "5."]
        .map(|text| text.into())
        .to_vec()
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

fn files() -> Vec<String> {
    let mut files: Vec<String> = Preset::ALL.iter().map(|preset| preset.text.to_string()).collect();
    let mut paths: Vec<_> =
        fs::read_dir(root().join("examples")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "toml"));
    paths.sort();
    files.extend(paths.iter().map(|path| fs::read_to_string(path).unwrap()));
    files
}

fn good() -> Vec<Allocation> {
    let good: Vec<Allocation> = files().iter().filter_map(|text| Allocation::parse("", text).ok()).collect();
    assert!(good.len() > 10);
    good
}

fn bytes(texts: impl IntoIterator<Item = String>) -> Vec<Vec<u8>> {
    texts.into_iter().map(String::into_bytes).collect()
}

pub(crate) fn allocations() -> Vec<Vec<u8>> {
    bytes(files())
}

pub(crate) fn csv_allocations() -> Vec<Vec<u8>> {
    let first = "level,query,sigma2,shift,attributes\nUS,age,5,2,age;sex\nUS,sex,1/3,1,sex\n".to_string();
    let tables = good().into_iter().map(|allocation| {
        let mut table = String::from("level,query,rho,attributes\n");
        for (level, query, m) in allocation.measurements() {
            let touched = query.attributes.join(";");
            table += &format!("{},\"{}\",{},{touched}\n", level.name, query.name, m.rho);
        }
        table
    });
    bytes([first].into_iter().chain(tables))
}

fn made_drafts() -> Vec<Draft> {
    good().iter().map(|allocation| Draft::of(allocation).unwrap()).collect()
}

pub(crate) fn schemas() -> Vec<Vec<u8>> {
    bytes(made_drafts().into_iter().filter_map(|draft| draft.table))
}

pub(crate) fn drafts() -> Vec<Vec<u8>> {
    bytes(made_drafts().iter().map(|draft| serde_json::to_string(draft).unwrap()))
}

/// What a page asks: a path, a line feed, and a body.
pub(crate) fn questions() -> Vec<Vec<u8>> {
    let draft = |name: &str| {
        let preset = Preset::find(name).unwrap().allocation().unwrap();
        serde_json::to_string(&Draft::of(&preset).unwrap()).unwrap()
    };
    let small = draft("pl94-units-pr-2020");
    let release = format!("\"release\":[{{\"draft\":{small}}}]");
    bytes([
        format!("/api/certificate\n{{{release},\"reductions\":false}}"),
        format!("/api/curve\n{{{release},\"over\":{{\"epsilon\":[\"1\",\"0.5\"]}}}}"),
        format!("/api/tradeoff\n{{{release},\"rates\":[\"0.1\"]}}"),
        format!("/api/reading\n{{{release},\"prior\":\"0.5\"}}"),
        format!("/api/spending\n{{\"allocation\":{{\"draft\":{small}}}}}"),
        "/api/account\n{\"mechanisms\":[{\"kind\":\"laplace\",\"scale\":\"2\",\"count\":3}],\
         \"epsilons\":[\"1\"],\"deltas\":[\"1e-6\"]}"
            .into(),
        "/api/parameter\n{\"mechanisms\":[{\"kind\":\"laplace\",\"scale\":\"?\"}],\"epsilon\":\"1\",\
         \"delta\":\"1e-6\"}"
            .into(),
        "/api/presets\n{}".into(),
        "/api/read\n{\"allocation\":{\"preset\":\"pl94-units-pr-2020\"}}".into(),
    ])
}

/// Requests as they stand on a line.
pub(crate) fn requests() -> Vec<Vec<u8>> {
    let host = "Host: 127.0.0.1:8020\r\n";
    let post = |path: &str, headers: &str, body: &str| {
        let length = body.len();
        format!("POST {path} HTTP/1.1\r\n{host}{headers}Content-Length: {length}\r\n\r\n{body}")
    };
    let json = "Content-Type: application/json\r\n";
    let body = "{\"mechanisms\":[{\"sigma2\":\"5\"}],\"epsilons\":[\"1\"]}";
    bytes([
        format!("GET / HTTP/1.1\r\n{host}\r\n"),
        format!("HEAD /api/limits HTTP/1.1\r\n{host}Connection: close\r\n\r\n"),
        format!("GET /api/presets/pl94-units-pr-2020 HTTP/1.0\r\n{host}\r\n"),
        "GET http://localhost:8020/api/limits HTTP/1.1\r\nHost: localhost:8020\r\n\r\n".into(),
        "GET / HTTP/1.1\r\nHost: [::1]:8020\r\n\r\n".into(),
        "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n".into(),
        post("/api/account", json, body),
        post("/api/account", "Content-Type: text/plain\r\n", body),
        post("/api/account", &format!("{json}Origin: http://127.0.0.1:8020\r\n"), body),
        post("/api/account", &format!("{json}Origin: http://example.org\r\n"), body),
        post("/api/presets", &format!("{json}Expect: 100-continue\r\n"), "{}"),
        format!(
            "POST /api/presets HTTP/1.1\r\n{host}{json}Transfer-Encoding: chunked\r\n\r\n\
             2\r\n{{}}\r\n0\r\n\r\n"
        ),
        format!("GET / HTTP/1.1\r\n{host}\r\nGET /api/limits HTTP/1.1\r\n{host}\r\n"),
    ])
}
