//! The server's own source, attended in memory, and the questions that reach it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::Runtime;
use unspent::Stop;

#[path = "../../crates/unspent-cli/src/serve/http.rs"]
#[allow(dead_code, reason = "what listens is not needed here")]
mod server;
#[path = "../../crates/unspent-cli/src/serve/turns.rs"]
mod turns;

use server::Server;

const ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8020);
/// What a server gives an answer, here.
const TO_ANSWER: Duration = Duration::from_millis(500);
/// Nothing that a server does with one request takes longer.
const HANGS: Duration = Duration::from_secs(30);

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a thread")
});

/// A path, a line feed, and a body: what is asked with POST.
pub(crate) fn question(bytes: &[u8]) -> bool {
    let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else { return false };
    let (path, body) = (String::from_utf8_lossy(&bytes[..end]), &bytes[end + 1..]);
    // It may take long, and then has to end when it is told.
    let answer = Stop::after(TO_ANSWER).run(|| Ok(unspent_explorer::answer(&path, body)));
    let Ok(answer) = answer else { return true };
    match answer {
        Ok(reply) => {
            assert_eq!(reply.status, 200);
            let json = reply.kind == "application/json";
            assert!(!json || serde_json::from_str::<serde_json::Value>(&reply.body).is_ok());
            true
        }
        Err(trouble) => {
            let reply = unspent_explorer::Reply::from(trouble);
            assert!((400..500).contains(&reply.status), "{}", reply.status);
            // Understood, and refused.
            reply.status == 422
        }
    }
}

/// Everything a connection sends. Whatever it is: answers are whole, none is a defect, all forbid other
/// sites, and nothing is given to who names another host.
pub(crate) fn request(bytes: &[u8]) -> bool {
    let bytes = bytes.to_vec();
    let sent = bytes.clone();
    let received = RUNTIME.block_on(async move {
        let server = Arc::new(Server::new(ADDRESS, TO_ANSWER));
        let place = server.place_for(ADDRESS.ip()).await;
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let attended = tokio::spawn(place.attend(theirs));
        let (mut reader, mut writer) = tokio::io::split(ours);
        let sending = tokio::spawn(async move {
            // It may close before it has read all.
            let _ = writer.write_all(&bytes).await;
            let _ = writer.shutdown().await;
        });
        let mut received = vec![];
        let receiving = reader.read_to_end(&mut received);
        tokio::time::timeout(HANGS, receiving).await.expect("the server hangs").expect("memory is read");
        sending.await.expect("the sender does not panic");
        attended.await.expect("the connection's task does not panic");
        received
    });
    check(&sent, &received)
}

fn check(sent: &[u8], received: &[u8]) -> bool {
    let text = String::from_utf8_lossy(received);
    let mut good = false;
    for head in text.split("HTTP/1.").skip(1).filter(|part| part.starts_with("1 ") || part.starts_with("0 "))
    {
        let status: u16 = head.get(2..5).and_then(|digits| digits.parse().ok()).unwrap_or(0);
        // 100 says to go on; hyper itself answers 400, 414 and 431, before anybody of us was asked.
        let known = [100, 200, 400, 403, 404, 405, 408, 413, 414, 415, 421, 422, 431, 503];
        assert!(known.contains(&status), "status {status}");
        if status == 200 {
            good = true;
            assert!(head.contains("content-security-policy: default-src 'none'"), "{head}");
            let lower = String::from_utf8_lossy(sent).to_ascii_lowercase();
            let named = ["127.", "localhost:8020", "[::1]:8020", "[::ffff:127.", "[0"];
            assert!(named.iter().any(|name| lower.contains(name)), "an answer for another host: {lower}");
        }
    }
    good
}
