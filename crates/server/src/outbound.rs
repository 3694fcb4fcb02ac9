//! The one way out: requests of this server to others, which must be no way into the inside.
//!
//! A name is resolved here, each address is looked at, and the connection goes to an address that was looked at, so
//! that a name which changes changes nothing. Redirects are not followed; answers are read as far as they may be long.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    str::FromStr,
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri, header, uri::Scheme};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, lookup_host},
    time::timeout,
};
use tokio_rustls::TlsConnector;

/// Addresses, as those that begin alike.
///
/// ```
/// # use travertine_server::Network;
/// let inside: Network = "10.1.0.0/16".parse()?;
/// assert!(inside.has("10.1.2.3".parse().unwrap()));
/// assert!(!inside.has("10.2.0.1".parse().unwrap()));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    first: IpAddr,
    bits: u8,
}

impl Network {
    /// Whether an address is one of these.
    ///
    /// ```
    /// # use travertine_server::Network;
    /// assert!("::1".parse::<Network>().unwrap().has("::1".parse().unwrap()));
    /// ```
    pub fn has(&self, address: IpAddr) -> bool {
        match (self.first, address.to_canonical()) {
            (IpAddr::V4(first), IpAddr::V4(it)) => {
                let rest = 32_u32.saturating_sub(u32::from(self.bits));
                first.to_bits().checked_shr(rest) == it.to_bits().checked_shr(rest)
            }
            (IpAddr::V6(first), IpAddr::V6(it)) => {
                let rest = 128_u32.saturating_sub(u32::from(self.bits));
                first.to_bits().checked_shr(rest) == it.to_bits().checked_shr(rest)
            }
            _ => false,
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.bits)
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text} names no addresses; write them like 10.1.0.0/16");
        let (first, bits) = text.split_once('/').map_or((text, None), |(a, b)| (a, Some(b)));
        let first: IpAddr = first.parse().map_err(|_| wrong())?;
        let most = if first.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(most), str::parse).map_err(|_| wrong())?;
        if bits > most {
            return Err(wrong());
        }
        Ok(Self { first, bits })
    }
}

/// How long connecting and one whole request may take.
const PATIENCE: Duration = Duration::from_secs(15);

/// How much of an answer is read.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// Asks others.
#[derive(Clone)]
pub(crate) struct Outbound {
    allowed: Arc<[Network]>,
    tls: Arc<rustls::ClientConfig>,
}

impl fmt::Debug for Outbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbound").field("allowed", &self.allowed).finish_non_exhaustive()
    }
}

/// Why nothing was answered. It says nothing about what is inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unanswered {
    /// It is no address of a page of somebody else.
    BadUrl(&'static str),
    /// Its name leads inside.
    Inside,
    /// Nobody has that name.
    Unknown,
    /// It could not be connected to, or hung up.
    Failed(&'static str),
    /// It took too long.
    Late,
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadUrl(why) => f.write_str(why),
            Self::Inside => f.write_str(
                "it leads to an address of an inner network, which connect.allow does not have",
            ),
            Self::Unknown => f.write_str("nobody has that name"),
            Self::Failed(what) => write!(f, "{what} failed"),
            Self::Late => f.write_str("it took too long"),
        }
    }
}

/// What is asked for, by whom it is asked of.
struct Target {
    host: String,
    port: u16,
    is_tls: bool,
    authority: HeaderValue,
    path: Uri,
}

impl Outbound {
    /// Asks whoever is outside, and in these networks.
    pub(crate) fn new(allowed: &[Network]) -> Self {
        let mut roots = rustls::RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the provider knows the usual versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        Self { allowed: allowed.into(), tls: Arc::new(tls) }
    }

    /// Refuses what can never be asked.
    pub(crate) fn check(&self, url: &str) -> Result<(), Unanswered> {
        let target = target(url)?;
        match target.host.parse::<IpAddr>() {
            Ok(address) if !self.may(address) => Err(Unanswered::Inside),
            _ => Ok(()),
        }
    }

    fn may(&self, address: IpAddr) -> bool {
        is_outside(address) || self.allowed.iter().any(|it| it.has(address))
    }

    /// Sends something, and says how that was answered, with the beginning of what was said.
    pub(crate) async fn send(
        &self,
        method: Method,
        url: &str,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<(StatusCode, Bytes), Unanswered> {
        let target = target(url)?;
        let asked = self.ask(target, method, headers, body);
        timeout(PATIENCE, asked).await.unwrap_or(Err(Unanswered::Late))
    }

    async fn ask(
        &self,
        target: Target,
        method: Method,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<(StatusCode, Bytes), Unanswered> {
        let stream = self.connect(&target).await?;
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = target.path;
        *request.headers_mut() = headers;
        request.headers_mut().insert(header::HOST, target.authority);
        if target.is_tls {
            let name = ServerName::try_from(target.host)
                .map_err(|_| Unanswered::BadUrl("no certificate can be of such a host"))?;
            let connector = TlsConnector::from(Arc::clone(&self.tls));
            let stream = connector.connect(name, stream).await;
            exchange(stream.map_err(|_| Unanswered::Failed("the handshake of TLS"))?, request).await
        } else {
            exchange(stream, request).await
        }
    }

    /// Connects to the first address that may be asked and answers.
    async fn connect(&self, target: &Target) -> Result<TcpStream, Unanswered> {
        let found = lookup_host((target.host.as_str(), target.port)).await;
        let all: Vec<SocketAddr> = found.map_err(|_| Unanswered::Unknown)?.collect();
        if all.is_empty() {
            return Err(Unanswered::Unknown);
        }
        let mut refused = Unanswered::Inside;
        for address in all.into_iter().filter(|it| self.may(it.ip())) {
            match TcpStream::connect(address).await {
                Ok(stream) => return Ok(stream),
                Err(_) => refused = Unanswered::Failed("connecting"),
            }
        }
        Err(refused)
    }
}

async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    request: Request<Full<Bytes>>,
) -> Result<(StatusCode, Bytes), Unanswered> {
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|_| Unanswered::Failed("connecting"))?;
    let connection = tokio::spawn(connection);
    let answer = sender.send_request(request).await;
    let answer = answer.map_err(|_| Unanswered::Failed("the request"))?;
    let status = answer.status();
    // What is longer is not read to its end, and is no reason to send it again.
    let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect().await;
    connection.abort();
    Ok((status, body.map(http_body_util::Collected::to_bytes).unwrap_or_default()))
}

fn target(url: &str) -> Result<Target, Unanswered> {
    let bad = |why| Err(Unanswered::BadUrl(why));
    let Ok(uri) = url.parse::<Uri>() else { return bad("that is no URL") };
    let is_tls = match uri.scheme() {
        Some(it) if *it == Scheme::HTTP => false,
        Some(it) if *it == Scheme::HTTPS => true,
        _ => return bad("a URL begins with http:// or https://"),
    };
    let Some(authority) = uri.authority() else { return bad("a URL names a host") };
    if authority.as_str().contains('@') {
        return bad("names and passwords are not part of a URL");
    }
    let port = match authority.as_str().strip_prefix(authority.host()) {
        None | Some("") => Some(if is_tls { 443 } else { 80 }),
        Some(port) => port.strip_prefix(':').and_then(|it| it.parse().ok()).filter(|it| *it > 0),
    };
    let Some(port) = port else { return bad("the port of a URL is a number from 1 to 65535") };
    let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
    let path = uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let Ok(path) = path.parse() else { return bad("that is no URL") };
    let Ok(authority) = HeaderValue::from_str(authority.as_str()) else {
        return bad("that is no URL");
    };
    Ok(Target { host, port, is_tls, authority, path })
}

/// Refuses what is no URL that can be told anything.
///
/// ```
/// # use travertine_server::check_url;
/// assert!(check_url("https://sink.example/orders").is_ok());
/// assert!(check_url("sink.example").unwrap_err().contains("http://"));
/// ```
pub fn check_url(url: &str) -> Result<(), String> {
    target(url).map(drop).map_err(|it| it.to_string())
}

/// Whether an address is one of the public network.
fn is_outside(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(it) => is_outside_v4(it),
        IpAddr::V6(it) => is_outside_v6(it),
    }
}

fn is_outside_v4(it: Ipv4Addr) -> bool {
    let [a, b, c, _] = it.octets();
    let inside = it.is_loopback()
        || it.is_private()
        || it.is_link_local()
        || it.is_unspecified()
        || it.is_broadcast()
        || it.is_multicast()
        || it.is_documentation()
        || a == 0
        || a >= 240
        // Shared by providers, for protocols, for measuring.
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && (18..20).contains(&b));
    !inside
}

fn is_outside_v6(it: Ipv6Addr) -> bool {
    let parts = it.segments();
    let inner = |at: usize| {
        let [a, b] = parts[at].to_be_bytes();
        let [c, d] = parts[at + 1].to_be_bytes();
        Ipv4Addr::new(a, b, c, d)
    };
    match parts {
        // Addresses that stand for older ones.
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => is_outside_v4(inner(6)),
        [0x2002, ..] => is_outside_v4(inner(1)),
        [0x2001, 0 | 0xdb8, ..] => false,
        // What is given out to the public begins with these three bits.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn may(address: &str) -> bool {
        Outbound::new(&[]).may(address.parse().unwrap())
    }

    #[test]
    fn nothing_inside_is_asked() {
        for inside in [
            "127.0.0.1",
            "127.8.8.8",
            "0.0.0.0",
            "10.0.0.1",
            "172.16.3.4",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001::1",
        ] {
            assert!(!may(inside), "{inside}");
        }
        for outside in ["1.1.1.1", "93.184.215.14", "2606:4700::1111", "64:ff9b::101:101"] {
            assert!(may(outside), "{outside}");
        }
    }

    #[test]
    fn networks_are_allowed_by_how_their_addresses_begin() {
        let allowed = Outbound::new(&["10.1.0.0/16".parse().unwrap(), "::1".parse().unwrap()]);
        let may = |it: &str| allowed.may(it.parse().unwrap());
        assert!(may("10.1.255.1") && may("::ffff:10.1.0.9") && may("::1"));
        assert!(!may("10.2.0.1") && !may("127.0.0.1"));
        assert!("0.0.0.0/0".parse::<Network>().unwrap().has("8.8.8.8".parse().unwrap()));
        for wrong in ["10.1", "10.1.0.0/33", "::/129", "a/8", "10.0.0.0/x"] {
            assert!(wrong.parse::<Network>().is_err(), "{wrong}");
        }
    }

    #[tokio::test]
    async fn however_an_address_is_written_it_is_looked_at() {
        let nobody = Outbound::new(&[]);
        for url in [
            "http://127.0.0.1:1/",
            "http://localhost:1/",
            "http://2130706433:1/",
            "http://0x7f000001:1/",
            "http://[::1]:1/",
            "http://[::ffff:127.0.0.1]:1/",
            "https://169.254.169.254/latest/meta-data",
        ] {
            let said = nobody.send(Method::POST, url, HeaderMap::new(), Bytes::new()).await;
            // Some machines do not read numbers as addresses at all.
            assert!(
                matches!(said, Err(Unanswered::Inside | Unanswered::Unknown)),
                "{url}: {said:?}"
            );
        }
        for url in ["ftp://a.example/", "a.example", "http://ann:secret@a.example/", "http:///x"] {
            assert!(matches!(nobody.check(url), Err(Unanswered::BadUrl(_))), "{url}");
        }
        assert_eq!(nobody.check("http://10.0.0.1/x"), Err(Unanswered::Inside));
        assert_eq!(nobody.check("https://a.example/x?y=1"), Ok(()));
    }
}
