//! The description of the server's questions: it describes what is answered, and everything that is.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::support::server::{Server, calibration_of, certificate_of, export_of, file, reading_of, total};

/// Every path of the description, with answers that have just the described fields.
#[test]
fn the_description_describes() {
    let server = Server::start();
    let api = server.get("/api/openapi.json").json();
    assert_eq!(api["info"]["version"], env!("CARGO_PKG_VERSION"));
    let draft = server.draft("pl94-persons-us-2020");
    let mut moved = draft.clone();
    moved["levels"][0]["share"] = json!("1/7");
    let (preset, units) = (json!({ "draft": draft }), json!({ "preset": "pl94-units-us-2020" }));
    let about = |draft: &Value| json!({ "allocation": { "draft": draft } });
    let curve = |over: Value| json!({ "release": [units], "part": total(), "over": over });
    let mechanisms = json!([{ "sigma2": "5", "count": 10, "shift": 1 }, { "sigma2": "7/3" }]);
    let certificate = |preset: &str| certificate_of(&server.draft(preset), false);
    let accuracy = json!({
        "allocation": preset,
        "per_level": [1, 51, 3143, 84414, 239_780, 8_132_968],
        "exact_totals": ["State"],
        "confidence": "0.9",
        "structural_zeros": false,
    });
    let needs =
        "allocation = \"this\"\ngoal = \"least-epsilon\"\n[[needs]]\nlevel = \"County\"\nmargin = 5\n";
    let design = |rest: &str| json!({ "needs": format!("{needs}[rest]\n{rest}\n"), "allocation": preset });
    let mut guarded = design("guard = { than = \"this\", times = \"1.25\" }");
    guarded["prices"] = json!(false);
    let questions = [
        ("/api/presets", json!({})),
        ("/api/read", file("a.csv", "level,query,rho\nUS,total,1\n", Some("bounded"))),
        ("/api/file", about(&draft)),
        ("/api/certificate", certificate_of(&draft, true)),
        // With paths that are listed, totals that are exact, and places of which nothing is said.
        ("/api/certificate", certificate("dhc-persons-us-2020")),
        ("/api/certificate", certificate("dhc-units-us-2020")),
        ("/api/certificate", json!({ "release": [units], "epsilon": "2", "delta": "1e-9" })),
        ("/api/curve", curve(json!({ "epsilon": ["1", "500"] }))),
        ("/api/curve", curve(json!({ "delta": ["1e-10"] }))),
        ("/api/tradeoff", json!({ "release": [units], "rates": ["0", "0.05", "1"] })),
        ("/api/reading", reading_of(&draft, &json!({ "scope": "level", "name": "State" }))),
        ("/api/spending", about(&draft)),
        ("/api/accuracy", about(&draft)),
        ("/api/accuracy", accuracy),
        ("/api/design", design("drop = true")),
        ("/api/design", guarded),
        ("/api/calibration", calibration_of(&draft, "level")),
        ("/api/calibration", json!({ "allocation": preset, "epsilon": "20", "delta": "1e-9" })),
        ("/api/comparison", json!({ "first": [preset], "second": [units], "delta": "1e-9" })),
        ("/api/account", json!({ "mechanisms": mechanisms, "deltas": ["1e-10"] })),
        (
            "/api/account",
            json!({
                "mechanisms": mechanisms, "epsilons": ["1"], "rates": ["0.05"], "tails": true,
                "tolerance": 0.001,
            }),
        ),
        (
            "/api/account",
            json!({
                "mechanisms": [{ "kind": "subsampled_gaussian", "sigma2": "1", "q": "1/100", "count": 50 }],
                "deltas": ["1e-6"],
            }),
        ),
        (
            "/api/parameter",
            json!({
                "mechanisms": [{ "sigma2": "50" }, { "kind": "laplace", "scale": "?", "count": 3 }],
                "epsilon": "2",
                "delta": "1e-6",
            }),
        ),
        ("/api/figure", json!({ "figure": "curve", "draft": moved, "start": draft, "part": total() })),
        ("/api/export", export_of(&draft, "svg")),
    ];
    let schema = |path: &str, method: &str| {
        &api["paths"][path][method]["responses"]["200"]["content"]["application/json"]["schema"]
    };
    check(&api, schema("/api/limits", "get"), &server.get("/api/limits").json(), "limits");
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
    // Besides: the limits, one preset, and the description itself.
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
