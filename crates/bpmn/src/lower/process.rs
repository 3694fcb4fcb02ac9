//! What a process says about itself: policies, status attributes, the step limit.

use travertine_kernel::plan::{
    CompensateOnError, FormLink, Policy, ScopeOutput, UnhandledError, Write,
};
use travertine_value::{Name, Program};

use super::Lowering;
use crate::{
    dialect::Dialect,
    expression::Text,
    xml::{Node, Ns},
};

/// What a process says about itself.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) policy: Policy,
    pub(super) status: Vec<(Name, Option<Program>)>,
    pub(super) steps_max: Option<u64>,
    pub(super) tokens_max: Option<u64>,
    pub(super) data_max: Option<u64>,
    pub(super) starts_max: Option<u64>,
    pub(super) version_tag: Option<Name>,
    pub(super) start_form: Option<FormLink>,
}

impl<'a> Lowering<'a> {
    pub(super) fn settings(&self, process: Node<'a>) -> Settings {
        Settings {
            policy: self.policy(process),
            status: self.status(process),
            steps_max: self.most(process, "stepLimit"),
            tokens_max: self.most(process, "tokenLimit"),
            data_max: self.most(process, "dataLimit"),
            starts_max: self.most(process, "startLimit"),
            version_tag: version_tag(process),
            start_form: self.start_form(process),
        }
    }

    fn policy(&self, process: Node<'a>) -> Policy {
        let mut policy = self.cx.options.policy.unwrap_or(match self.dialect {
            Dialect::Native => Policy::NATIVE,
            Dialect::Camunda7 => Policy::CAMUNDA7,
            Dialect::Camunda8 => Policy::CAMUNDA8,
            Dialect::Fleans => super::fleans::POLICY,
        });
        let words = [("local", Write::Local), ("propagate", Write::Propagate { mapped: false })];
        self.choose(process, "write", &words, &mut policy.write);
        let words = [("mapped", ScopeOutput::Mapped), ("all", ScopeOutput::All)];
        self.choose(process, "scopeOutput", &words, &mut policy.scope_output);
        let words = [("incident", UnhandledError::Incident), ("fail", UnhandledError::Fail)];
        self.choose(process, "unhandledError", &words, &mut policy.unhandled_error);
        let words = [
            ("never", CompensateOnError::Never),
            ("transaction", CompensateOnError::Transaction),
            ("always", CompensateOnError::Always),
        ];
        self.choose(process, "compensateOnError", &words, &mut policy.compensate_on_error);
        policy
    }

    /// Sets a policy to what the attribute says, where there is one.
    fn choose<T: Copy>(&self, process: Node<'a>, name: &str, words: &[(&str, T)], to: &mut T) {
        let Some(value) = process.ext(&Ns::Travertine, name) else { return };
        if let Some((_, choice)) = words.iter().find(|(word, _)| *word == value) {
            *to = *choice;
        } else {
            let known: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            let message = format!("tv:{name} of {} is '{value}'", process.title());
            self.error("TV0703", process, message, &format!("write {}", known.join(" or ")));
        }
    }

    fn status(&self, process: Node<'a>) -> Vec<(Name, Option<Program>)> {
        let attributes =
            process.extensions(&Ns::Travertine, "status").flat_map(|it| it.parts("attribute"));
        attributes
            .filter_map(|it| {
                let Some(name) = it.attr("name").filter(|it| !it.is_empty()) else {
                    let message = "a status attribute has no name".to_owned();
                    self.error("TV0704", it, message, "add the attribute name");
                    return None;
                };
                let text = Text::of(it);
                let first = (!text.source.is_empty()).then(|| self.compiler.expression(text));
                Some((Name::from(name), first))
            })
            .collect()
    }

    /// How much of something an instance may have.
    fn most(&self, process: Node<'a>, name: &str) -> Option<u64> {
        let limit = process.ext(&Ns::Travertine, name)?;
        let parsed = limit.trim().parse().ok().filter(|it| *it > 0);
        if parsed.is_none() {
            let message = format!("tv:{name} of {} is '{limit}'", process.title());
            self.error("TV0703", process, message, "write a whole number greater than 0");
        }
        parsed
    }
}

/// What people call this version; calls can be bound to it.
fn version_tag(process: Node<'_>) -> Option<Name> {
    let tag = process
        .ext(&Ns::Travertine, "versionTag")
        .or_else(|| process.ext(&Ns::Camunda, "versionTag"))
        .or_else(|| process.extensions(&Ns::Zeebe, "versionTag").next()?.attr("value"));
    tag.map(str::trim).filter(|it| !it.is_empty()).map(Name::from)
}
