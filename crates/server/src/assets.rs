//! The web page: files that were built into the program, with the headers that keep it to itself.
//!
//! The page is one document for all of its addresses. Everything in it is relative to its `<base>`, and that is
//! relative to the address that was asked for: so it works below any path that a proxy puts it at, without being told.

use axum::{
    Router,
    body::Body,
    http::{HeaderMap, HeaderValue, Response, StatusCode, Uri, header},
    routing::get,
};
use travertine_ui::Asset;

/// What pages may do: nothing but what comes from here, no script or style within a document, no frame around them.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     font-src 'self'; connect-src 'self'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'";

/// The name of the document.
const INDEX: &str = "index.html";

/// What the document says its base is, where it lies as a file.
const BASE: &str = "<base href=\"./\" />";

/// Where the page is. Its files are for everybody: they are the same for all, and logging in is done in them.
pub(crate) fn is_asset(path: &str) -> bool {
    matches!(path, "/" | "/ui") || path.starts_with("/ui/")
}

/// The page, and what leads to it. `base` is the path below which a proxy has put the server, if it hands that on.
pub(crate) fn routes(base: &str) -> Router {
    let here = base.rsplit('/').next().unwrap_or_default().to_owned();
    let router = match base {
        "" => Router::new(),
        base => Router::new().route(base, get(async move || to(&format!("{here}/ui/")))),
    };
    router
        .route("/", get(async || to("ui/")))
        .route("/ui", get(async || to("ui/")))
        .route("/ui/", get(answer))
        .route("/ui/{*path}", get(answer))
}

/// Sends browsers elsewhere, relative to where they are.
fn to(path: &str) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::TEMPORARY_REDIRECT;
    if let Ok(path) = HeaderValue::try_from(path) {
        response.headers_mut().insert(header::LOCATION, path);
    }
    response
}

async fn answer(uri: Uri, headers: HeaderMap) -> Response<Body> {
    let path = uri.path().strip_prefix("/ui/").unwrap_or_default();
    let response = match travertine_ui::find(path) {
        Some(asset) if path != INDEX => file(asset, &headers),
        // What an older page asks for; it says then that there is a newer one.
        _ if path.starts_with("assets/") || path.starts_with(travertine_ui::EDITORS) => {
            let mut response = Response::new(Body::from("there is no such file in this version\n"));
            *response.status_mut() = StatusCode::NOT_FOUND;
            response
        }
        _ => document(path, &headers),
    };
    guarded(response)
}

/// A file as it is, in the form that the browser can read.
fn file(asset: &'static Asset, headers: &HeaderMap) -> Response<Body> {
    let packed = takes_gzip(headers);
    // Two forms of a file are two things to a cache.
    let tag = format!("\"{}{}\"", asset.hash, if packed { "-gz" } else { "" });
    let mut response =
        tagged(&tag, headers, || Body::from(if packed { asset.gzip } else { asset.bytes }));
    let into = response.headers_mut();
    let kept =
        if asset.is_immutable() { "public, max-age=31536000, immutable" } else { "no-cache" };
    into.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.content_type));
    into.insert(header::CACHE_CONTROL, HeaderValue::from_static(kept));
    into.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if packed && response.status() == StatusCode::OK {
        response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

/// The document, whose base is as many steps up as its address is deep.
fn document(path: &str, headers: &HeaderMap) -> Response<Body> {
    let Some(index) = travertine_ui::find(INDEX) else {
        let mut response = Response::new(Body::from("this program was built without its page\n"));
        *response.status_mut() = StatusCode::NOT_FOUND;
        return response;
    };
    let depth = path.matches('/').count();
    let up = if depth == 0 { "./".to_owned() } else { "../".repeat(depth) };
    let tag = format!("\"{}-{depth}\"", index.hash);
    let mut response = tagged(&tag, headers, || {
        let text = String::from_utf8_lossy(index.bytes);
        Body::from(text.replacen(BASE, &format!("<base href=\"{up}\" />"), 1))
    });
    let into = response.headers_mut();
    into.insert(header::CONTENT_TYPE, HeaderValue::from_static(index.content_type));
    into.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// Nothing, where the browser has it already.
fn tagged(tag: &str, headers: &HeaderMap, body: impl FnOnce() -> Body) -> Response<Body> {
    let known = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|it| it.to_str().ok());
    let known = known.flat_map(|it| it.split(',')).map(str::trim);
    let is_known = known.map(|it| it.trim_start_matches("W/")).any(|it| it == tag || it == "*");
    let mut response = Response::new(if is_known { Body::empty() } else { body() });
    if is_known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    if let Ok(tag) = HeaderValue::try_from(tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

fn takes_gzip(headers: &HeaderMap) -> bool {
    let named = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|it| it.to_str().ok());
    named.flat_map(|it| it.split(',')).any(|it| {
        let (name, how) = it.split_once(';').unwrap_or((it, ""));
        let refused = how
            .trim()
            .strip_prefix("q=")
            .is_some_and(|it| it.trim().parse::<f32>().is_ok_and(|it| it <= 0.0));
        name.trim().eq_ignore_ascii_case("gzip") && !refused
    })
}

fn guarded(mut response: Response<Body>) -> Response<Body> {
    let headers = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    let opener = header::HeaderName::from_static("cross-origin-opener-policy");
    response.headers_mut().insert(opener, HeaderValue::from_static("same-origin"));
    response
}

#[cfg(test)]
mod tests {
    use axum::http::Request;
    use http_body_util::BodyExt as _;
    use tower::ServiceExt as _;

    use super::*;

    async fn ask(path: &str, headers: &[(&str, &str)]) -> (StatusCode, HeaderMap, Vec<u8>) {
        let mut request = Request::builder().uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::empty()).expect("the request is well formed");
        let response = routes("/a/flow").oneshot(request).await.expect("routes answer");
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.expect("a body can be read").to_bytes().to_vec();
        (parts.status, parts.headers, bytes)
    }

    #[tokio::test]
    async fn every_address_of_the_page_has_a_base_that_leads_back_to_it() {
        for (path, base) in [
            ("/ui/", "./"),
            ("/ui/instances", "./"),
            ("/ui/instances/12-7", "../"),
            ("/ui/a/b/c", "../../"),
            ("/ui/index.html", "./"),
        ] {
            let (status, headers, bytes) = ask(path, &[]).await;
            assert_eq!(status, StatusCode::OK, "{path}");
            let text = String::from_utf8(bytes).expect("it is a text");
            assert!(text.contains(&format!("<base href=\"{base}\" />")), "{path}: {text}");
            assert_eq!(headers[header::CACHE_CONTROL], "no-cache");
            let policy = headers[header::CONTENT_SECURITY_POLICY].to_str().expect("it is a text");
            assert!(
                policy.contains("script-src 'self';") && !policy.contains("unsafe"),
                "{policy}"
            );
        }
    }

    #[tokio::test]
    async fn files_are_sent_once_and_compressed_where_that_is_understood() {
        let script = travertine_ui::all().iter().find(|it| it.is_immutable()).expect("there are");
        let path = format!("/ui/{}", script.name);
        let (status, headers, bytes) = ask(&path, &[("accept-encoding", "br, gzip;q=1")]).await;
        assert_eq!((status, &*bytes), (StatusCode::OK, script.gzip));
        assert_eq!(headers[header::CONTENT_ENCODING], "gzip");
        assert!(headers[header::CACHE_CONTROL].to_str().expect("a text").contains("immutable"));
        let tag = headers[header::ETAG].to_str().expect("a text").to_owned();
        let (status, _, bytes) =
            ask(&path, &[("accept-encoding", "gzip"), ("if-none-match", &tag)]).await;
        assert_eq!((status, bytes.len()), (StatusCode::NOT_MODIFIED, 0));
        for refused in ["", "br", "gzip;q=0"] {
            let (_, headers, bytes) =
                ask(&path, &[("accept-encoding", refused), ("if-none-match", &tag)]).await;
            assert_eq!(&*bytes, script.bytes, "{refused}");
            assert!(!headers.contains_key(header::CONTENT_ENCODING));
        }
    }

    #[tokio::test]
    async fn what_an_older_page_asks_for_is_not_the_document() {
        let (status, _, _) = ask("/ui/assets/index-00000000.js", &[]).await;
        assert_eq!(status, StatusCode::NOT_FOUND);
        let (status, headers, _) = ask("/ui", &[]).await;
        assert_eq!(status, StatusCode::TEMPORARY_REDIRECT);
        assert_eq!(headers[header::LOCATION], "ui/", "relative, so that it holds below any path");
        let (_, headers, _) = ask("/a/flow", &[]).await;
        assert_eq!(headers[header::LOCATION], "flow/ui/");
    }
}
