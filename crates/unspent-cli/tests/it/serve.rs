//! What `unspent serve` answers, and what it refuses.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::server::{Server, calibration_of, certificate_of, export_of, file, reading_of, total};
use crate::support::{Place, browser, parse_json, repository, stdout, unspent};

fn command(arguments: &[&str]) -> Value {
    parse_json(stdout(&unspent(arguments)))
}

#[test]
fn reports_are_the_commands() {
    let server = Server::start();
    assert_eq!(server.get("/api/presets").json(), command(&["presets", "--json"]));
    for preset in ["pl94-persons-us-2020", "paper-2022-08-25", "dhc-units-pr-2022-08-25"] {
        let draft = server.draft(preset);
        let mut certificate = server.post("/api/certificate", &certificate_of(&draft, true)).json();
        let mut printed = command(&["certificate", preset, "--json"]);
        // A draft is not the file that it was made from.
        assert_eq!(certificate["report"]["products"][0]["file"], Value::Null);
        certificate["report"]["products"][0]["file"] = printed["products"][0]["file"].take();
        printed["products"][0]["file"] = certificate["report"]["products"][0]["file"].clone();
        assert_eq!(certificate["report"], printed);
        let calibrated = server.post("/api/calibration", &calibration_of(&draft, "level")).json();
        assert_eq!(calibrated["report"], command(&["calibrate", preset, "--scope", "level", "--json"]));
    }
}

/// Errors of estimates follow the draft, and have no say in anything else.
#[test]
fn errors_of_estimates_are_the_commands() {
    let server = Server::start();
    let mut draft = server.draft("pl94-persons-us-2020");
    let ask = |draft: &Value, units: Value| {
        let mut question = json!({ "allocation": { "draft": draft } });
        question.as_object_mut().unwrap().extend(units.as_object().unwrap().clone());
        server.post("/api/accuracy", &question)
    };
    let exact = json!({ "exact_totals": ["State"] });
    let answer = ask(&draft, exact.clone()).json();
    let said = ["accuracy", "pl94-persons-us-2020", "--exact-totals", "State", "--json"];
    assert_eq!(answer["report"], command(&said));
    let groups = answer["table"]["groups"].as_array().unwrap();
    assert_eq!(groups.last().unwrap()["head"], "Block, 8132968 units");
    // Twice the budget is half of every variance.
    let sd = |answer: &Value| answer["report"]["levels"][3]["queries"][1]["estimate"]["sd"].as_f64().unwrap();
    draft["rho"] = json!("587528/114921");
    let twice = ask(&draft, exact).json();
    assert!((sd(&answer) / sd(&twice) - 2f64.sqrt()).abs() < 1e-9);
    // A level without a share is not there.
    draft["levels"][2]["share"] = json!("0");
    let units = json!({ "per_level": [1, 51, 84414, 239_780, 8_132_968] });
    assert_eq!(ask(&draft, units.clone()).json()["report"]["levels"].as_array().unwrap().len(), 5);
    draft["levels"][2]["share"] = json!("1/5");
    assert!(ask(&draft, units).trouble(422).contains("per_level: "));
    let large = server.draft("dhc-persons-us-2020");
    assert!(ask(&large, json!({})).trouble(422).contains("too large here; at most 4096"));
    let bare =
        server.post("/api/read", &file("a.csv", "level,query,rho\nUS,total,1\n", Some("bounded"))).json();
    let unknown = ask(&bare["draft"], json!({}));
    assert!(unknown.trouble(422).contains("how many units the levels US have is not known"));
}

/// A budget from needs: for what a preset, a draft or a file offers.
#[test]
fn designs_are_the_commands() {
    let server = Server::start();
    let preset = "pl94-persons-us-2020";
    let needs = |allocation: &str, more: &str| {
        format!(
            "allocation = \"{allocation}\"\ngoal = \"least-epsilon\"\nrest = {{ drop = true }}\n{more}\n\
             [[needs]]\nlevel = \"Tract\"\nmargin = 20\n\
             [[needs]]\nname = \"ages\"\nlevel = \"County\"\ntable = [\"votingage\"]\nmargin = 12\n"
        )
    };
    let place = Place::new("served-design");
    place.write("needs.toml", needs(preset, ""));
    let ask = |question: Value| server.post("/api/design", &question);
    let answer = ask(json!({ "needs": needs(preset, "") })).json();
    assert_eq!(answer, parse_json(stdout(&place.say("design needs.toml --json"))));
    // The same, as the page asks.
    let draft = server.draft(preset);
    let this = json!({ "draft": draft });
    let fast = json!({ "needs": needs("this", ""), "allocation": this, "prices": false });
    let fast = ask(fast).json();
    for field in ["rho", "least_rho", "epsilon", "tables"] {
        assert_eq!(fast[field], answer[field], "{field}");
    }
    assert_eq!(fast["needs"][1]["share"], answer["needs"][1]["share"]);
    assert!(fast["needs"][1]["tenth_wider_saves"].is_null());
    assert!(answer["needs"][1]["tenth_wider_saves"].as_f64().unwrap() > 0.0);
    // What is wrong is said with its place.
    let wrong = json!({ "needs": needs("this", "exact_totals = [\"Town\"]"), "allocation": this });
    let trouble = ask(wrong);
    assert!(trouble.trouble(422).contains("Town"));
    let error = parse_json(&trouble.body)["error"].clone();
    assert!(error["excerpt"].as_str().unwrap().contains("exact_totals = [\"Town\"]"));
    assert_eq!(error["line"], 4);
    let refused = |question: Value, said: &str| {
        let found = ask(question).trouble(422);
        assert!(found.contains(said), "{found}");
    };
    refused(json!({ "needs": needs("this", "") }), "no allocation came along");
    refused(json!({ "needs": needs("blocks.toml", "") }), "`blocks.toml` is not the name of a preset");
    let list = "units = { list = \"/etc/passwd\" }";
    refused(json!({ "needs": needs("this", list), "allocation": this }), "this text is no file");
    refused(json!({ "needs": needs("dhc-persons-us-2020", "") }), "too large here; at most 4096");
    let many = needs(preset, "") + &"[[needs]]\nlevel = \"US\"\nmargin = 5\n".repeat(49);
    refused(json!({ "needs": many }), "needs: there are 51; at most 50");
    refused(json!({ "needs": "#".repeat(300_000) }), "300000 bytes are more than");
    assert_eq!(ask(json!({ "allocation": this })).status, 400);
}

/// While a hand moves: the same guarantees, a little wider.
#[test]
fn fast_answers_are_true() {
    let server = Server::start();
    for entry in server.get("/api/presets").json().as_array().unwrap() {
        let preset = entry["preset"].as_str().unwrap();
        if entry["levels"] == 0 {
            let refusal = server.get(&format!("/api/presets/{preset}")).trouble(404);
            assert!(refusal.contains("it has no levels to edit"), "{refusal}");
            continue;
        }
        let mut draft = server.draft(preset);
        draft["levels"][1]["share"] = json!("0.137");
        let ask = |reductions: bool| {
            server.post("/api/certificate", &certificate_of(&draft, reductions)).json()["report"].clone()
        };
        let (fast, full) = (ask(false), ask(true));
        assert_eq!(fast["reductions"], json!([]));
        let ends = |line: &Value| {
            let end = |name: &str| line["tight"][name].as_str().unwrap().parse::<f64>().unwrap();
            (end("lower"), end("upper"))
        };
        let lines = |certificate: &Value| certificate["lines"].as_array().unwrap().clone();
        assert_eq!(lines(&fast).len(), lines(&full).len());
        for (fast, full) in lines(&fast).iter().zip(&lines(&full)) {
            let (a, b) = (ends(fast), ends(full));
            assert!(a.0 <= b.1 && b.0 <= a.1, "{fast} and {full} exclude each other");
            assert!(a.1 <= b.1 * (1.0 + 1e-4), "{fast} is much wider than {full}");
        }
        let figure = json!({ "figure": "tradeoff", "draft": draft, "start": null, "part": total() });
        let drawn = server.post("/api/figure", &figure).json();
        // The guarantee at a false-alarm rate of 5 % or so, against what the command says of it.
        let line = drawn["panels"][0]["series"][0]["data"]["line"].as_array().unwrap().clone();
        let near = line.iter().find(|point| point[0].as_f64().unwrap() >= 0.05).unwrap();
        let power =
            server.post("/api/reading", &reading_of(&draft, &total())).json()["attacks"][1]["power"].clone();
        let misses = 1.0 - power["upper"].as_str().unwrap().parse::<f64>().unwrap();
        assert!((near[1].as_f64().unwrap() - misses).abs() < 0.03, "{near} {misses}");
    }
}

#[test]
fn files_go_in_and_out() {
    let server = Server::start();
    let read = |name: &str, text: &str, neighbours: Option<&str>| {
        server.post("/api/read", &file(name, text, neighbours))
    };
    let example = include_str!("../../../../examples/blocks.toml");
    let draft = read("blocks.toml", example, None).json()["draft"].clone();
    let export = |format: &str| export_of(&draft, format);
    let exported = server.post("/api/export", &export("toml"));
    assert!(exported.head.contains("content-type: application/toml"));
    assert_eq!(read("again.toml", &exported.body, None).json()["draft"], draft);
    let csv = server.post("/api/export", &export("csv"));
    assert!(
        csv.head.contains("content-type: text/csv") && csv.body.starts_with("scope,name,label,"),
        "{}",
        csv.body
    );
    let svg = server.post("/api/export", &export("svg"));
    assert!(svg.head.contains("content-type: image/svg+xml") && svg.body.starts_with("<svg"));

    let bad = read("budget.toml", &example.replacen("bounded", "unbounded", 1), None);
    assert!(bad.trouble(422).contains("neighbours: `unbounded` is not"));
    let error = serde_json::from_str::<Value>(&bad.body).unwrap()["error"].clone();
    let line = example.lines().position(|line| line.starts_with("neighbours")).unwrap() + 1;
    assert_eq!((error["line"].as_u64(), error["field"].as_str()), (Some(line as u64), Some("neighbours")));
    assert!(error["excerpt"].as_str().unwrap().contains("^^^"));
    let table = "level,query,rho\nState,total,1/10\n";
    assert!(read("t.csv", table, None).trouble(422).contains("does not say what its neighbours are"));
    assert_eq!(read("t.csv", table, Some("add-remove")).json()["draft"]["rho"], "0.1");
}

/// What is stated in a file is so, and what has no share keeps its place.
#[test]
fn calibrated_drafts_say_what_they_keep() {
    let server = Server::start();
    let mut draft = server.draft("pl94-persons-us-2020");
    draft["levels"][1]["share"] = json!("0");
    draft["levels"][2]["shares"][0]["share"] = json!("0");
    let calibrated = server.post("/api/calibration", &calibration_of(&draft, "total")).json();
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
    let again = server.post("/api/calibration", &calibration_of(&after, "total")).json();
    let factor: f64 = again["report"]["rows"][0]["factor"].as_str().unwrap().parse().unwrap();
    assert!((factor - 1.0).abs() < 1e-6, "{factor}");
    let toml = |draft: &Value| server.post("/api/export", &export_of(draft, "toml")).body;
    assert!(toml(&after).contains("\nepsilon = "));
    after["delta"] = json!("1e-20");
    assert!(toml(&after).contains("\nepsilon = "), "a promise is exported as it was stated");
    let answer = server.post("/api/certificate", &certificate_of(&after, false)).json();
    assert!(answer["words"][0].as_str().unwrap().starts_with("PROMISE NOT KEPT: "), "{}", answer["words"]);
    let report = &answer["report"];
    assert_eq!((&report["kept"], &report["promises"][0]["kept"]), (&json!(false), &json!(false)));
}

/// Which units were bypassed, what is exact and what is assumed stays with a draft, whatever is done to it.
#[test]
fn what_is_known_of_the_production_stays() {
    let server = Server::start();
    let certificate = |draft: &Value| {
        server.post("/api/certificate", &certificate_of(draft, false)).json()["report"].clone()
    };
    let toml = |draft: &Value| server.post("/api/export", &export_of(draft, "toml")).body;
    for preset in ["pl94-persons-us-2020", "dhc-persons-us-2020", "pl94-units-us-2020"] {
        let draft = server.draft(preset);
        let text = toml(&draft);
        assert!(text.contains("\n[bypass]\n") && text.contains("\nassumptions = ["), "{text}");
        assert_eq!(server.post("/api/read", &file("a.toml", &text, None)).json()["draft"], draft);
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
        let calibrated = server.post("/api/calibration", &calibration_of(&less, "total")).json();
        assert_eq!(calibrated["draft"]["production"], draft["production"], "{preset}");
    }
}

/// Every row of the table can be looked at, records that stay inside one unit like all others.
#[test]
fn every_line_of_a_certificate_can_be_looked_at() {
    let server = Server::start();
    let draft = server.draft("pl94-persons-us-2020");
    let answer = server.post("/api/certificate", &certificate_of(&draft, false)).json();
    let groups = answer["table"]["groups"].as_array().unwrap();
    let rows: Vec<&Value> = groups.iter().flat_map(|group| group["rows"].as_array().unwrap()).collect();
    assert_eq!(rows.len(), answer["report"]["lines"].as_array().unwrap().len());
    assert!(rows.iter().any(|row| row["key"]["scope"] == "keeping"));
    for row in rows {
        let part = &row["key"];
        assert_eq!(server.post("/api/reading", &reading_of(&draft, part)).status, 200, "{part}");
    }
    let part = json!({ "scope": "keeping", "name": "County" });
    for figure in ["curve", "tradeoff"] {
        let question = json!({ "figure": figure, "draft": draft, "start": null, "part": part });
        assert_eq!(server.post("/api/figure", &question).json()["subtitle"], "record-within-County");
    }
    let reading = reading_of(&draft, &json!({ "scope": "places", "name": "US" }));
    let refused = server.post("/api/reading", &reading).trouble(400);
    assert!(refused.contains("level, keeping, attribute or within"), "{refused}");
}

/// A page that keeps to the limits is never told that something is too long.
#[test]
fn limits_are_those_that_are_kept() {
    let server = Server::start();
    let limits = server.get("/api/limits").json();
    let digits = limits["digits"].as_u64().unwrap() as usize;
    let mut draft = server.draft("paper-2022-08-25");
    let mut status = |share: String| {
        draft["levels"][0]["share"] = json!(share);
        server.post("/api/certificate", &certificate_of(&draft, false)).status
    };
    assert_eq!(status(format!("0.{}", "1".repeat(digits - 2))), 200);
    assert_eq!(status(format!("0.{}", "1".repeat(digits - 1))), 422);
    let bytes = limits["bytes"].as_u64().unwrap() as usize;
    let example = include_str!("../../../../examples/blocks.toml");
    let filled = |size: usize| format!("{example}#{}", "x".repeat(size - example.len() - 1));
    let read = |text: &str| server.post("/api/read", &file("a.toml", text, None)).status;
    assert_eq!((read(&filled(bytes)), read(&filled(bytes + 1))), (200, 422));
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
        server.post("/api/certificate", &certificate_of(&draft, true))
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
            "levels[1].name: `US` is already the name of a level",
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
    let level = |i: usize| json!({ "name": format!("level {i}"), "share": "1/1000", "shares": shares });
    let many: Vec<Value> = (0..1001).map(level).collect();
    assert!(
        changed(&["levels"], json!(many)).trouble(422).contains("`1001` is not a number of at most 1000")
    );
}

#[test]
fn the_page_in_a_browser_has_every_preset() {
    the_page_in_a_browser("presets");
}

#[test]
fn the_page_in_a_browser_is_used() {
    the_page_in_a_browser("use");
}

/// The pages of `make wasm`, from a disk.
#[test]
#[ignore = "make test-wasm, which makes the pages first"]
fn the_page_alone_has_every_preset() {
    the_page_alone("explorer.mjs", "presets");
}

#[test]
#[ignore = "make test-wasm, which makes the pages first"]
fn the_page_alone_is_used() {
    the_page_alone("explorer.mjs", "use");
}

#[test]
#[ignore = "make test-wasm, which makes the pages first"]
fn the_pages_alone_ask_nobody_and_go_on() {
    the_page_alone("alone.mjs", "");
}

/// The same checks, of pages that no server serves; there is one beside them, to ask for presets.
fn the_page_alone(script: &str, part: &str) {
    let pages = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("web");
    let page = |name: &str| format!("file://{}", pages.join(name).display());
    in_a_browser(script, "alone", part, |script| {
        script.env("URL", page("explorer.html")).env("CALCULATOR", page("calculator.html"));
    });
}

/// A part of what is checked of the page; the two run side by side.
fn the_page_in_a_browser(part: &str) {
    in_a_browser("explorer.mjs", "explorer", part, |_| {});
}

fn in_a_browser(script: &str, pictures: &str, part: &str, with: impl FnOnce(&mut Command)) {
    let server = Server::start();
    let root = repository("");
    let screenshots = root.join("target").join(pictures);
    std::fs::create_dir_all(&screenshots).unwrap();
    let said = browser::run(script, |script| {
        script
            .env("URL", format!("http://{}/", server.address))
            .env("API", format!("http://{}/", server.address))
            .env("UNSPENT", env!("CARGO_BIN_EXE_unspent"))
            .env("EXAMPLES", root.join("examples"))
            .env("PART", part)
            .env("OUT", screenshots);
        with(script);
    });
    // Times and sizes are for people.
    println!("{}", said.unwrap_or_default());
}
