//! Who may ask, how much and how long: everything between the network and an answer.
//!
//! - Only requests that name this machine are answered (the `Host` header), and only pages of this server may
//!   send drafts (`Origin`, `Content-Type`): a web site that makes its own name point here gets nothing.
//! - A request has ten seconds and a megabyte. There are so many connections: whoever comes when they are
//!   taken gets the place of one that asks nothing, so that a crowd that never finishes a request keeps
//!   nobody out.
//! - An answer has some seconds. Those that have had the least time are worked on first (`turns`), so that
//!   who moves a slider need not wait for who asks what takes long. Work for somebody who has left ends.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::{task, time};
use unspent_explorer::{self as explorer, Reply, Trouble, page};

use super::turns::{Turns, Unanswered};
use crate::Failure;

/// Most bytes of a request's body: thousands of measurements.
const MAX_BODY: usize = 1 << 20;
/// Connections at a time.
const MAX_CONNECTIONS: usize = 128;
/// How long a request may take to arrive.
const TO_ARRIVE: Duration = Duration::from_secs(10);
/// How long a connection may last; pages open another without a word.
const LIFETIME: Duration = Duration::from_secs(60);
/// How long it may last beyond that, to finish what it is about: an answer in the making, and one to be read.
const TO_FINISH: Duration = Duration::from_secs(60);
/// The longest that any answer may be allowed to take, so that its connection still stands.
pub const MOST_TO_ANSWER: Duration = LIFETIME.saturating_add(Duration::from_secs(30));

/// The page asks its own server and nobody else, and is shown in nobody else's.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What all connections share.
pub struct Server {
    address: SocketAddr,
    /// How long any answer may take.
    to_answer: Duration,
    connections: Mutex<Connections>,
    /// Told when a connection has ended, or asks nothing any more.
    room: Notify,
    /// Answers in the making.
    turns: Arc<Turns>,
    /// Whoever undoes a step, or shares a link, asks the same again.
    given: Mutex<Given>,
}

/// Who is connected.
#[derive(Default)]
struct Connections {
    last: u64,
    /// By when they began to be idle: from the one that has been so for the longest.
    open: BTreeMap<u64, Connection>,
}

struct Connection {
    peer: IpAddr,
    /// Whether it has asked something that is not answered yet.
    asks: bool,
    task: Option<task::AbortHandle>,
}

impl Connections {
    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// A place for somebody new, if need be that of another who asks nothing: of those who have the most, the
    /// longest idle one.
    fn place_for(&mut self, peer: IpAddr) -> Option<u64> {
        if self.open.len() >= MAX_CONNECTIONS {
            let mut many: HashMap<IpAddr, usize> = HashMap::new();
            for other in self.open.values() {
                *many.entry(other.peer).or_default() += 1;
            }
            let idle = self.open.iter().filter(|(_, other)| !other.asks);
            // The last of equals is the latest: from the end, so that it is the longest idle.
            let (&place, _) = idle.rev().max_by_key(|(_, other)| many[&other.peer])?;
            if let Some(task) = self.open.remove(&place).and_then(|other| other.task) {
                task.abort();
            }
        }
        let place = self.next();
        self.open.insert(place, Connection { peer, asks: false, task: None });
        Some(place)
    }
}

/// A place among the connections, while it lives.
pub struct Place {
    server: Arc<Server>,
    number: Mutex<u64>,
}

impl Place {
    /// While what it returns lives, the connection is waiting for an answer.
    fn asking(&self) -> Asking<'_> {
        self.set(true);
        Asking(self)
    }

    fn set(&self, asks: bool) {
        let mut connections = self.server.connections.lock().expect("nothing panics with it");
        let mut number = self.number.lock().expect("nothing panics with it");
        // It may have lost its place a moment ago.
        if let Some(mut connection) = connections.open.remove(&number) {
            connection.asks = asks;
            *number = connections.next();
            connections.open.insert(*number, connection);
        }
        drop(connections);
        self.server.room.notify_one();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let number = *self.number.lock().expect("nothing panics with it");
        self.server.connections.lock().expect("nothing panics with it").open.remove(&number);
        self.server.room.notify_one();
    }
}

struct Asking<'p>(&'p Place);

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

/// The last answers, by path and body.
#[derive(Default)]
struct Given {
    answers: HashMap<(String, Bytes), Arc<Reply>>,
    /// From the oldest.
    order: VecDeque<(String, Bytes)>,
    bytes: usize,
}

impl Given {
    const MOST_BYTES: usize = 16 << 20;
    /// Of both lists, for an entry.
    const OVERHEAD: usize = 512;

    fn size((path, body): &(String, Bytes), reply: &Reply) -> usize {
        Given::OVERHEAD + 2 * path.len() + body.len() + reply.body.len()
    }

    fn keep(&mut self, (path, body): (String, Bytes), reply: &Arc<Reply>) {
        // A copy: what was received is a part of a larger buffer.
        let asked = (path, Bytes::copy_from_slice(&body));
        let size = Given::size(&asked, reply);
        if size > Given::MOST_BYTES / 16 || self.answers.contains_key(&asked) {
            return;
        }
        self.bytes += size;
        self.order.push_back(asked.clone());
        self.answers.insert(asked, reply.clone());
        while self.bytes > Given::MOST_BYTES {
            let oldest = self.order.pop_front().expect("something takes the bytes");
            let reply = self.answers.remove(&oldest).expect("both know it");
            self.bytes -= Given::size(&oldest, &reply);
        }
    }
}

/// A page, a part of it, or what needs no question.
fn found(path: &str) -> explorer::Result<Reply> {
    match page::served(path) {
        Some((kind, text)) => Ok(Reply { status: 200, kind, body: text.into() }),
        None => explorer::get(path),
    }
}

/// Listens until the process ends; `ready` is told where. An answer may take as long as `to_answer`.
pub fn serve(
    address: SocketAddr,
    to_answer: Duration,
    ready: impl FnOnce(SocketAddr) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let cannot = |error: std::io::Error| {
        let hint = match error.kind() {
            std::io::ErrorKind::AddrInUse => "another program has that port; --port 0 takes one that is free",
            std::io::ErrorKind::PermissionDenied => "ports below 1024 are for the system; try --port 8020",
            _ => "check the address",
        };
        Failure::other(format!("{address}: cannot listen: {error}"), hint)
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(cannot)?;
    runtime.block_on(async {
        let listener = TcpListener::bind(address).await.map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        ready(address)?;
        let server = Arc::new(Server::new(address, to_answer));
        loop {
            let Ok((stream, peer)) = listener.accept().await else {
                // Out of file descriptors, say: others will close theirs.
                time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            let place = server.place_for(peer.ip()).await;
            let number = *place.number.lock().expect("nothing panics with it");
            // Held until the task is known: it may begin at once, and move to another number.
            let mut connections = server.connections.lock().expect("nothing panics with it");
            let task = task::spawn(place.attend(stream));
            connections.open.get_mut(&number).expect("it was just placed").task = Some(task.abort_handle());
        }
    })
}

impl Place {
    /// Answers whoever is at the other end, until one of both has had enough.
    pub async fn attend(self, stream: impl AsyncRead + AsyncWrite + Unpin) {
        let service =
            service_fn(|request| async { Ok::<_, Infallible>(self.server.respond(request, &self).await) });
        let mut connection = pin!(
            http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(TO_ARRIVE)
                .max_buf_size(64 << 10)
                .serve_connection(TokioIo::new(stream), service)
        );
        // A connection that breaks is the other side's affair; one that does not read its answers is closed
        // too.
        if time::timeout(LIFETIME, connection.as_mut()).await.is_err() {
            connection.as_mut().graceful_shutdown();
            let _ = time::timeout(TO_FINISH, connection).await;
        }
    }
}

impl Server {
    /// One that nobody is connected to, and that believes to be at that address.
    pub fn new(address: SocketAddr, to_answer: Duration) -> Server {
        Server {
            address,
            to_answer,
            connections: Mutex::default(),
            room: Notify::new(),
            turns: Arc::new(Turns::new()),
            given: Mutex::default(),
        }
    }

    /// A place for somebody new, as soon as there is one.
    pub async fn place_for(self: &Arc<Server>, peer: IpAddr) -> Place {
        loop {
            let found = self.connections.lock().expect("nothing panics with it").place_for(peer);
            match found {
                Some(number) => return Place { server: self.clone(), number: Mutex::new(number) },
                // All of them wait for an answer.
                None => self.room.notified().await,
            }
        }
    }

    async fn respond(&self, request: Request<Incoming>, place: &Place) -> Response<Full<Bytes>> {
        let began = Instant::now();
        let head = request.method() == Method::HEAD;
        let reply = self.reply(request, place).await.unwrap_or_else(|trouble| Arc::new(Reply::from(trouble)));
        let mut response = Response::new(if head { Full::default() } else { Full::from(reply.body.clone()) });
        *response.status_mut() = StatusCode::from_u16(reply.status).expect("statuses are ours");
        let headers = response.headers_mut();
        let milliseconds = 1e3 * began.elapsed().as_secs_f64();
        for (name, value) in [
            (header::CONTENT_TYPE, reply.kind),
            (header::CONTENT_SECURITY_POLICY, POLICY),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::REFERRER_POLICY, "no-referrer"),
            (header::CACHE_CONTROL, "no-store"),
            (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        let timing = HeaderValue::from_str(&format!("total;dur={milliseconds:.2}")).expect("digits");
        headers.insert("server-timing", timing);
        if reply.status == 503 {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        // What was not read of a body that is too long, or too slow, would be taken for the next request.
        if matches!(reply.status, 408 | 413) {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    async fn reply(&self, request: Request<Incoming>, place: &Place) -> explorer::Result<Arc<Reply>> {
        self.check_host(&request)?;
        let path = request.uri().path().to_string();
        match *request.method() {
            Method::GET | Method::HEAD => return found(&path).map(Arc::new),
            Method::POST => explorer::takes_body(&path)?,
            _ => {
                let hint = "pages and lists are asked for with GET, answers with POST";
                return Err(Trouble::new(405, format!("{} is not understood", request.method()), hint));
            }
        }
        self.check_sender(request.headers())?;
        let body = self.body(request).await?;
        let _asking = place.asking();
        let asked = (path, body);
        if let Some(reply) = self.given.lock().expect("nothing panics with it").answers.get(&asked) {
            return Ok(reply.clone());
        }
        let (path, body) = asked.clone();
        let answer = self.turns.work(self.to_answer, move || explorer::answer(&path, &body)).await;
        let reply = Arc::new(answer.map_err(|why| self.trouble(why))??);
        self.given.lock().expect("nothing panics with it").keep(asked, &reply);
        Ok(reply)
    }

    fn trouble(&self, why: Unanswered) -> Box<Trouble> {
        match why {
            Unanswered::Crowded => Trouble::new(503, "too many questions at a time", "ask again in a moment"),
            Unanswered::Late => {
                let cause = match self.to_answer.as_secs() {
                    1 => "the answer took longer than 1 second".into(),
                    seconds => format!("the answer took longer than {seconds} seconds"),
                };
                let hint = "ask for fewer levels and queries, or start the server with a larger \
                            --answer-within; the command has no such limit";
                Trouble::new(422, cause, hint)
            }
            Unanswered::Defect => {
                let hint = "no answer is better than a wrong one; please report what was asked";
                Trouble::new(500, "a defect of unspent", hint)
            }
        }
    }

    /// All of the body, unless it is too long or takes too long.
    async fn body(&self, request: Request<Incoming>) -> explorer::Result<Bytes> {
        let too_long = || {
            let hint = "an allocation is a short text";
            Trouble::new(413, format!("the request is longer than {MAX_BODY} bytes"), hint)
        };
        let length =
            request.headers().get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<u64>().ok());
        if length.is_some_and(|length| length > MAX_BODY as u64) {
            return Err(too_long());
        }
        match time::timeout(TO_ARRIVE, Limited::new(request.into_body(), MAX_BODY).collect()).await {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => Err(too_long()),
            Ok(Err(_)) => Err(Trouble::new(400, "the request broke off", "send it again")),
            Err(_) => Err(Trouble::new(408, "the request took too long to arrive", "send it again")),
        }
    }

    /// A name that somebody else can point here is not ours: only addresses are, and `localhost`.
    fn check_host(&self, request: &Request<Incoming>) -> explorer::Result<()> {
        let mut hosts =
            request.headers().get_all(header::HOST).iter().map(|host| host.to_str().unwrap_or_default());
        let host = match (hosts.next(), hosts.next()) {
            (Some(host), None) => host,
            _ => "",
        };
        let named = request.uri().authority().is_none_or(|authority| authority.as_str() == host);
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port == self.address.port().to_string() => name,
            _ if self.address.port() == 80 => host,
            _ => "",
        };
        let literal = match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
            Some(inside) => inside.parse::<Ipv6Addr>().map(IpAddr::from),
            None => name.parse::<Ipv4Addr>().map(IpAddr::from),
        };
        let ours = match literal {
            Ok(address) => address.is_loopback() || !self.address.ip().is_loopback(),
            Err(_) => name.eq_ignore_ascii_case("localhost"),
        };
        if named && ours {
            return Ok(());
        }
        let hint = format!("this is http://{}/ and answers to no other name", self.address);
        Err(Trouble::new(421, "the request is for another host", hint))
    }

    /// Drafts come from the page, or from programs: not from other sites' forms.
    fn check_sender(&self, headers: &HeaderMap) -> explorer::Result<()> {
        let text =
            |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok()).unwrap_or_default();
        // All of them: of two that differ one is not ours.
        let ours = format!("http://{}", text(header::HOST));
        if headers.get_all(header::ORIGIN).iter().any(|origin| origin.as_bytes() != ours.as_bytes()) {
            return Err(Trouble::new(
                403,
                "the request comes from another site",
                "use the page of this server",
            ));
        }
        let kind = text(header::CONTENT_TYPE);
        if kind.split(';').next().map(str::trim) != Some("application/json") {
            let hint = "send JSON, with Content-Type: application/json";
            return Err(Trouble::new(415, format!("`{kind}` is not understood"), hint));
        }
        Ok(())
    }
}
