//! Certificates.

use std::sync::Arc;

use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};

use crate::{Error, Tls};

/// Reads a certificate and its key.
pub(crate) fn config(tls: &Tls) -> Result<Arc<ServerConfig>, Error> {
    let fault = |what: &std::path::Path, why: &dyn std::fmt::Display| Error::Tls {
        reason: format!("{}: {why}", what.display()),
    };
    let chain = CertificateDer::pem_file_iter(&tls.cert)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|it| fault(&tls.cert, &it))?;
    if chain.is_empty() {
        return Err(fault(&tls.cert, &"no certificate in it"));
    }
    let key = PrivateKeyDer::from_pem_file(&tls.key).map_err(|it| fault(&tls.key, &it))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|it| it.with_no_client_auth().with_single_cert(chain, key))
        .map_err(|it| fault(&tls.cert, &it))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
