//! How fast the door answers what the page asks while a slider moves, for every preset: medians of different
//! moves, on all cores or on as few as it is run on (`taskset`).

use std::env;
use std::time::Instant;

use serde_json::{Value, json};

/// Different moves of one slider.
const MOVES: usize = 11;

/// The answer, and the milliseconds that it took.
fn ask(path: &str, body: &Value) -> (String, f64) {
    let body = body.to_string();
    let start = Instant::now();
    let reply = unspent_explorer::answer(path, body.as_bytes()).unwrap();
    (reply.body, 1e3 * start.elapsed().as_secs_f64())
}

fn get(path: &str) -> Value {
    serde_json::from_str(&unspent_explorer::get(path).unwrap().body).unwrap()
}

fn main() {
    // Cargo says `--bench`; anything else is part of the names of the presets to look at.
    let wanted: Vec<String> = env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    println!("Milliseconds of an answer: when a preset is opened; median of {MOVES} moves; largest");
    for entry in get("/api/presets").as_array().unwrap() {
        let preset = entry["preset"].as_str().unwrap();
        if !wanted.is_empty() && !wanted.iter().any(|part| preset.contains(part.as_str())) {
            continue;
        }
        // What has no levels has nothing to move.
        let Ok(read) = unspent_explorer::get(&format!("/api/presets/{preset}")) else { continue };
        let start = serde_json::from_str::<Value>(&read.body).unwrap()["draft"].clone();
        let total = json!({ "scope": "total", "name": null });
        let mut row = format!("  {preset:<26}");
        let only = env::var("ONLY").ok();
        for what in
            ["certificate", "curve", "tradeoff"].into_iter().filter(|w| only.as_ref().is_none_or(|o| o == w))
        {
            let question = |draft: &Value| match what {
                "certificate" => {
                    ("/api/certificate", json!({ "release": [{ "draft": draft }], "reductions": false }))
                }
                figure => {
                    ("/api/figure", json!({ "figure": figure, "draft": draft, "start": null, "part": total }))
                }
            };
            let time = |draft: &Value| {
                let (path, body) = question(draft);
                ask(path, &body).1
            };
            let opened = time(&start);
            let mut times: Vec<f64> = (0..MOVES)
                .map(|i| {
                    let mut draft = start.clone();
                    draft["levels"][1]["share"] = json!(format!("0.{}", 100 + 17 * i));
                    time(&draft)
                })
                .collect();
            times.sort_by(f64::total_cmp);
            row += &format!("  {what} {opened:6.1} {:6.1} {:6.1}", times[MOVES / 2], times[MOVES - 1]);
        }
        println!("{row}");
    }
}
