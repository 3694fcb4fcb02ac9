//! Where a store is, as its URL says it.

use std::{
    ffi::OsString, fmt, fs, os::unix::ffi::OsStringExt as _, path::PathBuf, sync::Arc,
    time::Duration,
};

use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};
use tokio_postgres::{
    Config,
    config::{Host, SslMode, TargetSessionAttrs},
};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::Error;

/// The schema of the tables where the URL names none.
const SCHEMA: &str = "travertine";

/// What our own part of a URL says, beside what PostgreSQL makes of the rest.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) config: Config,
    pub(super) schema: String,
    pub(super) tls: MakeRustlsConnect,
    /// Commits may be told before they are durable.
    pub(super) unsafe_commit: bool,
    shown: String,
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

/// Files and settings of TLS that the URL names.
#[derive(Default)]
struct Tls {
    root: Option<PathBuf>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
}

impl Target {
    /// Reads a URL.
    pub(super) fn read(url: &str) -> Result<Self, Error> {
        let shown = super::without_password(url);
        let bad = |reason: String| Error::BadQuery { reason: format!("{shown}: {reason}") };
        let (base, given) = super::apart(url);
        let (mut rest, mut schema, mut tls) = (Vec::new(), SCHEMA.to_owned(), Tls::default());
        let (mut unsafe_commit, mut names_attributes) = (false, false);
        for pair in given.split('&').filter(|it| !it.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let file = || {
                (!value.is_empty())
                    .then(|| PathBuf::from(decoded(value)))
                    .ok_or_else(|| bad(format!("{name} names no file")))
            };
            match name {
                "schema" => value.clone_into(&mut schema),
                "sslrootcert" => tls.root = Some(file()?),
                "sslcert" => tls.certificate = Some(file()?),
                "sslkey" => tls.key = Some(file()?),
                "sslmode" if matches!(value, "verify-full" | "verify-ca") => {
                    rest.push(String::from("sslmode=require"));
                }
                "unsafe-commit" if value == "on" => unsafe_commit = true,
                "unsafe-commit" => {
                    return Err(bad(String::from("unsafe-commit is `on`, or not there")));
                }
                "prepare" if value == "off" => {
                    return Err(bad(String::from(
                        "connections without prepared statements are not built yet; go past the pooler, or let \
                         it keep sessions",
                    )));
                }
                other => {
                    names_attributes |= other == "target_session_attrs";
                    rest.push(pair.to_owned());
                }
            }
        }
        let is_name = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_';
        if schema.is_empty()
            || schema.len() > 48
            || !schema.chars().all(is_name)
            || schema.starts_with(|it: char| it.is_ascii_digit())
        {
            return Err(bad(format!(
                "a schema is called by small letters, digits and `_`, not `{schema}`"
            )));
        }
        let text =
            if rest.is_empty() { base.to_owned() } else { format!("{base}?{}", rest.join("&")) };
        let mut config: Config = text.parse().map_err(|error: tokio_postgres::Error| {
            let why = std::error::Error::source(&error)
                .map_or_else(|| error.to_string(), ToString::to_string);
            bad(format!("this is no URL of a PostgreSQL database: {why}"))
        })?;
        if !names_attributes {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(Duration::from_secs(10));
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(Duration::from_secs(30));
        }
        if config.get_keepalives_idle() > Duration::from_mins(1) {
            config.keepalives_idle(Duration::from_secs(10));
            config.keepalives_interval(Duration::from_secs(5));
            config.keepalives_retries(3);
        }
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(bad(String::from(
                "it names no host; for a socket, host=%2Fvar%2Frun%2Fpostgresql",
            )));
        }
        if config.get_password().is_none()
            && let Some(password) = password(&config)
        {
            config.password(password);
        }
        let connect = tls_of(&tls, config.get_ssl_mode()).map_err(bad)?;
        Ok(Self { config, schema, tls: connect, unsafe_commit, shown })
    }
}

/// A part of a URL as it is meant.
fn decoded(text: &str) -> OsString {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, after @ ..] = rest {
        let code = after.get(..2).and_then(|it| std::str::from_utf8(it).ok());
        let code = code.and_then(|it| u8::from_str_radix(it, 16).ok()).filter(|_| *first == b'%');
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    OsString::from_vec(bytes)
}

/// The password that the environment or a file of passwords has.
fn password(config: &Config) -> Option<String> {
    if let Ok(password) = std::env::var("PGPASSWORD") {
        return Some(password);
    }
    let file = std::env::var_os("PGPASSFILE")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".pgpass")))?;
    let text = fs::read_to_string(file).ok()?;
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(host)) => host.clone(),
        _ => String::from("localhost"),
    };
    let port = config.get_ports().first().copied().unwrap_or(5432).to_string();
    let user = config.get_user().unwrap_or_default().to_owned();
    let database = config.get_dbname().unwrap_or(&user).to_owned();
    let wanted = [host, port, database, user];
    text.lines().find_map(|line| in_passfile(line, &wanted))
}

/// The password of a line of such a file, where it is for these: host, port, database, user.
fn in_passfile(line: &str, wanted: &[String; 4]) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let mut fields = vec![String::new()];
    let mut rest = line.chars();
    while let Some(it) = rest.next() {
        if it == ':' && fields.len() < 5 {
            fields.push(String::new());
            continue;
        }
        let given = if it == '\\' { rest.next() } else { Some(it) };
        fields.last_mut().expect("there is one").extend(given);
    }
    let password = (fields.len() == 5).then(|| fields.pop()).flatten()?;
    let fits = fields.iter().zip(wanted).all(|(field, wanted)| field == "*" || field == wanted);
    fits.then_some(password)
}

/// How connections are made secret. Whoever asks for TLS gets a server that proves who it is.
fn tls_of(tls: &Tls, mode: SslMode) -> Result<MakeRustlsConnect, String> {
    let mut roots = RootCertStore::empty();
    let named = |file: &PathBuf, why: String| format!("{}: {why}", file.display());
    if let Some(file) = &tls.root {
        let all = CertificateDer::pem_file_iter(file).map_err(|it| named(file, it.to_string()))?;
        for it in all {
            let it = it.map_err(|it| named(file, it.to_string()))?;
            roots.add(it).map_err(|it| named(file, it.to_string()))?;
        }
    } else if mode != SslMode::Disable {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots);
    let config = match (&tls.certificate, &tls.key) {
        (None, None) => builder.with_no_client_auth(),
        (Some(certificate), Some(key)) => {
            let chain = CertificateDer::pem_file_iter(certificate)
                .and_then(Iterator::collect)
                .map_err(|it| named(certificate, it.to_string()))?;
            let secret =
                PrivateKeyDer::from_pem_file(key).map_err(|it| named(key, it.to_string()))?;
            builder
                .with_client_auth_cert(chain, secret)
                .map_err(|it| named(certificate, it.to_string()))?
        }
        _ => return Err(String::from("sslcert and sslkey belong together")),
    };
    Ok(MakeRustlsConnect::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_says_where_and_in_which_schema_and_shows_no_password() {
        let target = Target::read(
            "postgres://ann:se%40cret@db.example:5433/app?schema=orders&sslmode=disable",
        )
        .unwrap();
        assert_eq!(target.schema, "orders");
        assert_eq!(target.config.get_dbname(), Some("app"));
        assert_eq!(target.config.get_password(), Some(&b"se@cret"[..]));
        let shown = format!("{target} {target:?}");
        assert!(
            !shown.contains("cret") && shown.contains("ann") && shown.contains("5433"),
            "{shown}"
        );
        assert!(Target::read("postgresql://db/app?sslmode=verify-full").is_ok());
        let target = Target::read("postgres://ann:se?cr&et@db/app?schema=orders").unwrap();
        assert_eq!(target.schema, "orders");
        assert_eq!(target.config.get_password(), Some(&b"se?cr&et"[..]));
        assert_eq!(target.to_string(), "postgres://ann@db/app?schema=orders");
    }

    #[test]
    fn what_a_url_cannot_say_is_refused_with_a_reason_and_without_the_password() {
        for (url, why) in [
            ("postgres://a:hidden@db/app?schema=Orders", "small letters"),
            ("postgres://a:hidden@db/app?schema=", "small letters"),
            ("postgres://a:hidden@db/app?colour=red", "colour"),
            ("postgres://a:hidden@db/app?sslcert=x.pem", "belong together"),
            ("postgres://a:hidden@db/app?sslrootcert=/nowhere/x.pem", "/nowhere/x.pem"),
            ("postgres://a:hidden@db/app?sslrootcert=%2Fno%40where/x.pem", "/no@where/x.pem"),
            ("postgres://a:hidden@db/app?prepare=off", "pooler"),
            ("postgres://a:hidden@db/app?unsafe-commit=maybe", "unsafe-commit"),
            ("postgres://", "no host"),
        ] {
            let told = Target::read(url).unwrap_err().to_string();
            assert!(told.contains(why) && !told.contains("hidden"), "{told}");
        }
    }

    #[test]
    fn a_file_of_passwords_is_read_as_others_read_it() {
        let wanted = ["db", "5432", "app", "ann"].map(str::to_owned);
        let found = |line: &str| in_passfile(line, &wanted);
        assert_eq!(found("db:5432:app:ann:a:b"), Some("a:b".to_owned()));
        assert_eq!(found("*:*:*:ann:x\\:y\\\\"), Some("x:y\\".to_owned()));
        assert_eq!(found("db:5432:app:bob:x"), None);
        assert_eq!(found("#db:5432:app:ann:x"), None);
        assert_eq!(found("db:5432"), None);
    }
}
