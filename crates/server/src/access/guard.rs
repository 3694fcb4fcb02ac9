//! Keeps pages of other sites from using the browser of somebody who can reach this server.
//!
//! A page anywhere can have its visitor's browser send requests to `localhost`, and by a name that it has resolve
//! to 127.0.0.1 even read the answers. So at addresses of loopback the name in `Host` must be one of ours, and
//! everywhere a request that a browser marks as another site's is refused, whatever its content type.

use http::{HeaderMap, HeaderValue, Method, Request, header, uri::Authority};
use tokio::net::TcpListener;

use crate::{assets, net::Refusal};

/// The names under which we may be asked for.
#[derive(Debug)]
pub(crate) struct Guard {
    /// In lower case. Where there are none, every name will do.
    hosts: Vec<String>,
}

const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

impl Guard {
    pub(crate) fn new(hosts: &[String], listeners: &[TcpListener]) -> Self {
        let is_local =
            listeners.iter().filter_map(|it| it.local_addr().ok()).all(|it| it.ip().is_loopback());
        if hosts.is_empty() && !is_local {
            return Self { hosts: Vec::new() };
        }
        let configured = hosts.iter().map(|it| it.to_ascii_lowercase());
        Self { hosts: LOOPBACK.iter().map(|it| (*it).to_owned()).chain(configured).collect() }
    }

    pub(crate) fn check<B>(&self, request: &Request<B>) -> Result<(), Refusal> {
        let authority = authority(request)?;
        if let Some(authority) = &authority
            && !self.knows(authority)
        {
            return Err(Refusal::Host);
        }
        if is_link(request) || is_ours(request.method(), request.headers(), authority.as_ref()) {
            Ok(())
        } else {
            Err(Refusal::Origin)
        }
    }

    fn knows(&self, authority: &Authority) -> bool {
        let host = authority.host();
        self.hosts.is_empty() || self.hosts.iter().any(|it| it.eq_ignore_ascii_case(host))
    }
}

/// Whom the request is to, where it says so.
fn authority<B>(request: &Request<B>) -> Result<Option<Authority>, Refusal> {
    let mut named = request.headers().get_all(header::HOST).iter();
    let (host, further) = (named.next(), named.next());
    if further.is_some() {
        return Err(Refusal::Host);
    }
    let host = host.map(|it| Authority::try_from(it.as_bytes())).transpose();
    let host = host.map_err(|_| Refusal::Host)?;
    match (request.uri().authority(), host) {
        // Two that differ are meant to fool somebody.
        (Some(uri), Some(host)) if !uri.as_str().eq_ignore_ascii_case(host.as_str()) => {
            Err(Refusal::Host)
        }
        (Some(uri), _) if uri.as_str().contains('@') => Err(Refusal::Host),
        (_, Some(host)) if host.as_str().contains('@') => Err(Refusal::Host),
        (Some(uri), _) => Ok(Some(uri.clone())),
        (None, Some(host)) => Ok(Some(host)),
        // HTTP/1.0 need not say it; no browser speaks that.
        (None, None) if request.version() < http::Version::HTTP_11 => Ok(None),
        (None, None) => Err(Refusal::Host),
    }
}

/// Whether somebody follows a link to our page, wherever it stood. The page is the same for all, and no frame.
fn is_link<B>(request: &Request<B>) -> bool {
    let says =
        |name, what: &[u8]| request.headers().get(name).is_some_and(|it| it.as_bytes() == what);
    request.method() == Method::GET
        && assets::is_asset(request.uri().path())
        && request.headers().get(header::ORIGIN).is_none()
        && says("sec-fetch-mode", b"navigate")
        && says("sec-fetch-dest", b"document")
}

/// Whether no page, or one of our own, sends this.
fn is_ours(method: &Method, headers: &HeaderMap, authority: Option<&Authority>) -> bool {
    let mut origins = headers.get_all(header::ORIGIN).iter();
    if let Some(origin) = origins.next() {
        let same = origin_of(origin).is_some_and(|it| {
            authority.is_some_and(|authority| it.eq_ignore_ascii_case(authority.as_str()))
        });
        if !same || origins.next().is_some() {
            return false;
        }
    }
    match headers.get("sec-fetch-site").map(HeaderValue::as_bytes) {
        None | Some(b"same-origin" | b"none") => true,
        // Another port of this machine: browsers keep what we answer from its pages.
        Some(b"same-site") => method.is_safe() && headers.get(header::ORIGIN).is_none(),
        Some(_) => false,
    }
}

/// Host and port of an origin.
fn origin_of(origin: &HeaderValue) -> Option<&str> {
    let origin = origin.to_str().ok()?;
    origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"))
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn check(headers: &[(&str, &str)]) -> Result<(), Refusal> {
        check_for("POST", headers)
    }

    fn check_for(method: &str, headers: &[(&str, &str)]) -> Result<(), Refusal> {
        let guard = Guard {
            hosts: LOOPBACK.iter().copied().chain(["flow.example"]).map(str::to_owned).collect(),
        };
        let mut request = Request::builder().method(method).uri("/v2/deployments");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        guard.check(&request.body(()).expect("the request is well formed"))
    }

    #[test]
    fn only_exact_names_of_this_server_are_answered() {
        for host in [
            "localhost",
            "localhost:8080",
            "LOCALHOST:8080",
            "127.0.0.1:8080",
            "[::1]:8080",
            "flow.example",
        ] {
            assert_eq!(check(&[("host", host)]), Ok(()), "{host}");
        }
        for host in [
            "127.0.0.1.evil.com",
            "127.0.0.1.evil.com:8080",
            "localhost.evil.com",
            "evil.com",
            "evil.com:127",
            "localhost@evil.com",
            "127.0.0.2",
            "[::2]",
            "0.0.0.0:8080",
            "2130706433",
            "a b",
            "",
        ] {
            assert_eq!(check(&[("host", host)]), Err(Refusal::Host), "{host}");
        }
        assert_eq!(check(&[]), Err(Refusal::Host));
        assert_eq!(check(&[("host", "localhost"), ("host", "evil.com")]), Err(Refusal::Host));
    }

    #[test]
    fn pages_of_other_sites_are_refused_whatever_they_send() {
        let host = ("host", "localhost:8080");
        for origin in [
            "http://evil.com",
            "null",
            "http://localhost:3000",
            "http://localhost",
            "http://localhost:8080.evil.com",
            "file://",
        ] {
            for content in ["multipart/form-data; boundary=x", "text/plain", "application/json"] {
                let headers = [host, ("origin", origin), ("content-type", content)];
                assert_eq!(check(&headers), Err(Refusal::Origin), "{origin} {content}");
            }
        }
        assert_eq!(check(&[host, ("sec-fetch-site", "cross-site")]), Err(Refusal::Origin));
        assert_eq!(check(&[host, ("sec-fetch-site", "same-site")]), Err(Refusal::Origin));
        assert_eq!(
            check_for("GET", &[host, ("sec-fetch-site", "cross-site")]),
            Err(Refusal::Origin)
        );
    }

    #[test]
    fn links_elsewhere_lead_to_the_page_and_to_nothing_else() {
        let headers = [
            ("host", "localhost:8080"),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", "document"),
        ];
        let follow = |method: &str, path: &str, dest: &str| {
            let guard = Guard { hosts: LOOPBACK.map(str::to_owned).to_vec() };
            let mut request = Request::builder().method(method).uri(path);
            for (name, value) in headers {
                request = request.header(name, if name == "sec-fetch-dest" { dest } else { value });
            }
            guard.check(&request.body(()).expect("the request is well formed"))
        };
        assert_eq!(follow("GET", "/ui/instances/12-7", "document"), Ok(()));
        assert_eq!(follow("GET", "/", "document"), Ok(()));
        assert_eq!(follow("GET", "/ui/", "iframe"), Err(Refusal::Origin));
        assert_eq!(follow("POST", "/ui/", "document"), Err(Refusal::Origin));
        assert_eq!(follow("GET", "/v2/topology", "document"), Err(Refusal::Origin));
    }

    #[test]
    fn our_own_pages_and_programs_are_answered() {
        let host = ("host", "localhost:8080");
        assert_eq!(check(&[host]), Ok(()));
        let ours = ("origin", "http://localhost:8080");
        assert_eq!(check(&[host, ours, ("sec-fetch-site", "same-origin")]), Ok(()));
        assert_eq!(check(&[host, ("sec-fetch-site", "none")]), Ok(()));
    }
}
