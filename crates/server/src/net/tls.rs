//! Certificates.

use std::sync::{Arc, PoisonError, RwLock};

use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};

use crate::{Error, Tls};

/// The certificate that clients are shown, which can be another one from some moment on.
#[derive(Debug)]
pub(crate) struct Certificate(RwLock<Arc<CertifiedKey>>);

impl Certificate {
    /// Reads it and its key.
    pub(crate) fn read(tls: &Tls) -> Result<Arc<Self>, Error> {
        Ok(Arc::new(Self(RwLock::new(Arc::new(Self::load(tls)?)))))
    }

    /// Shows another one to connections from now on.
    pub(crate) fn show(&self, key: CertifiedKey) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(key);
    }

    /// Reads a certificate and its key, which must belong together.
    pub(crate) fn load(tls: &Tls) -> Result<CertifiedKey, Error> {
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
        CertifiedKey::from_der(chain, key, &ring::default_provider())
            .map_err(|it| fault(&tls.cert, &it))
    }

    /// How connections are encrypted with it.
    pub(crate) fn config(self: Arc<Self>) -> Result<Arc<ServerConfig>, Error> {
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|it| Error::Tls { reason: it.to_string() })?
            .with_no_client_auth()
            .with_cert_resolver(self);
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner)))
    }
}
