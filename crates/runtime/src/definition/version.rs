//! What has versions, and which of them is meant.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::Definition;
use crate::{DefinitionKey, deployed::Versions};

/// What has versions.
pub(crate) trait Versioned {
    fn version(&self) -> u32;
    fn tag(&self) -> Option<&str>;
    fn deployment(&self) -> u64;
    fn key(&self) -> DefinitionKey;
}

impl Versioned for Definition {
    fn version(&self) -> u32 {
        self.version
    }

    fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    fn deployment(&self) -> u64 {
        self.deployment
    }

    fn key(&self) -> DefinitionKey {
        self.key
    }
}

/// The version that a binding names, for someone who came with `deployment`. What was deployed together is
/// the latest that was there then: what is deployed again unchanged keeps its version. What is retired is not
/// there any more, and nothing takes its place where that very version is meant.
pub(super) fn bound<'a, T: Versioned>(
    versions: &'a [Arc<T>],
    removed: &[(u32, u64)],
    retired: &BTreeSet<DefinitionKey>,
    binding: Option<&str>,
    deployment: u64,
) -> Option<&'a Arc<T>> {
    let is_there = |it: &&Arc<T>| retired.is_empty() || !retired.contains(&it.key());
    let there = || versions.iter().filter(is_there);
    let numbered = |number: Option<u32>| there().find(|it| Some(it.version()) == number);
    let tagged = |tag: &str| there().rev().find(|it| it.tag() == Some(tag));
    match binding {
        None | Some("latest") => there().next_back(),
        Some("deployment") => {
            let found = versions.iter().filter(|it| it.deployment() <= deployment);
            let found = found.max_by_key(|it| it.version()).filter(is_there)?;
            let gone = removed.iter().filter(|(_, at)| *at <= deployment).map(|(it, _)| *it).max();
            Some(found).filter(|it| gone.is_none_or(|gone| gone < it.version()))
        }
        Some(name) => {
            if let Some(number) = name.strip_prefix("version:") {
                return numbered(number.parse().ok());
            }
            if let Some(tag) = name.strip_prefix("versionTag:") {
                return tagged(tag);
            }
            tagged(name).or_else(|| numbered(name.parse().ok()))
        }
    }
}

/// Takes out the version with that key.
pub(super) fn drop_version<K: Ord, T: Versioned>(
    all: &mut BTreeMap<K, Versions<T>>,
    of: &K,
    key: DefinitionKey,
) {
    let Some(versions) = all.get_mut(of) else { return };
    Arc::make_mut(versions).retain(|it| it.key() != key);
    if versions.is_empty() {
        all.remove(of);
    }
}
